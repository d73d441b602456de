"""The lines of due jobs on PostgreSQL: how a statement jumps from one to the next, and whether any job is due.

Whoever looks at something else anyway can see in passing whether there is work, and so saves others a claim.
"""

from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.model import DUE

_NEXT = f"""
SELECT job.stage, job.priority, job.org_id, job.available_at, job.id FROM document_processing_jobs job
WHERE {DUE} AND {{after}} ORDER BY job.stage, job.priority, job.org_id, job.available_at, job.id LIMIT 1
"""


def lines(*, begins_if: str, is_closed: str, joined: str = "") -> str:
    """A recursive table `line` of their heads; of a stage that is closed only the first, however long its lines are."""
    beyond = f"""(job.stage, job.priority, job.org_id) > (
        line.stage,
        CASE WHEN {is_closed} THEN 2147483647 ELSE line.priority END,
        CASE WHEN {is_closed} THEN 'ffffffff-ffff-ffff-ffff-ffffffffffff' ELSE line.org_id END
    )"""
    return f"""
    line AS (
        ({_NEXT.format(after=begins_if)})
        UNION ALL
        SELECT next.* FROM line {joined} CROSS JOIN LATERAL ({_NEXT.format(after=beyond)}) next
    )
    """


_IS_PAUSED = f"""
EXISTS (SELECT FROM stage_controls control WHERE control.paused AND control.stage IN (line.stage, '{EVERY_STAGE}'))
"""
# A stage that is limited or slowed counts as open: only a claim can tell what may be taken of it.
IS_DUE = f"""
WITH RECURSIVE {lines(begins_if="true", is_closed=_IS_PAUSED)}
SELECT EXISTS (SELECT FROM line WHERE line.available_at <= statement_timestamp() AND NOT {_IS_PAUSED})
"""
