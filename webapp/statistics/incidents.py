"""Incidents: counted where they happen, by the hour, and read for alerts and monitors."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import cast

from sqlalchemy import Table, delete, select
from sqlalchemy.dialects import postgresql

from webapp.clock import after, now
from webapp.db import session
from webapp.statistics.model import Incident
from webapp.statistics.sql_time import beginning_of_hour

_incidents = cast(Table, Incident.__table__)
RECENT_SECONDS = 86_400
KEPT_SECONDS = 30 * 86_400
# Hours with so short a pause between them are one incident.
_PAUSE = timedelta(minutes=10)


class IncidentName(StrEnum):
    """What should not happen."""

    FOREIGN_KEY_VIOLATION = "foreign_key_violation"
    """The database refused a row that names another one that is not there; `subject` is the table."""
    JOB_TAKEN_BACK = "job_taken_back"
    """A job was taken back from a worker that died or was silent; `subject` is the code of the error."""
    PASSAGES_LOST = "passages_lost"
    """A new result has less than half of the passages of the one that it replaced; `number` counts passages."""
    RULES_FAILED = "rules_failed"
    """The rules of an org failed at a document, which was published without what they would have given it."""
    DISK_NEARLY_FULL = "disk_nearly_full"
    """A machine's disk for files is nearly full; `subject` is the host, `number` counts minutes."""


@dataclass(frozen=True)
class RecentIncident:
    """How often something happened to a subject in the last day, and since when without a long pause."""

    name: str
    subject: str
    number: int
    since: datetime
    last_at: datetime


def record(name: IncidentName, subject: str = "", number: int = 1) -> None:
    """Count an incident, in the open transaction."""
    row = postgresql.insert(_incidents).values(
        name=name, subject=subject, hour=beginning_of_hour(now()), number=number, first_at=now(), last_at=now()
    )
    # The clause is the same in both databases, and each compiles it.
    session().connection().execute(
        row.on_conflict_do_update(
            index_elements=["name", "subject", "hour"],
            set_={"number": _incidents.c.number + row.excluded.number, "last_at": row.excluded.last_at},
        )
    )


def recent() -> list[RecentIncident]:
    """The incidents of the last day: one for each name and subject."""
    rows = session().execute(
        select(_incidents)
        .where(_incidents.c.last_at >= after(-RECENT_SECONDS), _incidents.c.hour >= after(-RECENT_SECONDS - 3600))
        .order_by(_incidents.c.name, _incidents.c.subject, _incidents.c.hour)
    )
    found: dict[tuple[str, str], RecentIncident] = {}
    for row in rows:
        before = found.get((row.name, row.subject))
        goes_on = before is not None and row.first_at - before.last_at <= _PAUSE
        number = row.number + (before.number if before else 0)
        since = before.since if before and goes_on else row.first_at
        found[row.name, row.subject] = RecentIncident(row.name, row.subject, number, since, row.last_at)
    return list(found.values())


def total(found: Sequence[RecentIncident], name: IncidentName) -> int:
    """How often one kind of incident happened."""
    return sum(each.number for each in found if each.name == name)


def forget_old() -> None:
    """Delete what is older than anybody asks for."""
    session().connection().execute(delete(_incidents).where(_incidents.c.hour < after(-KEPT_SECONDS)))
