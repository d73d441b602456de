-- Claims one due job for a worker and starts its run: one statement, so that a job is only PROCESSING with a run that is
-- RUNNING, or that has succeeded already and is followed by this job.
--
-- Which job: the most urgent one; then one of the org with the fewest seats in this worker; then of the org that it
-- served longest ago; then the one that has been due longest.
--
-- stages  the stages that may be claimed from, as a JSON array
-- orgs    what the worker knows of orgs, as a JSON object: {org_id: [seats that the org has, number of its last turn]}
-- behind  the org that was served last, where the worker has served many: the walk over orgs begins behind it
-- above, last  the orgs that are considered: those with an id above the first, up to the second
-- among   the ids of the only jobs that are considered; NULL: all
WITH RECURSIVE
-- The priorities that due jobs have, by stage.
level AS (
    SELECT open.stage, (
        SELECT job.priority FROM document_processing_jobs AS job
        WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = open.stage
        ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
    ) AS priority
    FROM jsonb_array_elements_text(CAST(:stages AS jsonb)) AS open (stage)
    WHERE CAST(:among AS uuid[]) IS NULL
    UNION ALL
    SELECT level.stage, (
        SELECT job.priority FROM document_processing_jobs AS job
        WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = level.stage
            AND job.priority > level.priority
        ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
    )
    FROM level WHERE level.priority IS NOT NULL
),
-- The first due job of each org, at most 64 of them on each side of :behind. Each is one probe of ix_jobs_due, however
-- many jobs are due. Instead of it another job of the org may be chosen, up to until_at and until_id. With :among it is
-- these jobs, each for itself alone.
head AS (
    SELECT org.*, CAST('infinity' AS timestamptz) AS until_at,
        CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid) AS until_id
    FROM level
    CROSS JOIN (
        VALUES (CAST(:behind AS uuid), CAST(:last AS uuid)), (CAST(:above AS uuid), CAST(:behind AS uuid))
    ) AS side (above, last)
    CROSS JOIN LATERAL (
        WITH RECURSIVE org AS (
            (
                SELECT job.stage, job.priority, job.org_id, job.available_at, job.id
                FROM document_processing_jobs AS job
                WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = level.stage
                    AND job.priority = level.priority AND job.org_id > side.above AND job.org_id <= side.last
                ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
            )
            UNION ALL
            SELECT next.* FROM org CROSS JOIN LATERAL (
                SELECT job.stage, job.priority, job.org_id, job.available_at, job.id
                FROM document_processing_jobs AS job
                WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = level.stage
                    AND job.priority = level.priority AND job.org_id > org.org_id AND job.org_id <= side.last
                ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
            ) AS next
        )
        SELECT * FROM org LIMIT 64
    ) AS org
    UNION ALL
    SELECT job.stage, job.priority, job.org_id, job.available_at, job.id, job.available_at, job.id
    FROM unnest(CAST(:among AS uuid[])) AS named (id)
    JOIN document_processing_jobs AS job ON job.id = named.id
    WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND CAST(:stages AS jsonb) ? job.stage
),
ordered AS MATERIALIZED (
    SELECT head.*
    FROM head LEFT JOIN jsonb_each(CAST(:orgs AS jsonb)) AS known ON CAST(known.key AS uuid) = head.org_id
    ORDER BY head.priority, coalesce(CAST(known.value ->> 0 AS int), 0), coalesce(CAST(known.value ->> 1 AS int), 0),
        head.available_at, head.id
),
-- The first job in this order that nobody else has locked. Orgs behind it are not looked at.
chosen AS MATERIALIZED (
    SELECT job.* FROM ordered CROSS JOIN LATERAL (
        SELECT free.id, free.document_id, free.run_id FROM document_processing_jobs AS free
        WHERE free.status = 'PENDING' AND free.wakes_at IS NULL
            AND free.stage = ordered.stage AND free.priority = ordered.priority AND free.org_id = ordered.org_id
            AND (free.available_at, free.id) >= (ordered.available_at, ordered.id)
            AND (free.available_at, free.id) <= (ordered.until_at, ordered.until_id)
        ORDER BY free.stage, free.priority, free.org_id, free.available_at, free.id LIMIT 1
        FOR UPDATE SKIP LOCKED
    ) AS job LIMIT 1
),
-- What becomes of it. A run starts if no other run of its document is running or has waited longer.
decided AS MATERIALIZED (
    SELECT chosen.id, chosen.run_id, run.state, document.content_type,
        CASE WHEN run.state = 'RUNNING'
            THEN CAST(extract(epoch FROM statement_timestamp() - run.started_at) AS double precision) ELSE 0
        END AS run_seconds,
        CASE WHEN chosen.run_id IS NULL OR run.state IN ('RUNNING', 'SUCCEEDED') THEN 'GOES_ON'
            WHEN run.state <> 'QUEUED' THEN 'ENDED'
            WHEN EXISTS (
                -- A CASE, so that the planner can't use the index of all live runs instead of the document's.
                SELECT FROM processing_runs AS other
                WHERE other.document_id = run.document_id AND CASE other.state
                    WHEN 'RUNNING' THEN true
                    WHEN 'QUEUED' THEN (other.created_at, other.id) < (run.created_at, run.id)
                    ELSE false END
            ) THEN 'WAITS'
            ELSE 'STARTS'
        END AS outcome
    FROM chosen
    LEFT JOIN processing_runs AS run ON run.id = chosen.run_id
    LEFT JOIN documents AS document ON document.id = chosen.document_id
),
started AS (
    UPDATE processing_runs AS run SET state = 'RUNNING', started_at = statement_timestamp()
    -- It is QUEUED; that word here would tempt the planner to read all queued runs.
    FROM decided WHERE decided.outcome = 'STARTS' AND run.id = decided.run_id AND run.state = decided.state
    RETURNING run.org_id, run.document_id, run.id
),
event AS (
    INSERT INTO run_events (id, org_id, document_id, run_id, kind, created_at)
    SELECT :event_id, started.org_id, started.document_id, started.id, 'RUN_STARTED', statement_timestamp() FROM started
),
claimed AS (
    UPDATE document_processing_jobs AS job SET
        status = CASE decided.outcome WHEN 'WAITS' THEN 'PENDING' WHEN 'ENDED' THEN 'CANCELLED' ELSE 'PROCESSING' END,
        lease_id = CASE WHEN decided.outcome IN ('STARTS', 'GOES_ON') THEN :lease_id END,
        locked_by = CASE WHEN decided.outcome IN ('STARTS', 'GOES_ON') THEN :worker END,
        started_at = CASE WHEN decided.outcome IN ('STARTS', 'GOES_ON') THEN statement_timestamp() ELSE job.started_at END,
        heartbeat_at = CASE WHEN decided.outcome IN ('STARTS', 'GOES_ON') THEN statement_timestamp() END,
        completed_at = CASE WHEN decided.outcome = 'ENDED' THEN statement_timestamp() END,
        sealed_password = CASE WHEN decided.outcome <> 'ENDED' THEN job.sealed_password END,
        -- Rare, since it is enqueued as waiting while another run of its document is alive. Asked again, it can't be
        -- forgotten, whatever its document's runs do at this moment.
        wakes_at = CASE WHEN decided.outcome = 'WAITS' THEN statement_timestamp() + interval '1 second' END,
        updated_at = statement_timestamp()
    FROM decided
    -- A run that is no longer QUEUED changed in this moment: the next claim decides anew.
    WHERE job.id = decided.id AND (decided.outcome <> 'STARTS' OR EXISTS (SELECT FROM started))
    RETURNING job.id, job.lease_id, job.org_id, job.document_id, job.run_id, job.operation_id, job.stage, job.payload,
        job.checkpoint, job.attempts, job.max_attempts, job.priority, decided.run_seconds, decided.content_type,
        decided.outcome
)
SELECT * FROM claimed
