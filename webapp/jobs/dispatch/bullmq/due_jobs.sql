-- Reads the next due jobs of each org, for offers: of each stage, priority and org the oldest ones, as the claim
-- (claim_postgresql.sql) would choose them. Nothing is locked: the claim decides again. Also reads which of the jobs
-- that are offered already are still due.
--
-- stages   the stages that jobs may be offered of, as a JSON array
-- behind   the org that was served last, where many were served: the walk over orgs begins behind it
-- offered  the ids of the jobs that are offered already
-- most     how many jobs are wanted at most
WITH RECURSIVE
-- The priorities that due jobs have, by stage.
level AS (
    SELECT open.stage, (
        SELECT job.priority FROM document_processing_jobs AS job
        WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = open.stage
        ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
    ) AS priority
    FROM jsonb_array_elements_text(CAST(:stages AS jsonb)) AS open (stage)
    WHERE CAST(:most AS int) > 0
    UNION ALL
    SELECT level.stage, (
        SELECT job.priority FROM document_processing_jobs AS job
        WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = level.stage
            AND job.priority > level.priority
        ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
    )
    FROM level WHERE level.priority IS NOT NULL
),
-- The orgs that have due jobs, at most 64 of them on each side of :behind.
line AS MATERIALIZED (
    SELECT level.stage, level.priority, org.org_id FROM level
    CROSS JOIN (
        VALUES (CAST(:behind AS uuid), CAST('ffffffff-ffff-ffff-ffff-ffffffffffff' AS uuid)),
            (CAST('00000000-0000-0000-0000-000000000000' AS uuid), CAST(:behind AS uuid))
    ) AS side (above, last)
    CROSS JOIN LATERAL (
        WITH RECURSIVE org AS (
            (
                SELECT job.org_id FROM document_processing_jobs AS job
                WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = level.stage
                    AND job.priority = level.priority AND job.org_id > side.above AND job.org_id <= side.last
                ORDER BY job.stage, job.priority, job.org_id LIMIT 1
            )
            UNION ALL
            SELECT next.org_id FROM org CROSS JOIN LATERAL (
                SELECT job.org_id FROM document_processing_jobs AS job
                WHERE job.status = 'PENDING' AND job.wakes_at IS NULL AND job.stage = level.stage
                    AND job.priority = level.priority AND job.org_id > org.org_id AND job.org_id <= side.last
                ORDER BY job.stage, job.priority, job.org_id LIMIT 1
            ) AS next
        )
        SELECT org_id FROM org LIMIT 64
    ) AS org
),
-- How many jobs each org runs, in the whole installation.
running AS MATERIALIZED (
    SELECT job.org_id, count(*) AS seats FROM document_processing_jobs AS job
    WHERE job.status = 'PROCESSING' AND CAST(:most AS int) > 0 GROUP BY job.org_id
)
SELECT false AS is_offered, job.id, job.stage, job.priority, job.org_id, job.document_id, job.available_at,
    coalesce(running.seats, 0) AS seats
FROM line
CROSS JOIN LATERAL (
    SELECT due.id, due.stage, due.priority, due.org_id, due.document_id, due.available_at
    FROM document_processing_jobs AS due
    WHERE due.status = 'PENDING' AND due.wakes_at IS NULL
        AND due.stage = line.stage AND due.priority = line.priority AND due.org_id = line.org_id
        AND due.id <> ALL (CAST(:offered AS uuid[]))
    ORDER BY due.stage, due.priority, due.org_id, due.available_at, due.id
    -- Of many orgs fewer each, so that the answer stays short; the rest comes with the next round.
    LIMIT (SELECT greatest(1, least(CAST(:most AS int), 4000 / greatest(1, count(*)))) FROM line)
) AS job
LEFT JOIN running ON running.org_id = job.org_id
UNION ALL
SELECT true, job.id, job.stage, job.priority, job.org_id, job.document_id, job.available_at, 0
FROM unnest(CAST(:offered AS uuid[])) AS named (id)
JOIN document_processing_jobs AS job ON job.id = named.id
WHERE job.status = 'PENDING' AND job.wakes_at IS NULL
