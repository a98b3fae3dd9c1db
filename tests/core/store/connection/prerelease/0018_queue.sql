-- Files that any worker may take in: where they lie, and what was said of them when they were queued.

CREATE TABLE job_place (
    tenant        text   NOT NULL,
    id            bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    root          bytea  NOT NULL,  -- a folder's path or a place's address; a path may be no UTF-8
    options       jsonb  NOT NULL,
    key           bytea  NOT NULL,  -- a hash of both
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, collection_id, key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);

ALTER TABLE job
    ADD COLUMN place_id bigint,  -- NULL: whoever finds the file takes it in
    ADD COLUMN path     bytea,   -- of the file, within the place
    ADD FOREIGN KEY (tenant, place_id) REFERENCES job_place;
CREATE INDEX job_place_open ON job (tenant, collection_id, id)
    WHERE place_id IS NOT NULL AND state IN ('queued', 'running');
CREATE INDEX job_place_of ON job (tenant, place_id) WHERE place_id IS NOT NULL;

SELECT ragkit_secure_table('job_place');
