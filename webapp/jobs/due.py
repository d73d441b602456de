"""The lines of due jobs on PostgreSQL: how a statement jumps from one to the next, and whether any job is due.

Whoever looks at something else anyway can see in passing whether there is work, and so saves others a claim.
"""

from collections.abc import Mapping
from typing import Any

from webapp.jobs.controls import EVERY_STAGE, RECOVERED_AT, RECOVERY_SECONDS
from webapp.jobs.model import DUE, LEASED

FIRST_ORG = "00000000-0000-0000-0000-000000000000"
HEAD = "job.stage, job.priority, job.org_id, job.available_at, job.id"


def lines(*, begins_if: str, is_closed: str, behind: str, most: str, joined: str = "") -> str:
    """A recursive table `line` of their heads, and of each its place.

    Of a stage and a priority the orgs form a ring: it is walked from behind one of them, until `most` lines were met
    that are due. Those have places from 1; one that is only met on the way there has none. Lines whose time has not
    come are passed by, however many, or they would hide what is due behind them. Of a closed stage there is one line.
    """
    may_go_on = f"({is_closed}) IS NOT TRUE AND line.place < {most} AND {_IN_RING}"
    further = f"NOT line.is_round AND job.org_id > greatest({behind}, line.org_id)"
    round_it = (
        f"job.org_id <= {behind} AND job.org_id > CASE WHEN line.is_round THEN line.org_id ELSE '{FIRST_ORG}' END"
    )
    last_priority = f"CASE WHEN {is_closed} THEN 2147483647 ELSE line.priority END"
    first_place = f"CASE WHEN job.org_id > {behind} AND {_COMES_NOW} THEN 1 ELSE 0 END"
    next_place = f"CASE WHEN {_COMES_NOW} THEN line.place + 1 ELSE line.place END"
    # Of these three the first that there is: further on in the ring, its beginning, the next ring.
    return f"""
    line AS (
        ({_next(begins_if, first_place)})
        UNION ALL
        SELECT next.* FROM line {joined} CROSS JOIN LATERAL (
            ({_next(f"{may_go_on} AND {further}", next_place)})
            UNION ALL
            ({_next(f"{may_go_on} AND {round_it}", next_place, is_round="true")})
            UNION ALL
            ({_next(f"(job.stage, job.priority) > (line.stage, {last_priority})", first_place)})
            LIMIT 1
        ) next
    )
    """


_COMES_NOW = "job.available_at <= statement_timestamp()"
_IN_RING = "job.stage = line.stage AND job.priority = line.priority"


def _next(condition: str, place: str, *, is_round: str = "false") -> str:
    return f"""
    SELECT {HEAD}, {place} AS place, {is_round} AS is_round FROM document_processing_jobs job
    WHERE {DUE} AND {condition} ORDER BY {HEAD} LIMIT 1
    """


# How many jobs may be at work, step by step, after a provider asked for patience: see `StageControl.slow_limit`.
_STEPS = f"floor(extract(epoch FROM statement_timestamp() - slowed_until) / {RECOVERY_SECONDS})"
_SLOW_LIMIT = f"CASE WHEN {_STEPS} < {RECOVERED_AT.bit_length() - 1} THEN power(2, {_STEPS}) END"
_AT_WORK = f"SELECT count(*) FROM document_processing_jobs job WHERE job.{LEASED} AND job.stage = said.stage"
# As a claim sees them, but counted without its lock: to be wrong for a moment costs a claim or a look more. Of all
# stages together nothing counts but a pause.
_CLOSED = f"""
closed AS MATERIALIZED (
    SELECT said.stage FROM (
        SELECT stage, paused OR (stage <> '{EVERY_STAGE}' AND slowed_until > statement_timestamp()) AS is_at_rest,
            least(job_limit, CASE WHEN slowed_until <= statement_timestamp() THEN {_SLOW_LIMIT} END) AS most
        FROM stage_controls
        UNION ALL
        SELECT known.stage, false, known.number
        FROM unnest(CAST(:limited_stages AS text[]), CAST(:limits AS int[])) AS known (stage, number)
        WHERE NOT EXISTS (SELECT FROM stage_controls WHERE stage = known.stage AND job_limit IS NOT NULL)
    ) said
    WHERE said.is_at_rest OR (said.most IS NOT NULL AND said.most <= ({_AT_WORK}))
)
"""
_IS_CLOSED = f"EXISTS (SELECT FROM closed WHERE closed.stage IN (line.stage, '{EVERY_STAGE}'))"
IS_DUE = f"""
WITH RECURSIVE {_CLOSED},
{lines(begins_if="true", is_closed=_IS_CLOSED, behind=f"'{FIRST_ORG}'::uuid", most="2147483647")}
SELECT EXISTS (SELECT FROM line WHERE line.available_at <= statement_timestamp() AND NOT {_IS_CLOSED})
"""


def values(limits: Mapping[str, int]) -> dict[str, list[Any]]:
    """The parameters of IS_DUE: what the settings say of stages of which ops may have said nothing."""
    return {"limited_stages": list(limits), "limits": list(limits.values())}
