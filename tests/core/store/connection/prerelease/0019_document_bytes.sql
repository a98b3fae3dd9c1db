-- The size of the file that a document was made of, also where the file itself is not stored.

ALTER TABLE document ADD COLUMN bytes bigint;  -- NULL: not recorded when the document was stored

-- As in 0016, with what has been added since.
CREATE OR REPLACE FUNCTION ragkit_keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, page_labels, version, chars,
        text, signature, bytes, created_at, updated_at, owner, readers, version_of, valid_to)
    SELECT OLD.tenant, c.id, OLD.uri,
        sha256(OLD.uri_key || int8send(OLD.id) || int4send(OLD.version)), OLD.content_hash,
        OLD.fingerprint, OLD.title, OLD.language, OLD.media_type, OLD.metadata, OLD.page_starts,
        OLD.page_numbers, OLD.page_labels, OLD.version, OLD.chars, OLD.text, OLD.signature,
        OLD.bytes, OLD.created_at, OLD.updated_at, OLD.owner, OLD.readers, OLD.id, NEW.updated_at
    FROM collection c WHERE c.tenant = OLD.tenant AND c.versions_of = OLD.collection_id;
    RETURN NULL;
END
$$;

-- Names in it mean what they mean here, whatever a caller's search path says.
DO $$
DECLARE
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    EXECUTE format('ALTER FUNCTION ragkit_keep_version() SET search_path = %s, pg_temp', home);
END
$$;
