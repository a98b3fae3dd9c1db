-- Embedding spaces by collection: the one that its questions are answered in, the one before, and
-- what is known of each that it has, or once had, vectors in.

ALTER TABLE collection
    ADD COLUMN space_id          integer REFERENCES embedding_space,  -- NULL: nothing stored yet
    ADD COLUMN previous_space_id integer REFERENCES embedding_space,
    ADD COLUMN switched_at       timestamptz;

CREATE TABLE collection_space (
    tenant        text        NOT NULL,
    collection_id bigint      NOT NULL,
    space_id      integer     NOT NULL,
    kept          integer REFERENCES embedding_space,  -- the same; NULL: its vectors are dropped
    space         jsonb       NOT NULL,  -- what it is; outlives its vectors, as fingerprints do
    source        text        NOT NULL DEFAULT '',  -- what the model is loaded by; '': not told
    first         integer,               -- of so many dimensions, if not of all
    started_at    timestamptz NOT NULL DEFAULT now(),
    complete_at   timestamptz,           -- when every passage first had its vector
    PRIMARY KEY (tenant, collection_id, space_id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);

CREATE INDEX chunk_collection ON chunk (tenant, collection_id, id);

-- A collection with vectors in several spaces is searched in the one that has the most of them.
DO $$
DECLARE
    one embedding_space%ROWTYPE;
BEGIN
    CREATE TEMP TABLE found_space (tenant text, collection_id bigint, space_id integer, rows bigint)
        ON COMMIT DROP;
    FOR one IN SELECT * FROM embedding_space LOOP
        EXECUTE format(
            'INSERT INTO found_space SELECT tenant, collection_id, %s, count(*) FROM %I GROUP BY 1, 2',
            one.id, 'vectors_' || one.id);
    END LOOP;
    INSERT INTO collection_space (tenant, collection_id, space_id, kept, space)
        SELECT f.tenant, f.collection_id, f.space_id, f.space_id, to_jsonb(s) - 'id'
        FROM found_space f JOIN embedding_space s ON s.id = f.space_id;
    UPDATE collection c SET space_id = (
        SELECT f.space_id FROM found_space f
        WHERE f.tenant = c.tenant AND f.collection_id = c.id ORDER BY f.rows DESC, f.space_id LIMIT 1);
    UPDATE collection_space k SET complete_at = now() FROM collection c
        WHERE c.tenant = k.tenant AND c.id = k.collection_id AND c.space_id = k.space_id;
END
$$;
