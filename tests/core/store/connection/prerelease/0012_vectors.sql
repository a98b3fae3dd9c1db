-- Vectors: what each embedding space's table looks like and what of it is not indexed yet.
-- New vectors get the generation `written`; the index holds those up to `indexed`, 0 without one. What
-- is younger is compared exactly, so that a write never waits for the index.

CREATE TABLE vector_layout (
    space_id integer PRIMARY KEY REFERENCES embedding_space ON DELETE CASCADE,
    type     text    NOT NULL DEFAULT 'halfvec' CHECK (type IN ('halfvec', 'vector', 'bit')),
    metric   text    NOT NULL DEFAULT 'cosine' CHECK (metric IN ('cosine', 'ip', 'l2')),
    index    text    NOT NULL DEFAULT 'auto' CHECK (index IN ('auto', 'none', 'hnsw', 'ivfflat')),
    effort   integer CHECK (effort > 0),  -- hnsw.ef_search or ivfflat.probes; NULL: chosen
    indexed  integer NOT NULL DEFAULT 0,
    written  integer NOT NULL DEFAULT 1,
    rows     bigint  NOT NULL DEFAULT 0,  -- in the index, when it was last seen to
    CHECK (indexed < written)
);

-- Vectors of a collection in a space, when they were last counted: searches are planned by it.
CREATE TABLE vector_count (
    tenant        text    NOT NULL,
    collection_id bigint  NOT NULL,
    space_id      integer NOT NULL REFERENCES embedding_space ON DELETE CASCADE,
    rows          bigint  NOT NULL,
    PRIMARY KEY (tenant, collection_id, space_id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);

-- Tables made before say the document too, for filters. Their index is built anew after the next load.
INSERT INTO vector_layout (space_id) SELECT id FROM embedding_space;
DO $$
DECLARE
    name text;
BEGIN
    FOR name IN SELECT 'vectors_' || id FROM embedding_space LOOP
        EXECUTE format('DROP INDEX IF EXISTS %I', name || '_hnsw');
        EXECUTE format('DROP INDEX IF EXISTS %I', name || '_collection');
        EXECUTE format('ALTER TABLE %I ADD COLUMN document_id bigint,'
            ' ADD COLUMN generation integer NOT NULL DEFAULT 1', name);
        EXECUTE format('UPDATE %I v SET document_id = c.document_id FROM chunk c'
            ' WHERE c.tenant = v.tenant AND c.id = v.chunk_id', name);
        EXECUTE format('ALTER TABLE %I ALTER COLUMN document_id SET NOT NULL', name);
        EXECUTE format('CREATE INDEX %I ON %I (tenant, collection_id, document_id)',
            name || '_document', name);
        EXECUTE format('CREATE INDEX %I ON %I (tenant, collection_id, generation)',
            name || '_generation', name);
    END LOOP;
END $$;
