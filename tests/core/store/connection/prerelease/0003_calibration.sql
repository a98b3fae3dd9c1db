-- When to refuse: a logistic regression on a search's signals and the score below which a question
-- is refused, for what it was fitted with. Another model, reranker or mode has a row of its own.

CREATE TABLE calibration (
    tenant        text               NOT NULL,
    collection_id bigint             NOT NULL,
    space         text               NOT NULL,  -- the embedding space as JSON; '' in lexical mode
    reranker      text               NOT NULL,  -- its name; '' without one
    mode          text               NOT NULL CHECK (mode IN ('hybrid', 'dense', 'lexical')),
    signals       text[]             NOT NULL,  -- what the weights and means are of
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
