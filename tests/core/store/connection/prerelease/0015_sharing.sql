-- Who may read a document is kept in memory under the numbers of its collection's segments. So a
-- transaction that changes it, by whatever way, leaves an empty segment, as deletions do: whoever
-- sees the one sees the other. Old versions are looked up each time and need none.

CREATE FUNCTION ragkit_mark_sharing() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO lexical_segment (tenant, collection_id, id, chunks, terms, ids, lengths)
    SELECT NEW.tenant, NEW.collection_id,
        -- Random, never to be used again in whatever database.
        ('x' || left(replace(gen_random_uuid()::text, '-', ''), 15))::bit(60)::bigint,
        0, 0, '', ''
    WHERE NOT EXISTS (SELECT FROM lexical_segment s  -- one is enough for many documents
        WHERE s.tenant = NEW.tenant AND s.collection_id = NEW.collection_id AND s.chunks = 0
            AND s.xmin = pg_current_xact_id()::xid);
    RETURN NULL;
END
$$;
CREATE TRIGGER mark_sharing AFTER UPDATE OF owner, readers ON document FOR EACH ROW
    WHEN (NEW.version_of IS NULL
        AND (OLD.owner, OLD.readers) IS DISTINCT FROM (NEW.owner, NEW.readers))
    EXECUTE FUNCTION ragkit_mark_sharing();

-- Names in it mean what they mean here, whatever a caller's search path says.
DO $$
DECLARE
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    EXECUTE format('ALTER FUNCTION ragkit_mark_sharing() SET search_path = %s, pg_temp', home);
END
$$;
