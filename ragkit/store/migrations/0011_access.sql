-- Who may read what inside a tenant, and the metadata keys that a collection declares.
SELECT 1;
