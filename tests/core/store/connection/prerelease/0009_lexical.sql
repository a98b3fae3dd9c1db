-- Words: segments that never change, each with its chunks' ids and lengths, and compact postings
-- (see ragkit/store/words/segments.py). What there was becomes one segment for each collection, without
-- the chunks that were gone. Numbers are big-endian; terms are in the order of their code points,
-- so that those beginning with a character are a range.

CREATE TEMPORARY TABLE new_segment ON COMMIT DROP AS
    SELECT tenant, collection_id,
        -- Random, never to be used again in whatever database: what is read is kept in memory.
        ('x' || left(replace(gen_random_uuid()::text, '-', ''), 15))::bit(60)::bigint AS id,
        count(*) AS chunks, sum(terms)::bigint AS terms,
        string_agg(int4send(terms), ''::bytea ORDER BY id) AS lengths
    FROM chunk GROUP BY tenant, collection_id;

CREATE TEMPORARY TABLE place ON COMMIT DROP AS
    SELECT tenant, id AS chunk_id, collection_id,
        (row_number() OVER (PARTITION BY tenant, collection_id ORDER BY id) - 1)::integer AS place
    FROM chunk;
CREATE INDEX ON place (tenant, chunk_id);
ANALYZE place;

-- Ids as runs: the first, and how many follow one another.
CREATE TEMPORARY TABLE new_ids ON COMMIT DROP AS
    SELECT tenant, collection_id,
        string_agg(int8send(first) || int8send(number), ''::bytea ORDER BY first) AS ids
    FROM (SELECT tenant, collection_id, min(chunk_id) AS first, count(*) AS number
        FROM place GROUP BY tenant, collection_id, chunk_id - place) AS run
    GROUP BY tenant, collection_id;

-- One record: 8 bytes of chunk id, 4 of frequency, 4 of length, each little-endian.
CREATE FUNCTION pg_temp.record_chunk(data bytea, at integer) RETURNS bigint
    LANGUAGE sql IMMUTABLE AS $$
    SELECT get_byte(data, at)::bigint
        | (get_byte(data, at + 1)::bigint << 8)
        | (get_byte(data, at + 2)::bigint << 16)
        | (get_byte(data, at + 3)::bigint << 24)
        | (get_byte(data, at + 4)::bigint << 32)
        | (get_byte(data, at + 5)::bigint << 40)
$$;
CREATE FUNCTION pg_temp.record_frequency(data bytea, at integer) RETURNS integer
    LANGUAGE sql IMMUTABLE AS $$
    SELECT get_byte(data, at + 8) | (get_byte(data, at + 9) << 8)
        | (get_byte(data, at + 10) << 16) | (get_byte(data, at + 11) << 24)
$$;

CREATE TEMPORARY TABLE new_posting ON COMMIT DROP AS
    SELECT p.tenant, p.collection_id, p.term,
        CASE WHEN max(frequency) < 256
            THEN '\x00'::bytea || string_agg(int4send(place), ''::bytea ORDER BY place)
                || string_agg(substr(int4send(frequency), 4, 1), ''::bytea ORDER BY place)
            ELSE '\x01'::bytea || string_agg(int4send(place), ''::bytea ORDER BY place)
                || string_agg(int4send(frequency), ''::bytea ORDER BY place)
        END AS data
    FROM (SELECT tenant, collection_id, term,
            pg_temp.record_chunk(data, 16 * n) AS chunk_id,
            pg_temp.record_frequency(data, 16 * n) AS frequency
        FROM lexical_posting, generate_series(0, octet_length(data) / 16 - 1) AS n) AS p
    JOIN place ON place.tenant = p.tenant AND place.chunk_id = p.chunk_id
        AND place.collection_id = p.collection_id
    GROUP BY p.tenant, p.collection_id, p.term;

DELETE FROM lexical_tombstone;
DELETE FROM lexical_segment;
DROP TABLE lexical_posting;
DROP SEQUENCE lexical_segment_id;

ALTER TABLE lexical_segment
    ADD COLUMN ids bytea NOT NULL,
    ADD COLUMN lengths bytea NOT NULL;
ALTER TABLE lexical_segment
    ALTER COLUMN ids SET STORAGE EXTERNAL, ALTER COLUMN lengths SET STORAGE EXTERNAL;
CREATE TABLE lexical_posting (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    term          text   NOT NULL COLLATE "C",
    segment_id    bigint NOT NULL,
    data          bytea  NOT NULL,
    PRIMARY KEY (tenant, collection_id, term, segment_id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
ALTER TABLE lexical_posting ALTER COLUMN data SET STORAGE EXTERNAL;

INSERT INTO lexical_segment (tenant, collection_id, id, chunks, terms, ids, lengths)
    SELECT tenant, collection_id, s.id, s.chunks, s.terms, n.ids, s.lengths
    FROM new_segment s JOIN new_ids n USING (tenant, collection_id);
INSERT INTO lexical_posting (tenant, collection_id, term, segment_id, data)
    SELECT tenant, collection_id, p.term, s.id, p.data
    FROM new_posting p JOIN new_segment s USING (tenant, collection_id);

-- The terms of chunks whose collections are indexed by an extension of the server instead.
CREATE TABLE lexical_text (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    chunk_id      bigint NOT NULL PRIMARY KEY,  -- one column, as pg_search's key has to be
    words         text   NOT NULL,
    FOREIGN KEY (tenant, chunk_id) REFERENCES chunk ON DELETE CASCADE
);
CREATE INDEX ON lexical_text (tenant, chunk_id);
