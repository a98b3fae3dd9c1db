-- Split the large tables of a ragkit database into hash partitions by tenant: chunks, postings, and
-- the vectors of every embedding space. See docs/howto/grow.md. Run it as the tables' owner, while
-- nothing else runs, after a backup:
--
--   psql --single-transaction --set ON_ERROR_STOP=1 --file deploy/postgres/partition.sql DATABASE
--
-- Tables that are partitioned already are left alone, so it may be run again after a new embedding
-- space was made. How many partitions: SET ragkit.partitions = 32 before; 16 unless set.

SELECT set_config('ragkit.all_tenants', 'on', true);  -- row-level security binds the owner too
LOCK TABLE collection, document, chunk, lexical_posting IN ACCESS EXCLUSIVE MODE;

DO $$
DECLARE
    parts integer := coalesce(nullif(current_setting('ragkit.partitions', true), ''), '16')::integer;
    big   regclass[] := ARRAY(
        SELECT c.oid::regclass FROM pg_class c JOIN pg_class k ON k.oid = 'collection'::regclass
            AND c.relnamespace = k.relnamespace
        WHERE c.relkind = 'r' AND NOT c.relispartition
            AND (c.relname IN ('chunk', 'lexical_posting') OR c.relname ~ '^vectors_\d+$')
        ORDER BY c.relname);
    keys  text[];  -- statements that make the foreign keys again
    made  text[];  -- and those for the other constraints and indexes
    one   record;
    big_one regclass;
    name  text;
    columns text;
    part  text;
    chunks text;  -- the view of chunks, which is made again over the new table
BEGIN
    IF parts NOT BETWEEN 2 AND 1000 THEN
        RAISE EXCEPTION 'ragkit.partitions is %: between 2 and 1000 are of use', parts;
    END IF;

    -- Indexes of nearest neighbours are built anew after the next load, or by `ragkit index build`.
    FOR one IN SELECT i.indexrelid::regclass AS index FROM pg_index i
        JOIN pg_class c ON c.oid = i.indexrelid
        WHERE i.indrelid = ANY (big) AND c.relname ~ '^vectors_\d+_nearest_\d+$'
    LOOP
        EXECUTE format('DROP INDEX %s', one.index);
    END LOOP;
    UPDATE vector_layout SET indexed = 0, rows = 0
        WHERE to_regclass('vectors_' || space_id) = ANY (big);

    SELECT array_agg(format('ALTER TABLE %s ADD CONSTRAINT %I %s',
            conrelid::regclass, conname, pg_get_constraintdef(oid)))
        INTO keys FROM pg_constraint
        WHERE contype = 'f' AND conparentid = 0 AND (conrelid = ANY (big) OR confrelid = ANY (big));
    FOR one IN SELECT conrelid::regclass AS of, conname FROM pg_constraint
        WHERE contype = 'f' AND conparentid = 0 AND (conrelid = ANY (big) OR confrelid = ANY (big))
    LOOP
        EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', one.of, one.conname);
    END LOOP;

    IF 'chunk'::regclass = ANY (big) THEN
        chunks := pg_get_viewdef('visible_chunk'::regclass);
        DROP VIEW visible_chunk;
    END IF;

    FOREACH big_one IN ARRAY big LOOP
        SELECT relname INTO name FROM pg_class WHERE oid = big_one;
        SELECT array_agg(coalesce(
                'ALTER TABLE ' || quote_ident(name) || ' ADD CONSTRAINT ' || quote_ident(k.conname)
                    || ' ' || pg_get_constraintdef(k.oid),
                pg_get_indexdef(i.indexrelid)))
            INTO made FROM pg_index i LEFT JOIN pg_constraint k
                ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u')
            WHERE i.indrelid = big_one;
        SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
            FROM pg_attribute WHERE attrelid = big_one AND attnum > 0 AND NOT attisdropped;
        FOR one IN SELECT indexrelid::regclass AS index, c.relname FROM pg_index i
            JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = big_one
        LOOP
            EXECUTE format('ALTER INDEX %s RENAME TO %I', one.index, one.relname || '_whole');
        END LOOP;
        EXECUTE format('ALTER TABLE %I RENAME TO %I', name, name || '_whole');
        EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING ALL EXCLUDING INDEXES)'
            ' PARTITION BY HASH (tenant)', name, name || '_whole');
        PERFORM ragkit_secure_table(name::regclass);
        FOR n IN 0 .. parts - 1 LOOP
            part := name || '_p' || n;
            EXECUTE format('CREATE TABLE %I PARTITION OF %I'
                ' FOR VALUES WITH (MODULUS %s, REMAINDER %s)', part, name, parts, n);
            PERFORM ragkit_secure_table(part::regclass);
        END LOOP;
        EXECUTE format('INSERT INTO %I (%s) SELECT %s FROM %I',
            name, columns, columns, name || '_whole');
        EXECUTE format('DROP TABLE %I', name || '_whole');
        FOREACH part IN ARRAY made LOOP
            EXECUTE part;
        END LOOP;
    END LOOP;

    FOREACH part IN ARRAY coalesce(keys, '{}') LOOP
        EXECUTE part;
    END LOOP;
    IF chunks IS NOT NULL THEN
        EXECUTE 'CREATE VIEW visible_chunk WITH (security_invoker = true) AS ' || chunks;
        FOR name IN SELECT * FROM ragkit_user_roles() LOOP
            EXECUTE format('GRANT SELECT, UPDATE ON visible_chunk TO %I', name);
        END LOOP;
    END IF;
    FOR one IN SELECT c.oid::regclass AS of FROM pg_class c
        JOIN pg_class k ON k.oid = 'collection'::regclass AND c.relnamespace = k.relnamespace
        WHERE c.relkind = 'p'
    LOOP
        EXECUTE format('ANALYZE %s', one.of);
    END LOOP;
END
$$;

SELECT set_config('ragkit.all_tenants', 'off', true);
