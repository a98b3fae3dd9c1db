-- Browser log-ins. The token in the cookie is random; here is its sha256. A log-in by key ends with
-- its key; one by single sign-on has no key and carries what it may do itself.

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
