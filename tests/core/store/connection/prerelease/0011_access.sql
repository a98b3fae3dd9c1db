-- Who may read what inside a tenant, and the metadata keys that a collection has and declares.
-- Readers are principals, "user:ada" or "group:hr". NULL: the whole tenant; none: the owner alone.

ALTER TABLE collection ADD COLUMN owner text, ADD COLUMN readers text[];
ALTER TABLE document
    ADD COLUMN owner      text,
    ADD COLUMN readers    text[],
    ADD COLUMN created_at timestamptz;
UPDATE document SET created_at = updated_at;
ALTER TABLE document ALTER COLUMN created_at SET NOT NULL, ALTER COLUMN created_at SET DEFAULT now();
CREATE INDEX document_limited ON document (tenant, collection_id) WHERE readers IS NOT NULL;

-- Whom the sender of a waiting file went by: it replaces nothing that they may not read. NULL: an
-- operator.
ALTER TABLE source ADD COLUMN principals text[];
UPDATE source SET principals = ARRAY['user:' || principal];

ALTER TABLE access_key ADD COLUMN groups text[] NOT NULL DEFAULT '{}';
ALTER TABLE login ADD COLUMN groups text[] NOT NULL DEFAULT '{}';

-- Whether somebody who goes by these principals may read what has this owner and these readers; by
-- NULL goes whoever runs the database. Never NULL itself.
CREATE FUNCTION may_read(owner text, readers text[], principals text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN principals IS NULL OR readers IS NULL OR coalesce(readers && principals, false)
        OR coalesce(owner = ANY (principals), false);

-- Which of the documents that these citations are of are there and hidden from these principals.
CREATE FUNCTION hidden_documents(of_tenant text, citations jsonb, principals text[])
    RETURNS bigint[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN principals IS NULL OR citations = '[]' THEN '{}'::bigint[] ELSE ARRAY(
        SELECT d.id FROM document d
        JOIN collection c ON c.tenant = d.tenant AND c.id = d.collection_id
        WHERE d.tenant = of_tenant AND d.id IN (
                SELECT (one ->> 'document')::bigint FROM jsonb_array_elements(citations) AS one)
            AND NOT (may_read(c.owner, c.readers, principals)
                AND may_read(d.owner, d.readers, principals))
        ORDER BY d.id) END;

-- The metadata keys that a collection's documents have, or have had; a declared one has a type.
-- Keys of more than 500 bytes are not listed: a btree entry has its limit.
CREATE TABLE metadata_key (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    key           text   NOT NULL,
    type          text   CHECK (type IN ('text', 'number', 'date')),
    PRIMARY KEY (tenant, collection_id, key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
INSERT INTO metadata_key (tenant, collection_id, key)
    SELECT DISTINCT tenant, collection_id, key
    FROM document, jsonb_object_keys(metadata) AS key WHERE octet_length(key) <= 500;

-- The values of declared keys, once more, for their indexes. These are over what a value begins with
-- and what a number is about, for a btree entry has its limit, and because under row-level security
-- PostgreSQL uses an index for comparisons of texts and floats, and not for those of numeric.
CREATE TABLE metadata_value (
    tenant        text    NOT NULL,
    collection_id bigint  NOT NULL,
    key           text    NOT NULL,
    document_id   bigint  NOT NULL,
    value         text    COLLATE "C" NOT NULL,
    number        numeric,  -- where the value is one
    beginning     text    COLLATE "C" NOT NULL GENERATED ALWAYS AS (left(value, 250)) STORED,
    about         double precision GENERATED ALWAYS AS (number::double precision) STORED,
    PRIMARY KEY (tenant, document_id, key),
    FOREIGN KEY (tenant, document_id) REFERENCES document ON DELETE CASCADE
);
CREATE INDEX metadata_value_text ON metadata_value (tenant, collection_id, key, beginning);
CREATE INDEX metadata_value_number ON metadata_value (tenant, collection_id, key, about)
    WHERE about IS NOT NULL;
