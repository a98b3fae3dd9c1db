-- Old versions of documents. Each is a document of its own, in a collection beside that of its
-- document which nothing lists: what is searched, counted and listed today knows nothing of it.

ALTER TABLE collection
    ADD COLUMN versions_of bigint,  -- the collection whose documents' old versions it has
    ADD FOREIGN KEY (tenant, versions_of) REFERENCES collection ON DELETE CASCADE;
CREATE UNIQUE INDEX collection_versions ON collection (tenant, versions_of)
    WHERE versions_of IS NOT NULL;

-- A version was the current one from updated_at until valid_to, that moment not included.
ALTER TABLE document
    ADD COLUMN version_of bigint,
    ADD COLUMN valid_to   timestamptz,
    ADD FOREIGN KEY (tenant, version_of) REFERENCES document ON DELETE CASCADE,
    ADD CHECK ((version_of IS NULL) = (valid_to IS NULL));
CREATE UNIQUE INDEX document_version ON document (tenant, version_of, version)
    WHERE version_of IS NOT NULL;

-- Keep the row that a newer version takes the place of, while a transaction says so; its chunks are
-- moved by whoever stores the newer one.
CREATE FUNCTION ragkit_keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, version, chars, text, created_at,
        updated_at, owner, readers, version_of, valid_to)
    SELECT OLD.tenant, c.id, OLD.uri,
        sha256(OLD.uri_key || int8send(OLD.id) || int4send(OLD.version)), OLD.content_hash,
        OLD.fingerprint, OLD.title, OLD.language, OLD.media_type, OLD.metadata, OLD.page_starts,
        OLD.page_numbers, OLD.version, OLD.chars, OLD.text, OLD.created_at, OLD.updated_at,
        OLD.owner, OLD.readers, OLD.id, NEW.updated_at
    FROM collection c WHERE c.tenant = OLD.tenant AND c.versions_of = OLD.collection_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER keep_version AFTER UPDATE OF version ON document FOR EACH ROW
    WHEN (OLD.version_of IS NULL AND NEW.version > OLD.version
        AND current_setting('ragkit.keep_versions', true) = 'on')
    EXECUTE FUNCTION ragkit_keep_version();

-- Who may read a document may read its old versions, and nobody else, from the moment that changes.
CREATE FUNCTION ragkit_share_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_TABLE_NAME = 'collection' THEN
        UPDATE collection SET owner = NEW.owner, readers = NEW.readers
        WHERE tenant = NEW.tenant AND versions_of = NEW.id;
    ELSE
        UPDATE document SET owner = NEW.owner, readers = NEW.readers
        WHERE tenant = NEW.tenant AND version_of = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER share_versions AFTER UPDATE OF owner, readers ON collection FOR EACH ROW
    WHEN (OLD.versions_of IS NULL) EXECUTE FUNCTION ragkit_share_versions();
CREATE TRIGGER share_versions AFTER UPDATE OF owner, readers ON document FOR EACH ROW
    WHEN (OLD.version_of IS NULL) EXECUTE FUNCTION ragkit_share_versions();

-- Names in them mean what they mean here, whatever a caller's search path says.
DO $$
DECLARE
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    EXECUTE format('ALTER FUNCTION ragkit_keep_version() SET search_path = %s, pg_temp', home);
    EXECUTE format('ALTER FUNCTION ragkit_share_versions() SET search_path = %s, pg_temp', home);
END
$$;
