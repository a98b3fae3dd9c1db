-- Access keys: what each may do, and the sha256 of its secret, which is kept nowhere. The hash is
-- unique over all tenants, because it is what tells the tenant.

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
    PRIMARY KEY (tenant, id)
);
