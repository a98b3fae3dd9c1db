-- One queue for uploads and for files at their places: workers look for both in the same way, claim
-- them by the same statement and give them back together.

DROP FUNCTION ragkit_next_upload(text);
DROP INDEX job_upload_open;
DROP INDEX job_place_open;
CREATE INDEX job_waiting ON job (tenant, collection_id, id)
    WHERE (place_id IS NOT NULL OR kind = 'upload') AND state IN ('queued', 'running');

-- What waits and what is at work, of all tenants, by collection and place; uploads have no place.
-- Suspects were tried so often together with other files that they may be taken alone only.
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

-- As in 0016, for jobs of every kind.
CREATE OR REPLACE FUNCTION ragkit_give_back(workers integer[]) RETURNS void
LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
    PERFORM set_config('ragkit.all_tenants', 'on', true);
    UPDATE job SET state = 'queued', worker = NULL, lease_until = NULL, token = NULL, stage = '',
        attempts = attempts - 1, done = 0, total = 0, updated_at = now()
    WHERE state = 'running' AND worker = ANY(workers);
    PERFORM set_config('ragkit.all_tenants', 'off', true);
END
$$;

-- As in 0016; the runs in which workers took uploads go with their jobs.
CREATE OR REPLACE FUNCTION ragkit_forget_uploads(key_days integer, job_days integer) RETURNS void
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

-- Names in them mean what they mean here, whatever a caller's search path says. Whoever may use the
-- tables may call the new function.
DO $$
DECLARE
    changed text;
    allowed record;
    home text := (SELECT relnamespace::regnamespace FROM pg_class WHERE oid = 'access_key'::regclass);
BEGIN
    FOREACH changed IN ARRAY ARRAY['ragkit_waiting(integer)', 'ragkit_give_back(integer[])',
        'ragkit_forget_uploads(integer, integer)']
    LOOP
        EXECUTE format('ALTER FUNCTION %s SET search_path = %s, pg_temp', changed, home);
    END LOOP;
    REVOKE ALL ON FUNCTION ragkit_waiting(integer) FROM PUBLIC;
    FOR allowed IN
        SELECT DISTINCT r.rolname FROM pg_class c, aclexplode(c.relacl) a
        JOIN pg_roles r ON r.oid = a.grantee
        WHERE c.oid = 'collection'::regclass AND a.grantee <> c.relowner
            AND a.privilege_type = 'INSERT'
    LOOP
        EXECUTE format('GRANT EXECUTE ON FUNCTION ragkit_waiting(integer) TO %I', allowed.rolname);
    END LOOP;
END
$$;
