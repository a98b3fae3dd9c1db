-- A term's row goes with its collection without a foreign key, which was looked up again for each of
-- a document's thousands of terms. Terms are only added with a row of lexical_segment, whose own key
-- holds the collection meanwhile.
CREATE FUNCTION ragkit_drop_postings() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM lexical_posting WHERE tenant = OLD.tenant AND collection_id = OLD.id;
    RETURN NULL;
END
$$;

-- Names in it mean what they mean here, whatever a caller's search path says.
DO $$
DECLARE
    named name;
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    EXECUTE format('ALTER FUNCTION ragkit_drop_postings() SET search_path = %s, pg_temp', home);
    FOR named IN
        SELECT conname FROM pg_constraint
        WHERE conrelid = 'lexical_posting'::regclass AND contype = 'f'
            AND confrelid = 'collection'::regclass
    LOOP
        EXECUTE format('ALTER TABLE lexical_posting DROP CONSTRAINT %I', named);
    END LOOP;
END
$$;

CREATE TRIGGER drop_postings AFTER DELETE ON collection FOR EACH ROW
    EXECUTE FUNCTION ragkit_drop_postings();
