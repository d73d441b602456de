-- Chooses the next due job and says what becomes of it, by the same rules as claim_postgresql.sql. The caller's write
-- transaction is the only one, so nothing has to be locked, and what follows from `outcome` can be written after this.
--
-- stages  the stages that may be claimed from, as a JSON array
-- orgs    what the worker knows of orgs, as a JSON object: {org_id: [seats that the org has, number of its last turn]}
-- above, last  the orgs that are considered: those with an id above the first, up to the second
WITH RECURSIVE
-- The first due job of each org, by stage and priority. Each is one probe of ix_jobs_due, however many jobs are due.
head (id, number) AS (
    SELECT (
        SELECT first.id FROM document_processing_jobs AS first
        WHERE first.status = 'PENDING' AND first.wakes_at IS NULL AND first.stage = open.value
        ORDER BY first.stage, first.priority, first.org_id, first.available_at, first.id LIMIT 1
    ), 1
    FROM json_each(:stages) AS open
    UNION ALL
    SELECT coalesce(
        (
            SELECT next.id FROM document_processing_jobs AS next
            WHERE next.status = 'PENDING' AND next.wakes_at IS NULL AND next.stage = job.stage
                AND next.priority = job.priority AND next.org_id > job.org_id
            ORDER BY next.stage, next.priority, next.org_id, next.available_at, next.id LIMIT 1
        ),
        (
            SELECT next.id FROM document_processing_jobs AS next
            WHERE next.status = 'PENDING' AND next.wakes_at IS NULL AND next.stage = job.stage
                AND next.priority > job.priority
            ORDER BY next.stage, next.priority, next.org_id, next.available_at, next.id LIMIT 1
        )
    ), head.number + 1
    FROM head JOIN document_processing_jobs AS job ON job.id = head.id
    WHERE head.number < 1000
),
known AS MATERIALIZED (
    SELECT key AS org_id, json_extract(value, '$[0]') AS seats, json_extract(value, '$[1]') AS turn FROM json_each(:orgs)
),
chosen AS MATERIALIZED (
    SELECT job.id FROM head
    JOIN document_processing_jobs AS job ON job.id = head.id
    LEFT JOIN known ON known.org_id = job.org_id
    WHERE job.org_id > :above AND job.org_id <= :last
    ORDER BY job.priority, coalesce(known.seats, 0), coalesce(known.turn, 0), job.available_at, job.id LIMIT 1
)
SELECT job.id, :lease_id AS lease_id, job.org_id, job.document_id, job.run_id, job.operation_id, job.stage, job.payload,
    job.checkpoint, job.attempts, job.max_attempts, job.priority,
    iif(run.state = 'RUNNING', (julianday('now') - julianday(run.started_at)) * 86400.0, 0.0) AS run_seconds,
    document.content_type,
    -- A run starts if no other run of its document is running or has waited longer.
    CASE WHEN job.run_id IS NULL OR run.state IN ('RUNNING', 'SUCCEEDED') THEN 'GOES_ON'
        WHEN run.state <> 'QUEUED' THEN 'ENDED'
        WHEN EXISTS (
            SELECT 1 FROM processing_runs AS other WHERE other.document_id = run.document_id AND (
                other.state = 'RUNNING'
                OR other.state = 'QUEUED' AND (other.created_at, other.id) < (run.created_at, run.id)
            )
        ) THEN 'WAITS'
        ELSE 'STARTS'
    END AS outcome
FROM chosen
JOIN document_processing_jobs AS job ON job.id = chosen.id
LEFT JOIN processing_runs AS run ON run.id = job.run_id
LEFT JOIN documents AS document ON document.id = job.document_id
