-- ragkit's tables, views, policies and functions: all that a new database gets. A database from
-- before this file is brought to the same by upgrade_from_prerelease.sql. Once there is a release,
-- changes are numbered files in migrations/, and this file stays as it was released.
--
-- Every key starts with the tenant, so that row-level security, partitioning and sharding stay
-- possible. Offsets are code points, the end not included. There are no triggers: what has to happen
-- together is done by statements of one transaction.

CREATE EXTENSION IF NOT EXISTS vector;


-- Embedding spaces: what makes vectors comparable. A catalogue of no tenant. Each space has a table
-- vectors_<id> (tenant, chunk_id, collection_id, document_id, generation, embedding), made when the
-- space is first used.

CREATE TABLE embedding_space (
    id             integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    model          text    NOT NULL,
    revision       text    NOT NULL,
    dimension      integer NOT NULL,
    query_prefix   text    NOT NULL,
    passage_prefix text    NOT NULL,
    UNIQUE (model, revision, dimension, query_prefix, passage_prefix)
);

-- How a space's table is laid out, and which of its rows the index holds. New vectors get the
-- generation `written`; the index holds generations up to `indexed`, 0 without one. Younger rows are
-- compared exactly, so that a write never waits for the index.
CREATE TABLE vector_layout (
    space_id integer PRIMARY KEY REFERENCES embedding_space ON DELETE CASCADE,
    type     text    NOT NULL DEFAULT 'halfvec' CHECK (type IN ('halfvec', 'vector', 'bit')),
    metric   text    NOT NULL DEFAULT 'cosine' CHECK (metric IN ('cosine', 'ip', 'l2')),
    index    text    NOT NULL DEFAULT 'auto' CHECK (index IN ('auto', 'none', 'hnsw', 'ivfflat')),
    effort   integer CHECK (effort > 0),  -- hnsw.ef_search or ivfflat.probes; NULL: chosen
    indexed  integer NOT NULL DEFAULT 0,
    written  integer NOT NULL DEFAULT 1,
    rows     bigint  NOT NULL DEFAULT 0,  -- in the index, when it was last counted
    CHECK (indexed < written)
);


-- Collections. Readers are principals, "user:ada" or "group:hr". NULL: the whole tenant; none: the
-- owner alone.

CREATE TABLE collection (
    tenant            text        NOT NULL,
    id                bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    name              text        NOT NULL,
    settings          jsonb       NOT NULL DEFAULT '{}',
    created_at        timestamptz NOT NULL DEFAULT now(),
    space_id          integer     REFERENCES embedding_space,  -- searched in; NULL: nothing stored
    previous_space_id integer     REFERENCES embedding_space,
    switched_at       timestamptz,
    owner             text,
    readers           text[],
    versions_of       bigint,  -- the collection whose documents' old versions this one holds
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, name),
    FOREIGN KEY (tenant, versions_of) REFERENCES collection ON DELETE CASCADE
);
CREATE UNIQUE INDEX collection_versions ON collection (tenant, versions_of)
    WHERE versions_of IS NOT NULL;

-- Every space that a collection has, or once had, vectors in.
CREATE TABLE collection_space (
    tenant        text        NOT NULL,
    collection_id bigint      NOT NULL,
    space_id      integer     NOT NULL,
    kept          integer     REFERENCES embedding_space,  -- the same; NULL: vectors are dropped
    space         jsonb       NOT NULL,  -- its columns; outlives its vectors, as fingerprints do
    source        text        NOT NULL DEFAULT '',  -- what the model is loaded by; '': not recorded
    first         integer,               -- so many dimensions, if not all
    started_at    timestamptz NOT NULL DEFAULT now(),
    complete_at   timestamptz,           -- when every passage first had its vector
    PRIMARY KEY (tenant, collection_id, space_id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
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

-- When to refuse a question: a logistic regression on a search's signals and the score below which
-- a question is refused. Another model, reranker or mode has a row of its own.
CREATE TABLE calibration (
    tenant        text               NOT NULL,
    collection_id bigint             NOT NULL,
    space         text               NOT NULL,  -- the embedding space as JSON; '' in lexical mode
    reranker      text               NOT NULL,  -- its name; '' without one
    mode          text               NOT NULL CHECK (mode IN ('hybrid', 'dense', 'lexical')),
    signals       text[]             NOT NULL,  -- what weights and means belong to
    bias          double precision   NOT NULL,
    weights       double precision[] NOT NULL,
    means         double precision[] NOT NULL,
    threshold     double precision   NOT NULL CHECK (threshold BETWEEN 0 AND 1),
    data_hash     text               NOT NULL,  -- sha256 of the labelled questions
    answerable    integer            NOT NULL,
    unanswerable  integer            NOT NULL,
    chunks        bigint             NOT NULL,  -- in the collection when it was fitted
    auc           double precision   NOT NULL,
    fitted_at     timestamptz        NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, collection_id, space, reranker, mode),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);


-- Documents.

-- Uploaded files: their bytes in parts, until the document that was made of them is replaced or
-- deleted. Each upload has a job of kind 'upload', which an ingestion worker takes.
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
    -- The sender's principals: the file replaces nothing that they may not read. NULL: an operator.
    principals    text[],
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

-- The answer to an upload, so that the same request sent again gets the same answer.
CREATE TABLE upload_key (
    tenant     text        NOT NULL,
    principal  text        NOT NULL,
    key        text        NOT NULL,
    request    text        NOT NULL,  -- a hash of the files that were sent under the key
    jobs       bigint[]    NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, principal, key)
);

-- A document, or an old version of one: a row of its own, in a collection that no list shows, which
-- was current from updated_at until valid_to, that moment not included.
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
    source_id     bigint,    -- the upload that it was made of; NULL: it came from a path
    owner         text,
    readers       text[],    -- NULL: all who may read the collection; none: the owner alone
    created_at    timestamptz NOT NULL DEFAULT now(),
    version_of    bigint,    -- the document that this is an old version of
    valid_to      timestamptz,
    page_labels   text[],    -- what is printed on each page; NULL: nothing but numbers
    signature     bytea,     -- what nearly equal texts are compared by
    bytes         bigint,    -- of the file, also where it is not stored; NULL: not recorded
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, collection_id, uri_key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE,
    FOREIGN KEY (tenant, source_id) REFERENCES source,
    FOREIGN KEY (tenant, version_of) REFERENCES document ON DELETE CASCADE,
    CHECK ((version_of IS NULL) = (valid_to IS NULL))
);
-- Uncompressed out of line, so that a passage is cut out without unpacking the whole text.
ALTER TABLE document ALTER COLUMN text SET STORAGE EXTERNAL;
CREATE INDEX document_page ON document (tenant, collection_id, id);  -- lists go in this order
CREATE INDEX document_source ON document (tenant, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX document_limited ON document (tenant, collection_id) WHERE readers IS NOT NULL;
CREATE UNIQUE INDEX document_version ON document (tenant, version_of, version)
    WHERE version_of IS NOT NULL;
-- A hash is short; a longer text, as another program may write it, would not fit a btree entry.
CREATE INDEX document_content ON document (tenant, collection_id, content_hash)
    WHERE version_of IS NULL AND char_length(content_hash) <= 64;

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
    lead_start    integer,  -- the text over the chunk, such as its table's header row
    lead_end      integer,
    parent_start  integer,  -- the span that is shown for it
    parent_end    integer,
    start_byte    integer,  -- where it begins and ends in the text's UTF-8; NULL: not counted
    end_byte      integer,
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, document_id, ordinal),
    FOREIGN KEY (tenant, document_id) REFERENCES document ON DELETE CASCADE,
    CHECK (0 <= start_char AND start_char < end_char),
    CHECK ((lead_start IS NULL) = (lead_end IS NULL)),
    CHECK ((parent_start IS NULL) = (parent_end IS NULL))
);
CREATE INDEX chunk_collection ON chunk (tenant, collection_id, id);

-- Copies: files whose content is a stored document's, the same bytes (similarity 1) or nearly the
-- same text.
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

-- The values of declared keys once more, for their indexes. The indexes are over the beginning of a
-- value and a rounded number: a btree entry has its limit, and under row-level security PostgreSQL
-- uses an index for comparisons of texts and floats, and not for those of numeric.
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


-- The word index: raw term frequencies, so that idf and the average length are always current. It
-- is written in segments that never change, each with its chunks' ids and lengths, and compact
-- postings (see ragkit/store/words/segments.py). Numbers are big-endian; terms are in the order of their
-- code points, so that those beginning with a character are a range.

CREATE TABLE lexical_segment (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    -- Random, never to be used again in whatever database: decoded segments are cached by it.
    id            bigint NOT NULL,
    chunks        bigint NOT NULL,
    terms         bigint NOT NULL,
    ids           bytea  NOT NULL,  -- as runs: the first, and how many follow one another
    lengths       bytea  NOT NULL,
    PRIMARY KEY (tenant, collection_id, id),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);
ALTER TABLE lexical_segment
    ALTER COLUMN ids SET STORAGE EXTERNAL, ALTER COLUMN lengths SET STORAGE EXTERNAL;

-- No foreign key: it would be looked up again for each of a document's thousands of terms. Terms are
-- only added with a row of lexical_segment, whose own key holds the collection meanwhile; whoever
-- deletes a collection deletes its postings.
CREATE TABLE lexical_posting (
    tenant        text   NOT NULL,
    collection_id bigint NOT NULL,
    term          text   NOT NULL COLLATE "C",
    segment_id    bigint NOT NULL,
    data          bytea  NOT NULL,
    PRIMARY KEY (tenant, collection_id, term, segment_id)
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


-- Jobs. A running job belongs to a worker, which holds an advisory lock on its number for as long as
-- it lives; the lease's end covers workers whose connection outlives them.

CREATE SEQUENCE job_worker AS integer CYCLE;
-- Each time that a job is taken it gets a new token: a worker with another one no longer holds it.
CREATE SEQUENCE job_token AS bigint;

-- Files that any worker may take in: where they lie, and the options they were queued with.
CREATE TABLE job_place (
    tenant        text   NOT NULL,
    id            bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint NOT NULL,
    root          bytea  NOT NULL,  -- a folder's path or an address; a path may be no UTF-8
    options       jsonb  NOT NULL,
    key           bytea  NOT NULL,  -- a hash of both
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, collection_id, key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE
);

CREATE TABLE job (
    tenant        text        NOT NULL,
    id            bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    collection_id bigint      NOT NULL,
    kind          text        NOT NULL,
    uri           text        NOT NULL,
    uri_key       bytea       NOT NULL,
    state         text        NOT NULL DEFAULT 'queued'
                  CHECK (state IN ('queued', 'running', 'done', 'failed', 'cancelled')),
    attempts      integer     NOT NULL DEFAULT 0,
    worker        integer,
    lease_until   timestamptz,
    stage         text        NOT NULL DEFAULT '',
    reason        text        NOT NULL DEFAULT '',
    updated_at    timestamptz NOT NULL DEFAULT now(),
    name          text        NOT NULL DEFAULT '',  -- of the file
    source_id     bigint,
    document_id   bigint,
    principal     text        NOT NULL DEFAULT '',
    done          integer     NOT NULL DEFAULT 0,  -- chunks embedded, of
    total         integer     NOT NULL DEFAULT 0,  -- so many
    created_at    timestamptz NOT NULL DEFAULT now(),
    token         bigint,
    content_hash  text        NOT NULL DEFAULT '',  -- when it was queued, or done
    seen_at       timestamptz NOT NULL DEFAULT now(),  -- when that was read
    run_id        bigint,
    host          text        NOT NULL DEFAULT '',
    started_at    timestamptz,
    finished_at   timestamptz,
    figures       jsonb       NOT NULL DEFAULT '{}',
    place_id      bigint,  -- NULL: whoever finds the file takes it in
    path          bytea,   -- of the file, within the place
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, collection_id, kind, uri_key),
    FOREIGN KEY (tenant, collection_id) REFERENCES collection ON DELETE CASCADE,
    FOREIGN KEY (tenant, place_id) REFERENCES job_place
);
CREATE INDEX job_open ON job (tenant, collection_id, id) WHERE state IN ('queued', 'running');
CREATE INDEX job_source ON job (tenant, source_id) WHERE source_id IS NOT NULL;
CREATE INDEX job_run ON job (tenant, run_id) WHERE run_id IS NOT NULL;
CREATE INDEX job_uri ON job (tenant, collection_id, uri_key);
CREATE INDEX job_waiting ON job (tenant, collection_id, id)
    WHERE (place_id IS NOT NULL OR kind = 'upload') AND state IN ('queued', 'running');
CREATE INDEX job_place_of ON job (tenant, place_id) WHERE place_id IS NOT NULL;

-- Runs: one command or worker at work on a collection. One that was killed has no end.
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


-- Conversations of a principal, and their turns. A turn is written once, when its answer is complete:
-- one that failed or was cancelled leaves nothing. While a question is being answered the
-- conversation carries its token until a time that the answering program keeps putting off.

CREATE TABLE conversation (
    tenant       text        NOT NULL,
    principal    text        NOT NULL,
    id           uuid        NOT NULL,
    collection   text        NOT NULL,  -- by name: the conversation outlives its collection
    title        text        NOT NULL,
    summary      text        NOT NULL DEFAULT '',
    summarised   integer     NOT NULL DEFAULT 0,  -- the summary covers turns up to this ordinal
    asking       uuid,
    asking_until timestamptz,
    created_at   timestamptz NOT NULL DEFAULT now(),
    updated_at   timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, principal, id)
);
CREATE INDEX conversation_latest ON conversation (tenant, principal, updated_at DESC);
CREATE TABLE turn (
    tenant          text        NOT NULL,
    principal       text        NOT NULL,
    conversation_id uuid        NOT NULL,
    ordinal         integer     NOT NULL,
    question        text        NOT NULL,
    query           text        NOT NULL,  -- what was searched for in the question's place
    answer          text        NOT NULL,
    refused         boolean     NOT NULL,
    reason          text        NOT NULL,
    citations       jsonb       NOT NULL,
    claims          jsonb       NOT NULL,
    unverified      text[]      NOT NULL,
    used            jsonb       NOT NULL,  -- the passages shown: chunk, document, version, span
    first_source    integer     NOT NULL,  -- the number that the first of them had
    cited           bigint[]    NOT NULL,  -- the chunks of the citations
    trace           jsonb       NOT NULL,
    timings         jsonb       NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, principal, conversation_id, ordinal),
    FOREIGN KEY (tenant, principal, conversation_id) REFERENCES conversation ON DELETE CASCADE,
    CHECK (ordinal > 0)
);

-- Answers that a request had stored (the wire format's `store`), as they were sent.
CREATE TABLE kept_answer (
    tenant     text        NOT NULL,
    principal  text        NOT NULL,
    id         text        NOT NULL,  -- of the completion
    collection text        NOT NULL,
    question   text        NOT NULL,
    query      text        NOT NULL,  -- what was searched for: the question as it stands alone
    answer     text        NOT NULL,
    refused    boolean     NOT NULL,
    citations  jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    completion json        NOT NULL,  -- json, not jsonb: it may hold \u0000
    PRIMARY KEY (tenant, principal, id)
);
CREATE INDEX kept_answer_created ON kept_answer (created_at);

-- Ratings. Each holds a copy of question and answer: it is exported as an item to evaluate with,
-- whatever has become of the conversation.
CREATE TABLE feedback (
    tenant     text        NOT NULL,
    principal  text        NOT NULL,
    id         bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    answer_id  text        NOT NULL,  -- a completion's, or CONVERSATION/ORDINAL of a turn
    rating     smallint    NOT NULL CHECK (rating IN (-1, 1)),
    comment    text        NOT NULL,
    collection text        NOT NULL,
    question   text        NOT NULL,
    query      text        NOT NULL,
    answer     text        NOT NULL,
    refused    boolean     NOT NULL,
    citations  jsonb       NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, id),
    UNIQUE (tenant, principal, answer_id)
);


-- Access keys: what each may do, and the sha256 of its secret, which is stored nowhere. The hash is
-- unique over all tenants, because the tenant is looked up by it.

CREATE TABLE access_key (
    tenant       text        NOT NULL,
    id           bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    name         text        NOT NULL,
    principal    text        NOT NULL,
    scopes       text[]      NOT NULL,
    collections  text[],  -- NULL: every collection of the tenant
    sha256       bytea       NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    created_at   timestamptz NOT NULL DEFAULT now(),
    expires_at   timestamptz,
    revoked_at   timestamptz,
    last_used_at timestamptz,  -- coarse: not every use is written
    groups       text[]      NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, id)
);

-- Browser log-ins, by the sha256 of the cookie's random token. A log-in by key ends with its key; one
-- by single sign-on has no key and carries what it may do itself.
CREATE TABLE login (
    tenant      text        NOT NULL,
    sha256      bytea       NOT NULL UNIQUE CHECK (octet_length(sha256) = 32),
    id          bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    key_id      bigint,
    principal   text        NOT NULL,
    scopes      text[]      NOT NULL,
    collections text[],
    created_at  timestamptz NOT NULL DEFAULT now(),
    expires_at  timestamptz NOT NULL,
    groups      text[]      NOT NULL DEFAULT '{}',
    PRIMARY KEY (tenant, id),
    FOREIGN KEY (tenant, key_id) REFERENCES access_key ON DELETE CASCADE
);
CREATE INDEX login_expired ON login (expires_at);

-- A single sign-on that has begun: what its answer must match. Belongs to no tenant yet.
CREATE TABLE login_begun (
    state_sha256 bytea       PRIMARY KEY CHECK (octet_length(state_sha256) = 32),
    nonce        text        NOT NULL,
    verifier     text        NOT NULL,
    next         text        NOT NULL,
    expires_at   timestamptz NOT NULL
);


-- Who may read what inside a tenant. A session says for whom it reads, in the settings ragkit.tenant
-- and ragkit.readers of its transaction (see ragkit/store/session.py): an array of principals, or
-- '{*}' for an operator, who may read everything. A session that says nothing sees only what the
-- whole tenant may read. Statements that read documents or chunks read these views; a test lists
-- those that do not, each with its reason.

CREATE FUNCTION ragkit_readers() RETURNS text[] LANGUAGE sql STABLE PARALLEL SAFE
    RETURN nullif(current_setting('ragkit.readers', true), '')::text[];

-- The same rule for principals that a statement names, such as the sender's of an upload; NULL is an
-- operator. Never NULL itself.
CREATE FUNCTION may_read(owner text, readers text[], principals text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN principals IS NULL OR readers IS NULL OR coalesce(readers && principals, false)
        OR coalesce(owner = ANY (principals), false);

-- security_invoker: row-level security binds whoever reads a view, not its owner. The sub-select is
-- evaluated once per statement, and only if anything is limited.
CREATE VIEW visible_collection WITH (security_invoker = true) AS
    SELECT c.* FROM collection c
    WHERE c.tenant = current_setting('ragkit.tenant', true)
        AND (c.readers IS NULL
            OR c.readers || ARRAY[c.owner, '*'] && (SELECT ragkit_readers()));

CREATE VIEW visible_document WITH (security_invoker = true) AS
    SELECT d.* FROM document d
    WHERE d.tenant = current_setting('ragkit.tenant', true)
        AND (d.readers IS NULL
            OR d.readers || ARRAY[d.owner, '*'] && (SELECT ragkit_readers()))
        AND EXISTS (SELECT FROM visible_collection c
            WHERE c.tenant = d.tenant AND c.id = d.collection_id);

-- Chunks, each with what a passage shows of its document.
CREATE VIEW visible_chunk WITH (security_invoker = true) AS
    SELECT k.*, d.uri, d.title, d.version, d.metadata, d.chars, d.text
    FROM chunk k JOIN visible_document d ON d.tenant = k.tenant AND d.id = k.document_id;

-- Which of the documents that these citations name exist and are hidden from the session.
CREATE FUNCTION hidden_documents(citations jsonb) RETURNS bigint[]
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN CASE WHEN citations = '[]' OR ragkit_readers() = '{*}' THEN '{}'::bigint[] ELSE ARRAY(
        SELECT d.id FROM document d
        WHERE d.tenant = current_setting('ragkit.tenant', true) AND d.id IN (
                SELECT (citation ->> 'document')::bigint
                FROM jsonb_array_elements(citations) AS citation)
            AND NOT EXISTS (SELECT FROM visible_document v
                WHERE v.tenant = d.tenant AND v.id = d.id)
        ORDER BY d.id) END;


-- Row-level security: a role sees the rows of the tenant that its transaction names, and no others.
-- The policies lie still until ragkit_enforce() switches them on, as `ragkit db prepare` does where
-- tenants are on: under them PostgreSQL refuses COPY FROM, and no index on an expression over
-- metadata is used.

-- The tables that hold tenants' rows: ragkit's, in its schema, with a column that names the tenant.
CREATE FUNCTION ragkit_tenant_tables() RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
    SELECT c.oid::regclass
    FROM pg_class c JOIN pg_class k ON k.oid = 'access_key'::regclass
        AND c.relnamespace = k.relnamespace AND c.relowner = k.relowner
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p') ORDER BY c.relname
$$;

-- Roles that may use the tables, as `ragkit db prepare` has it: all that may add a collection.
CREATE FUNCTION ragkit_user_roles() RETURNS SETOF name LANGUAGE sql STABLE AS $$
    SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a
    JOIN pg_roles r ON r.oid = a.grantee
    WHERE c.oid = 'collection'::regclass AND a.grantee <> c.relowner
        AND a.privilege_type = 'INSERT'
$$;

-- Give a table its policy. Where policies are in force they are in force on it too, and whoever may
-- use the table collection may use it. For a table that is made at run time.
CREATE FUNCTION ragkit_secure_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    role_name name;
    -- No sub-select, which Citus refuses in a policy. The tables' owner, who alone may TRUNCATE
    -- them, may say that it means all tenants: migrations, the functions below and backups do. For
    -- anybody else that setting means nothing.
    rule text := '(tenant = current_setting(''ragkit.tenant'', true)'
        ' OR current_setting(''ragkit.all_tenants'', true) = ''on'''
        ' AND has_table_privilege(''access_key''::regclass, ''TRUNCATE''))';
BEGIN
    IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = target AND polname = 'tenant') THEN
        EXECUTE format(
            'CREATE POLICY tenant ON %s USING %s WITH CHECK %s', target, rule, rule);
    END IF;
    IF (SELECT relrowsecurity FROM pg_class WHERE oid = 'collection'::regclass) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', target);
    END IF;
    FOR role_name IN SELECT * FROM ragkit_user_roles() LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', target, role_name);
    END LOOP;
END
$$;

-- Put the policies in force, for the owner too.
CREATE FUNCTION ragkit_enforce() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target regclass;
BEGIN
    ALTER TABLE collection ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
    FOR target IN SELECT * FROM ragkit_tenant_tables() LOOP
        PERFORM ragkit_secure_table(target);
    END LOOP;
END
$$;


-- Functions that look across tenants, each as narrow as it can be. They run as the tables' owner.

-- The key with a hash, where it is valid; its use is noted, not more often than every so often.
CREATE FUNCTION ragkit_find_key(digest bytea, used_every_s double precision)
RETURNS TABLE (
    id bigint, tenant text, principal text, scopes text[], collections text[], sha256 bytea,
    groups text[]
) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    RETURN QUERY SELECT k.id, k.tenant, k.principal, k.scopes, k.collections, k.sha256, k.groups
        FROM access_key k
        WHERE k.sha256 = digest AND k.revoked_at IS NULL
            AND (k.expires_at IS NULL OR k.expires_at > now());
    IF FOUND THEN
        UPDATE access_key k SET last_used_at = now()
        WHERE k.sha256 = digest
            AND (k.last_used_at IS NULL OR k.last_used_at < now() - make_interval(secs => used_every_s));
    END IF;
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

CREATE FUNCTION ragkit_any_key() RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    found_one boolean;
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    found_one := EXISTS (SELECT FROM access_key
        WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now()));
    PERFORM set_config('ragkit.all_tenants', 'off', true);
    RETURN found_one;
END
$$;

-- The log-in with a hash, if it and its key are still valid.
CREATE FUNCTION ragkit_find_login(digest bytea)
RETURNS TABLE (
    key_id bigint, tenant text, principal text, scopes text[], collections text[], sha256 bytea,
    groups text[]
) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    RETURN QUERY SELECT coalesce(k.id, 0), l.tenant, l.principal, l.scopes, l.collections,
            l.sha256, l.groups
        FROM login l LEFT JOIN access_key k ON k.tenant = l.tenant AND k.id = l.key_id
        WHERE l.sha256 = digest AND l.expires_at > now() AND (l.key_id IS NULL
            OR (k.id IS NOT NULL AND k.revoked_at IS NULL
                AND (k.expires_at IS NULL OR k.expires_at > now())));
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

CREATE FUNCTION ragkit_end_login(digest bytea) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM login l WHERE l.sha256 = digest;
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Delete the log-ins and kept answers of every tenant whose time is over.
CREATE FUNCTION ragkit_forget_logins() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM login WHERE expires_at <= now();
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

CREATE FUNCTION ragkit_forget_answers(keep_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM kept_answer WHERE created_at <= now() - make_interval(days => keep_days);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Whether a worker lives. One with a positive number holds a lock on it; one behind a pooler cannot,
-- has a negative number, and counts as alive until its lease ends.
CREATE FUNCTION ragkit_alive(worker integer) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(worker < 0, false) OR EXISTS (
        SELECT FROM pg_locks l
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.classid = 1918986091::oid AND l.objid = worker::oid)
$$;

-- Count the waiting and the running jobs of all tenants, by collection and place; uploads have no
-- place. Suspects were tried so often together with other files that they may only be taken alone.
CREATE FUNCTION ragkit_waiting(together integer)
RETURNS TABLE (
    tenant text, collection_id bigint, name text, place_id bigint, suspect boolean, free bigint,
    held bigint, first bigint
) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    RETURN QUERY SELECT j.tenant, j.collection_id, c.name, j.place_id, j.attempts >= together,
            count(*) FILTER (WHERE j.is_free), count(*) FILTER (WHERE NOT j.is_free), min(j.id)
        FROM (SELECT o.*, o.state = 'queued' OR o.lease_until < now()
                OR NOT ragkit_alive(o.worker) AS is_free
            FROM job o WHERE (o.place_id IS NOT NULL OR o.kind = 'upload')
                AND o.state IN ('queued', 'running')) j
        JOIN collection c ON c.tenant = j.tenant AND c.id = j.collection_id
        GROUP BY 1, 2, 3, 4, 5;
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Queue the jobs of these workers again; an attempt that was broken off does not count.
CREATE FUNCTION ragkit_give_back(workers integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL, token = NULL, stage = '',
        attempts = attempts - 1, done = 0, total = 0, updated_at = now()
    WHERE state = 'running' AND worker = ANY(workers);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Forget ended uploads; the runs in which workers took them go with their jobs.
CREATE FUNCTION ragkit_forget_uploads(key_days integer, job_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM upload_key WHERE created_at < now() - make_interval(days => key_days);
    DELETE FROM job WHERE kind = 'upload' AND state IN ('done', 'failed', 'cancelled')
        AND updated_at < now() - make_interval(days => job_days);
    DELETE FROM ingest_run r WHERE command = 'worker'
        AND ended_at < now() - make_interval(days => job_days)
        AND NOT EXISTS (SELECT FROM job j WHERE j.tenant = r.tenant AND j.run_id = r.id);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

CREATE FUNCTION ragkit_count_uploads() RETURNS TABLE (state text, uploads bigint)
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    RETURN QUERY SELECT j.state, count(*) FROM job j
        WHERE j.kind = 'upload' AND j.state IN ('queued', 'running') GROUP BY j.state;
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Names in the functions mean what they mean here, whatever a caller's search path or temporary
-- tables say; and only those may call the functions across tenants to whom it is granted.
DO $$
DECLARE
    made record;
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    FOR made IN
        SELECT oid::regprocedure AS function, prosecdef FROM pg_proc
        WHERE pronamespace = home::regnamespace AND (prosecdef AND proname LIKE 'ragkit\_%'
            OR proname IN ('ragkit_tenant_tables', 'ragkit_user_roles', 'ragkit_secure_table',
                'ragkit_enforce'))
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', made.function, home);
        IF made.prosecdef THEN
            EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', made.function);
        END IF;
    END LOOP;
END
$$;

SELECT ragkit_secure_table(target) FROM ragkit_tenant_tables() AS target;
