-- Answers that somebody asked to be kept (the wire format's `store`), and what people think of
-- answers. A rating holds a copy of question and answer: it is exported as an item to evaluate with,
-- whatever has become of the conversation.

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
    PRIMARY KEY (tenant, principal, id)
);
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
