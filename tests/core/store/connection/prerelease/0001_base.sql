-- The tables every other part rests on. Every key starts with the tenant, so that row-level
-- security, partitioning and sharding stay possible. Offsets are code points, end exclusive.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE collection (
    tenant     text        NOT NULL,
    id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    name       text        NOT NULL,
    settings   jsonb       NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name)
);

CREATE TABLE document (
    tenant        text        NOT NULL,
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint      NOT NULL,
    uri           text        NOT NULL,
    uri_key       bytea       NOT NULL,  -- its sha256: a URI may be longer than a btree entry
    content_hash  text        NOT NULL,
    fingerprint   text        NOT NULL,
    title         text        NOT NULL,
    language      text        NOT NULL,
    media_type    text        NOT NULL,
    metadata      jsonb       NOT NULL,
    page_starts   integer[]   NOT NULL,  -- the offset at which each page begins, ascending
    page_numbers  integer[]   NOT NULL,
    version       integer     NOT NULL DEFAULT 1,
    chars         integer     NOT NULL,
    text          text        NOT NULL,
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, collection_id, uri_key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
-- Uncompressed out of line, so that a passage is cut out without unpacking the whole text.
ALTER TABLE document ALTER COLUMN text SET STORAGE EXTERNAL;

CREATE SEQUENCE chunk_id AS bigint;
CREATE TABLE chunk (
    tenant        text    NOT NULL,
    id            bigint  NOT NULL,
    collection_id bigint  NOT NULL,
    document_id   bigint  NOT NULL,
    ordinal       integer NOT NULL,
    start_char    integer NOT NULL,
    end_char      integer NOT NULL,
    page          integer,
    headings      text[]  NOT NULL,
    tokens        integer NOT NULL,  -- of the embedding model
    terms         integer NOT NULL,  -- of the analyser: BM25's document length
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, document_id, ordinal),
    FOREIGN KEY (tenant, document_id) REFERENCES document ON DELETE CASCADE,
    CHECK (0 <= start_char AND start_char < end_char)
);

-- A catalogue of what makes vectors comparable, the same for every tenant. Each space has a table
-- vectors_<id> (tenant, chunk_id, collection_id, embedding), made when the space is first used.
CREATE TABLE embedding_space (
    id             integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    model          text    NOT NULL,
    revision       text    NOT NULL,
    dimension      integer NOT NULL,
    query_prefix   text    NOT NULL,
    passage_prefix text    NOT NULL,
    UNIQUE (model, revision, dimension, query_prefix, passage_prefix)
);

-- The lexical index: raw term frequencies, so that idf and the average length are always current.
-- A document's chunks are written as one segment; segments are merged as they grow in number.
CREATE SEQUENCE lexical_segment_id AS bigint;
CREATE TABLE lexical_segment (
    tenant        text    NOT NULL,
    collection_id bigint  NOT NULL,
    id            bigint  NOT NULL,
    chunks        bigint  NOT NULL,
    terms         bigint  NOT NULL,
    PRIMARY KEY (tenant, collection_id, id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
CREATE TABLE lexical_posting (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    term          text   NOT NULL,
    segment_id    bigint NOT NULL,
    data          bytea  NOT NULL,  -- 16-byte little-endian records: chunk id, frequency, chunk length
    PRIMARY KEY (tenant, collection_id, term, segment_id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
ALTER TABLE lexical_posting ALTER COLUMN data SET STORAGE EXTERNAL;
CREATE TABLE lexical_tombstone (  -- chunks that are gone but still stand in a segment
    tenant        text    NOT NULL,
    collection_id bigint  NOT NULL,
    chunk_id      bigint  NOT NULL,
    terms         integer NOT NULL,
    PRIMARY KEY (tenant, collection_id, chunk_id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);

-- The job ledger. A running job belongs to a worker, which holds an advisory lock on its number for
-- as long as it lives; the lease's end covers workers whose connection outlives them.
CREATE SEQUENCE job_worker AS integer CYCLE;
CREATE TABLE job (
    tenant        text        NOT NULL,
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint      NOT NULL,
    kind          text        NOT NULL,
    uri           text        NOT NULL,
    uri_key       bytea       NOT NULL,
    state         text        NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'running', 'done', 'failed')),
    attempts      integer     NOT NULL DEFAULT 0,
    worker        integer,
    lease_until   timestamptz,
    stage         text        NOT NULL DEFAULT '',
    reason        text        NOT NULL DEFAULT '',
    updated_at    timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, collection_id, kind, uri_key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
CREATE INDEX job_open ON job (tenant, collection_id, id) WHERE state IN ('queued', 'running');
