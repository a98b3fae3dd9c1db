-- Bring a database that the last numbered migration before schema.sql made (number 19) to what
-- schema.sql makes. Runs once, in one transaction; see ragkit/store/connection/migrate.py.

-- Triggers: statements of the same transaction take their place.
DROP TRIGGER IF EXISTS keep_version ON document;
DROP TRIGGER IF EXISTS share_versions ON document;
DROP TRIGGER IF EXISTS share_versions ON collection;
DROP TRIGGER IF EXISTS mark_sharing ON document;
DROP TRIGGER IF EXISTS drop_postings ON collection;
DROP FUNCTION IF EXISTS ragkit_keep_version();
DROP FUNCTION IF EXISTS ragkit_share_versions();
DROP FUNCTION IF EXISTS ragkit_mark_sharing();
DROP FUNCTION IF EXISTS ragkit_drop_postings();

-- Words that an extension of the server indexed become ragkit's own postings. A chunk's place is its
-- rank in its segment, whose ids are runs: 8 bytes for the first, 8 for how many follow.
CREATE FUNCTION pg_temp.read_number(data bytea, at_byte integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS $$
    SELECT ('x' || encode(substr(data, at_byte + 1, 8), 'hex'))::bit(64)::bigint
$$;
INSERT INTO lexical_posting (tenant, collection_id, term, segment_id, data)
    SELECT tenant, collection_id, term, segment_id, CASE WHEN max(frequency) < 256
        THEN '\x00'::bytea || string_agg(int4send(place), ''::bytea ORDER BY place)
            || string_agg(substr(int4send(frequency), 4, 1), ''::bytea ORDER BY place)
        ELSE '\x01'::bytea || string_agg(int4send(place), ''::bytea ORDER BY place)
            || string_agg(int4send(frequency), ''::bytea ORDER BY place) END
    FROM (
        SELECT w.tenant, w.collection_id, word COLLATE "C" AS term, p.segment_id, p.place,
            count(*)::integer AS frequency
        FROM lexical_text w
        CROSS JOIN LATERAL regexp_split_to_table(w.words, ' ') AS word
        JOIN (
            SELECT s.tenant, s.collection_id, s.id AS segment_id, first + step AS chunk_id,
                (row_number() OVER (PARTITION BY s.tenant, s.collection_id, s.id
                    ORDER BY first, step) - 1)::integer AS place
            FROM lexical_segment s
            CROSS JOIN LATERAL generate_series(0, octet_length(s.ids) / 16 - 1) AS run
            CROSS JOIN LATERAL pg_temp.read_number(s.ids, 16 * run) AS first
            CROSS JOIN LATERAL pg_temp.read_number(s.ids, 16 * run + 8) AS number
            CROSS JOIN LATERAL generate_series(0, number - 1) AS step
            WHERE EXISTS (SELECT FROM lexical_text t
                WHERE t.tenant = s.tenant AND t.collection_id = s.collection_id)
        ) AS p ON p.tenant = w.tenant AND p.collection_id = w.collection_id
            AND p.chunk_id = w.chunk_id
        WHERE word <> ''
        GROUP BY 1, 2, 3, 4, 5
    ) AS posting
    GROUP BY tenant, collection_id, term, segment_id
    ON CONFLICT DO NOTHING;
UPDATE collection SET settings = settings - 'lexical_index' WHERE settings ? 'lexical_index';
DROP TABLE lexical_text;

-- One queue for uploads and for files at their places, as in schema.sql.
DROP FUNCTION ragkit_next_upload(text);
DROP INDEX job_upload_open;
DROP INDEX job_place_open;
CREATE INDEX job_waiting ON job (tenant, collection_id, id)
    WHERE (place_id IS NOT NULL OR kind = 'upload') AND state IN ('queued', 'running');
-- Count the waiting and the running jobs of all tenants, by collection and place; uploads have no
-- place. Suspects were tried so often together with other files that they may only be taken alone.
CREATE FUNCTION ragkit_waiting(together integer)
RETURNS TABLE (
    tenant text, collection_id bigint, name text, place_id bigint, suspect boolean, free bigint,
    held bigint, first bigint
) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    RETURN QUERY SELECT j.tenant, j.collection_id, c.name, j.place_id, j.attempts >= together,
            count(*) FILTER (WHERE j.is_free), count(*) FILTER (WHERE NOT j.is_free), min(j.id)
        FROM (SELECT o.*, o.state = 'queued' OR o.lease_until < now()
                OR NOT ragkit_alive(o.worker) AS is_free
            FROM job o WHERE (o.place_id IS NOT NULL OR o.kind = 'upload')
                AND o.state IN ('queued', 'running')) j
        JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
        GROUP BY 1, 2, 3, 4, 5;
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Queue the jobs of these workers again; an attempt that was broken off does not count.
CREATE OR REPLACE FUNCTION ragkit_give_back(workers integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL, token = NULL, stage = '',
        attempts = attempts - 1, done = 0, total = 0, updated_at = now()
    WHERE state = 'running' AND worker = ANY(workers);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Forget ended uploads; the runs in which workers took them go with their jobs.
CREATE OR REPLACE FUNCTION ragkit_forget_uploads(key_days integer, job_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM upload_key WHERE created_at < now() - make_interval(days => key_days);
    DELETE FROM job WHERE kind = 'upload' AND state IN ('done', 'failed', 'cancelled')
        AND updated_at < now() - make_interval(days => job_days);
    DELETE FROM ingest_run r WHERE command = 'worker'
        AND ended_at < now() - make_interval(days => job_days)
        AND NOT EXISTS (SELECT FROM job j WHERE j.tenant = r.tenant AND j.run_id = r.id);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Views and policies, as in schema.sql.
CREATE FUNCTION ragkit_readers() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('ragkit.readers', true), '')::text[];

CREATE VIEW visible_collection WITH (security_invoker = true) AS
    SELECT c.* FROM collection c
    WHERE c.tenant = current_setting('ragkit.tenant', true)
        AND (c.readers IS NULL
            OR c.readers || ARRAY[c.owner, '*'] && (SELECT ragkit_readers()));

CREATE VIEW visible_document WITH (security_invoker = true) AS
    SELECT d.* FROM document d
    WHERE d.tenant = current_setting('ragkit.tenant', true)
        AND (d.readers IS NULL
            OR d.readers || ARRAY[d.owner, '*'] && (SELECT ragkit_readers()))
        AND EXISTS (SELECT FROM visible_collection c
            WHERE c.tenant = d.tenant AND c.id = d.collection_id);

-- Chunks, each with what a passage shows of its document.
CREATE VIEW visible_chunk WITH (security_invoker = true) AS
    SELECT k.*, d.uri, d.title, d.version, d.metadata, d.chars, d.text
    FROM chunk k JOIN visible_document d ON d.tenant = k.tenant AND d.id = k.document_id;

CREATE FUNCTION hidden_documents(citations jsonb) RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN citations = '[]' OR ragkit_readers() = '{*}' THEN '{}'::bigint[] ELSE ARRAY(
        SELECT d.id FROM document d
        WHERE d.tenant = current_setting('ragkit.tenant', true) AND d.id IN (
                SELECT (citation ->> 'document')::bigint
                FROM jsonb_array_elements(citations) AS citation)
            AND NOT EXISTS (SELECT FROM visible_document v
                WHERE v.tenant = d.tenant AND v.id = d.id)
        ORDER BY d.id) END;

CREATE FUNCTION ragkit_user_roles() RETURNS SETOF name LANGUAGE sql STABLE AS $$
    SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a
    JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.oid = 'collection'::regclass AND a.grantee <> c.relowner
        AND a.privilege_type = 'INSERT'
$$;

CREATE OR REPLACE FUNCTION ragkit_secure_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    role_name name;
    -- No sub-select, which Citus refuses in a policy. The tables' owner, who alone may TRUNCATE
    -- them, may say that it means all tenants: migrations, the functions below and backups do. For
    -- anybody else that setting means nothing.
    rule text := '(tenant = current_setting(''ragkit.tenant'', true)'
        ' OR current_setting(''ragkit.all_tenants'', true) = ''on'''
        ' AND has_table_privilege(''access_key''::regclass, ''TRUNCATE''))';
BEGIN
    IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = target AND polname = 'tenant') THEN
        EXECUTE format(
            'CREATE POLICY tenant ON %s USING %s WITH CHECK %s', target, rule, rule);
    END IF;
    IF (SELECT relrowsecurity FROM pg_class WHERE oid = 'collection'::regclass) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', target);
    END IF;
    FOR role_name IN SELECT * FROM ragkit_user_roles() LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', target, role_name);
    END LOOP;
END
$$;

DROP FUNCTION hidden_documents(text, jsonb, text[]);
DO $$
DECLARE
    target regclass;
    changed regprocedure;
    role_name name;
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    FOREACH changed IN ARRAY ARRAY['ragkit_user_roles()', 'ragkit_secure_table(regclass)',
        'ragkit_waiting(integer)', 'ragkit_give_back(integer[])',
        'ragkit_forget_uploads(integer, integer)']::regprocedure[]
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', changed, home);
    END LOOP;
    FOR target IN SELECT * FROM ragkit_tenant_tables() LOOP
        EXECUTE format('DROP POLICY IF EXISTS tenant ON %s', target);
        PERFORM ragkit_secure_table(target);
    END LOOP;
    REVOKE ALL ON FUNCTION ragkit_waiting(integer) FROM PUBLIC;
    FOR role_name IN SELECT * FROM ragkit_user_roles() LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION ragkit_waiting(integer) TO %I', role_name);
        EXECUTE format('GRANT SELECT, UPDATE ON visible_collection, visible_document, visible_chunk'
            ' TO %I', role_name);
    END LOOP;
END
$$;
DROP FUNCTION ragkit_all_tenants();
