-- Taking files in: what stands over a passage and what is shown for it, labels of pages, jobs that
-- belong to one holder at a time, runs, files with the same or nearly the same content.

-- What stands over a chunk, such as its table's header row, and the stretch that is shown for it.
ALTER TABLE chunk
    ADD COLUMN lead_start   integer,
    ADD COLUMN lead_end     integer,
    ADD COLUMN parent_start integer,
    ADD COLUMN parent_end   integer,
    -- Where it begins and ends in the text's UTF-8, NULL where nobody counted: see chunks.py.
    ADD COLUMN start_byte   integer,
    ADD COLUMN end_byte     integer,
    ADD CHECK ((lead_start IS NULL) = (lead_end IS NULL)),
    ADD CHECK ((parent_start IS NULL) = (parent_end IS NULL));

ALTER TABLE document
    ADD COLUMN page_labels text[],  -- what is printed on each page; NULL: nothing else than numbers
    ADD COLUMN signature   bytea;   -- what nearly equal texts are compared by
-- A hash is short; what is longer, as another program may write it, would not fit a btree entry.
CREATE INDEX document_content ON document (tenant, collection_id, content_hash)
    WHERE version_of IS NULL AND char_length(content_hash) <= 64;

-- Files whose content is another's, which is stored once: the same bytes (similarity 1) or nearly
-- the same text.
CREATE TABLE document_copy (
    tenant        text        NOT NULL,
    collection_id bigint      NOT NULL,
    uri           text        NOT NULL,
    uri_key       bytea       NOT NULL,
    document_id   bigint      NOT NULL,
    content_hash  text        NOT NULL,
    fingerprint   text        NOT NULL,
    similarity    real        NOT NULL CHECK (similarity > 0 AND similarity <= 1),
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, collection_id, uri_key),
    FOREIGN KEY (tenant, document_id) REFERENCES document ON DELETE CASCADE
);
CREATE INDEX document_copy_of ON document_copy (tenant, document_id);

-- Documents that have a band in common may be nearly equal.
CREATE TABLE document_band (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    band          bigint NOT NULL,
    document_id   bigint NOT NULL,
    PRIMARY KEY (tenant, collection_id, band, document_id),
    FOREIGN KEY (tenant, document_id) REFERENCES document ON DELETE CASCADE
);
CREATE INDEX document_band_of ON document_band (tenant, document_id);

-- One command or worker at work on a collection, from its start to its end. One that was killed has
-- no end.
CREATE TABLE ingest_run (
    tenant        text        NOT NULL,
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint      NOT NULL,
    command       text        NOT NULL,
    host          text        NOT NULL,
    started_at    timestamptz NOT NULL DEFAULT now(),
    ended_at      timestamptz,
    figures       jsonb       NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
CREATE INDEX ingest_run_of ON ingest_run (tenant, collection_id, id);

-- Each time that a job is taken it gets a new token: whoever holds another one holds it no more.
CREATE SEQUENCE job_token AS bigint;
ALTER TABLE job
    ADD COLUMN token        bigint,
    ADD COLUMN content_hash text        NOT NULL DEFAULT '',  -- as seen when it was queued, or done
    ADD COLUMN seen_at      timestamptz NOT NULL DEFAULT now(),  -- when that was read
    ADD COLUMN run_id       bigint,
    ADD COLUMN host         text        NOT NULL DEFAULT '',
    ADD COLUMN started_at   timestamptz,
    ADD COLUMN finished_at  timestamptz,
    ADD COLUMN figures      jsonb       NOT NULL DEFAULT '{}';
UPDATE job SET seen_at = updated_at,
    finished_at = CASE WHEN state IN ('done', 'failed') THEN updated_at END;
ALTER TABLE job DROP CONSTRAINT job_state_check;
ALTER TABLE job ADD CONSTRAINT job_state_check
    CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled'));
-- A worker of an older ragkit holds its job without a token, and has to take it anew.
UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL WHERE state = 'running';
CREATE INDEX job_run ON job (tenant, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX job_uri ON job (tenant, collection_id, uri_key);

-- As in 0014, with what has been added since.
CREATE OR REPLACE FUNCTION ragkit_keep_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO document (tenant, collection_id, uri, uri_key, content_hash, fingerprint, title,
        language, media_type, metadata, page_starts, page_numbers, page_labels, version, chars,
        text, signature, created_at, updated_at, owner, readers, version_of, valid_to)
    SELECT OLD.tenant, c.id, OLD.uri,
        sha256(OLD.uri_key || int8send(OLD.id) || int4send(OLD.version)), OLD.content_hash,
        OLD.fingerprint, OLD.title, OLD.language, OLD.media_type, OLD.metadata, OLD.page_starts,
        OLD.page_numbers, OLD.page_labels, OLD.version, OLD.chars, OLD.text, OLD.signature,
        OLD.created_at, OLD.updated_at, OLD.owner, OLD.readers, OLD.id, NEW.updated_at
    FROM collection c WHERE c.tenant = OLD.tenant AND c.versions_of = OLD.collection_id;
    RETURN NULL;
END
$$;

-- As in 0013; a job given back keeps no token.
CREATE OR REPLACE FUNCTION ragkit_give_back(workers integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL, token = NULL,
        attempts = attempts - 1, done = 0, total = 0, updated_at = now()
    WHERE kind = 'upload' AND state = 'running' AND worker = ANY(workers);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- As in 0013; cancelled jobs are forgotten as well.
CREATE OR REPLACE FUNCTION ragkit_forget_uploads(key_days integer, job_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM upload_key WHERE created_at < now() - make_interval(days => key_days);
    DELETE FROM job WHERE kind = 'upload' AND state IN ('done', 'failed', 'cancelled')
        AND updated_at < now() - make_interval(days => job_days);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Names in them mean what they mean here, whatever a caller's search path says. Whoever may use the
-- tables may draw tokens.
DO $$
DECLARE
    changed text;
    allowed record;
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    FOREACH changed IN ARRAY ARRAY['ragkit_keep_version()', 'ragkit_give_back(integer[])',
        'ragkit_forget_uploads(integer, integer)']
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', changed, home);
    END LOOP;
    FOR allowed IN
        SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a
        JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'collection'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT USAGE, SELECT ON SEQUENCE job_token TO %I', allowed.rolname);
    END LOOP;
END
$$;

SELECT ragkit_secure_table(target)
FROM unnest(ARRAY['document_copy', 'document_band', 'ingest_run']::regclass[]) AS target;
