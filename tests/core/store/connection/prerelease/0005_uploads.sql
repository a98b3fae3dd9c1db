-- Uploaded files: their bytes as they came, in parts, until the document that was made of them is
-- replaced or deleted. Each upload has a job of kind 'upload', which an ingestion worker takes.

CREATE TABLE source (
    tenant        text        NOT NULL,
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint      NOT NULL,
    uri           text        NOT NULL,
    uri_key       bytea       NOT NULL,
    name          text        NOT NULL,
    media_type    text        NOT NULL,
    sha256        text        NOT NULL,
    bytes         bigint      NOT NULL,
    principal     text        NOT NULL,  -- who uploaded it
    created_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
CREATE INDEX source_uri ON source (tenant, collection_id, uri_key);
CREATE TABLE source_part (
    tenant    text    NOT NULL,
    source_id bigint  NOT NULL,
    n         integer NOT NULL,
    data      bytea   NOT NULL,
    PRIMARY KEY (tenant, source_id, n),
    FOREIGN KEY (tenant, source_id) REFERENCES source ON DELETE CASCADE
);
ALTER TABLE source_part ALTER COLUMN data SET STORAGE EXTERNAL;

-- What an upload's answer was, so that the same request sent again gets the same answer.
CREATE TABLE upload_key (
    tenant     text        NOT NULL,
    principal  text        NOT NULL,
    key        text        NOT NULL,
    request    text        NOT NULL,  -- a hash of what was sent under the key
    jobs       bigint[]    NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, principal, key)
);

-- The upload that a document was made of; NULL for one that came from a path. A later upload never
-- gives way to an earlier one that was slower.
ALTER TABLE document ADD COLUMN source_id bigint;
ALTER TABLE document ADD FOREIGN KEY (tenant, source_id) REFERENCES source;
CREATE INDEX document_source ON document (tenant, source_id) WHERE source_id IS NOT NULL;
-- Documents are paged through in the order they came.
CREATE INDEX document_page ON document (tenant, collection_id, id);

ALTER TABLE job
    ADD COLUMN name        text        NOT NULL DEFAULT '',  -- of the file
    ADD COLUMN source_id   bigint,
    ADD COLUMN document_id bigint,
    ADD COLUMN principal   text        NOT NULL DEFAULT '',
    ADD COLUMN done        integer     NOT NULL DEFAULT 0,  -- chunks embedded, of
    ADD COLUMN total       integer     NOT NULL DEFAULT 0,  -- so many
    ADD COLUMN created_at  timestamptz NOT NULL DEFAULT now();
CREATE INDEX job_upload_open ON job (id) WHERE kind = 'upload' AND state IN ('queued', 'running');
CREATE INDEX job_source ON job (tenant, source_id) WHERE source_id IS NOT NULL;
