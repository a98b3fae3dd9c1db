-- Row-level security: a role sees the rows of the tenant that its transaction names, and no others.
-- The policies are made here and lie still until ragkit_enforce() switches them on, as `ragkit db
-- prepare` does where tenants are on: under them PostgreSQL refuses COPY FROM, and no index on an
-- expression over metadata is used.

-- The tables' owner may say that it means all tenants: migrations, the functions below and backups
-- do. For anybody else the setting means nothing.
CREATE FUNCTION ragkit_all_tenants() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(current_setting('ragkit.all_tenants', true), '') = 'on'
        AND pg_has_role(current_user, relowner, 'USAGE')
    FROM pg_class WHERE oid = 'access_key'::regclass
$$;

-- The tables that hold tenants' rows: ours, in our schema, with a column that names the tenant.
CREATE FUNCTION ragkit_tenant_tables() RETURNS SETOF regclass LANGUAGE sql STABLE AS $$
    SELECT c.oid::regclass
    FROM pg_class c JOIN pg_class k ON k.oid = 'access_key'::regclass
        AND c.relnamespace = k.relnamespace AND c.relowner = k.relowner
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant' AND NOT a.attisdropped
    WHERE c.relkind IN ('r', 'p') ORDER BY c.relname
$$;

-- Give a table its policy. Where policies are in force they are in force on it too, and whoever may
-- use the table collection may use it. For a table that is made at run time.
CREATE FUNCTION ragkit_secure_table(target regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    allowed record;
    -- Sub-selects: each is evaluated once per statement, not once per row.
    rule text := '(tenant = (SELECT current_setting(''ragkit.tenant'', true))'
        ' OR (SELECT ragkit_all_tenants()))';
BEGIN
    IF NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = target AND polname = 'tenant') THEN
        EXECUTE format(
            'CREATE POLICY tenant ON %s USING %s WITH CHECK %s', target, rule, rule);
    END IF;
    IF (SELECT relrowsecurity FROM pg_class WHERE oid = 'collection'::regclass) THEN
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', target);
    END IF;
    FOR allowed IN
        SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a
        JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'collection'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'INSERT'
    LOOP
        EXECUTE format(
            'GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO %I', target, allowed.rolname);
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

-- What has to look across tenants, each as narrow as it can be. They run as the tables' owner.

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

-- Log-ins and kept answers whose time is over go for every tenant, whoever comes by.
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

-- Whether a worker lives, as far as can be told. One with a positive number holds a lock on it; one
-- behind a pooler cannot, has a negative number, and is taken for alive until its lease ends.
CREATE FUNCTION ragkit_alive(worker integer) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT coalesce(worker < 0, false) OR EXISTS (
        SELECT FROM pg_locks l
        WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 2
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
            AND l.classid = 1918986091::oid AND l.objid = worker::oid)
$$;

-- The next open upload that no living worker has, locked; each tenant in turn, after the last one.
CREATE FUNCTION ragkit_next_upload(last_tenant text)
RETURNS TABLE (tenant text, id bigint) LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    RETURN QUERY SELECT j.tenant, j.id FROM job j
        WHERE j.kind = 'upload' AND j.state IN ('queued', 'running')
            AND (j.state = 'queued' OR j.lease_until < now() OR NOT ragkit_alive(j.worker))
        ORDER BY j.tenant <= last_tenant, j.tenant, j.id LIMIT 1 FOR UPDATE SKIP LOCKED;
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- Queue again what these workers had taken; an attempt that was broken off does not count.
CREATE FUNCTION ragkit_give_back(workers integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL, attempts = attempts - 1,
        done = 0, total = 0, updated_at = now()
    WHERE kind = 'upload' AND state = 'running' AND worker = ANY(workers);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

CREATE FUNCTION ragkit_forget_uploads(key_days integer, job_days integer) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    DELETE FROM upload_key WHERE created_at < now() - make_interval(days => key_days);
    DELETE FROM job WHERE kind = 'upload' AND state IN ('done', 'failed')
        AND updated_at < now() - make_interval(days => job_days);
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
-- tables say; and only those may call them to whom it is granted.
DO $$
DECLARE
    made record;
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    FOR made IN
        SELECT oid::regprocedure AS function, prosecdef FROM pg_proc
        WHERE pronamespace = home::regnamespace AND (prosecdef AND proname LIKE 'ragkit\_%'
            OR proname IN ('ragkit_all_tenants', 'ragkit_tenant_tables', 'ragkit_secure_table',
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
