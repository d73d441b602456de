"""Whether any job could be claimed now: for whoever looks at something else anyway, and so saves others a claim.

PostgreSQL's alone: elsewhere the one process that works claims for itself.
"""

from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.model import DUE

_RESTS = f"""
EXISTS (SELECT FROM stage_controls control WHERE control.paused AND control.stage IN (line.stage, '{EVERY_STAGE}'))
"""
_NEXT_LINE = f"""
SELECT job.stage, job.priority, job.org_id, job.available_at FROM document_processing_jobs job
WHERE {DUE} AND {{after}} ORDER BY job.stage, job.priority, job.org_id, job.available_at LIMIT 1
"""  # noqa: S608 - of our own constants, as all of it
# From line to line of the index, as a claim does it: however long the lines are, each costs one step, and so does a
# paused stage. A stage that is limited or slowed counts as open: only a claim can tell what may be taken of it.
IS_DUE = f"""
WITH RECURSIVE line AS (
    ({_NEXT_LINE.format(after="true")})
    UNION ALL
    SELECT next.* FROM line CROSS JOIN LATERAL ({
    _NEXT_LINE.format(
        after=f'''(job.stage, job.priority, job.org_id) > (
            line.stage,
            CASE WHEN {_RESTS} THEN 2147483647 ELSE line.priority END,
            CASE WHEN {_RESTS} THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE line.org_id END
        )'''
    )
}) next
)
SELECT EXISTS (SELECT FROM line WHERE line.available_at <= statement_timestamp() AND NOT {_RESTS})
"""  # noqa: S608
