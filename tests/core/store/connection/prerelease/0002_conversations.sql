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
    summarised   integer     NOT NULL DEFAULT 0,  -- the summary covers the turns up to this ordinal
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
    used            jsonb       NOT NULL,  -- the passages shown for it: chunk, document, version, span
    first_source    integer     NOT NULL,  -- the number that the first of them had
    cited           bigint[]    NOT NULL,  -- the chunks that the citations are of
    trace           jsonb       NOT NULL,
    timings         jsonb       NOT NULL,
    created_at      timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant, principal, conversation_id, ordinal),
    FOREIGN KEY (tenant, principal, conversation_id) REFERENCES conversation ON DELETE CASCADE,
    CHECK (ordinal > 0)
);
