-- What a Citus cluster needs of the schema (see docs/howto/grow.md); on one server nothing changes.
-- A policy is copied to the shards, whose nodes do not have the table access_key: it asks for the
-- rights on the row's own table. Settings that a function or a session makes do not reach the nodes:
-- policies do not bind the tables' owner there. An upsert takes immutable functions only. And a node
-- cannot query other tables from within a function: hidden_documents becomes a part of statements.

DROP FUNCTION hidden_documents(jsonb);
DROP SEQUENCE job_token;  -- a worker draws its tokens at random

-- The moment after another one. Immutable, as a microsecond is one in every time zone.
CREATE FUNCTION ragkit_next_moment(moment timestamptz) RETURNS timestamptz
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN moment + interval '1 microsecond';

CREATE OR REPLACE FUNCTION ragkit_secure_table(target regclass) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    role_name name;
    -- No sub-select, which Citus refuses in a policy. The tables' owner, who alone may TRUNCATE
    -- them, may say that it means all tenants: migrations, functions across tenants and backups do.
    -- For anybody else that setting means nothing.
    rule text := '(tenant = current_setting(''ragkit.tenant'', true)'
        ' OR current_setting(''ragkit.all_tenants'', true) = ''on'''
        ' AND has_table_privilege(tableoid, ''TRUNCATE''))';
BEGIN
    IF EXISTS (SELECT FROM pg_policy WHERE polrelid = target AND polname = 'tenant') THEN
        EXECUTE format('ALTER POLICY tenant ON %s USING %s WITH CHECK %s', target, rule, rule);
    ELSE
        EXECUTE format(
            'CREATE POLICY tenant ON %s USING %s WITH CHECK %s', target, rule, rule);
    END IF;
    IF (SELECT relrowsecurity FROM pg_class WHERE oid = 'collection'::regclass) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', target);
    END IF;
    IF (SELECT relforcerowsecurity FROM pg_class WHERE oid = 'collection'::regclass) THEN
        EXECUTE format('ALTER TABLE %s FORCE ROW LEVEL SECURITY', target);
    END IF;
    FOR role_name IN SELECT * FROM ragkit_user_roles() LOOP
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', target, role_name);
    END LOOP;
END
$$;

-- Put the policies in force, for the owner too, but on a cluster: `ragkit db prepare --citus` has
-- settings passed on to the nodes.
CREATE OR REPLACE FUNCTION ragkit_enforce() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    target regclass;
BEGIN
    ALTER TABLE collection ENABLE ROW LEVEL SECURITY;
    IF current_setting('citus.propagate_set_commands', true) IS DISTINCT FROM 'local' THEN
        ALTER TABLE collection FORCE ROW LEVEL SECURITY;
    END IF;
    FOR target IN SELECT * FROM ragkit_tenant_tables() LOOP
        PERFORM ragkit_secure_table(target);
    END LOOP;
END
$$;

-- Names in the functions mean what they mean here, whatever a caller's search path says.
DO $$
DECLARE
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    EXECUTE format(
        'ALTER FUNCTION ragkit_secure_table(regclass) SET search_path = %s, pg_temp', home);
    EXECUTE format('ALTER FUNCTION ragkit_enforce() SET search_path = %s, pg_temp', home);
END
$$;

SELECT ragkit_secure_table(target) FROM ragkit_tenant_tables() AS target;
