"""Sources are made, changed, paused, polled at once and deleted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, delete, func, insert, select, true, update

from webapp.clock import new_id, now, utc_now
from webapp.db import session
from webapp.documents.source_model import Source
from webapp.library.sources.trouble import SourceTrouble

SOURCES_MAX = 50
NAME_CHARACTERS_MAX = 100
INTERVAL_LEAST, INTERVAL_MOST, INTERVAL_USUAL = 10, 86_400, 60
OVERDUE_SECONDS = 600.0
_sources = cast(Table, Source.__table__)


class TooManySources(ValueError):
    """An org has SOURCES_MAX sources."""


def of_org(org_id: UUID) -> Sequence[Source]:
    """The sources of an org, by their names."""
    return session().scalars(select(Source).where(Source.org_id == org_id).order_by(Source.name, Source.id)).all()


def find(org_id: UUID, source_id: UUID) -> Source | None:
    """A source; None where there is none."""
    return session().scalar(select(Source).where(Source.org_id == org_id, Source.id == source_id))


def trouble(source: Any) -> str | None:
    """What is wrong with a source, as a code: its last poll ended early, or no process polls it."""
    at = utc_now()
    is_polled = source.lease_until is not None and source.lease_until > at
    is_overdue = at - source.next_poll_at > timedelta(seconds=OVERDUE_SECONDS)
    if source.is_on and is_overdue and not is_polled:
        return SourceTrouble.NOT_POLLED
    return cast("str | None", source.last_error)


@dataclass(frozen=True)
class SourcesSummary:
    """How the sources do: how many are on, when one was polled last, and the names of those in trouble."""

    on: int
    paused: int
    last_poll_at: datetime | None
    in_trouble: tuple[str, ...]


def summary(org_id: UUID | None = None) -> SourcesSummary | None:
    """Of an org, or of all; None where there are no sources."""
    s = _sources.c
    rows = (
        session()
        .execute(
            select(s.name, s.is_on, s.last_poll_at, s.next_poll_at, s.lease_until, s.last_error).where(
                true() if org_id is None else s.org_id == org_id
            )
        )
        .all()
    )
    if not rows:
        return None
    on = [row for row in rows if row.is_on]
    polls = [row.last_poll_at for row in rows if row.last_poll_at]
    in_trouble = tuple(sorted(row.name for row in on if trouble(row)))
    return SourcesSummary(len(on), len(rows) - len(on), max(polls, default=None), in_trouble)


def add(org_id: UUID, values: Mapping[str, Any], by: str) -> UUID:
    """Make a source; it is polled at once. TooManySources."""
    number = session().scalar(select(func.count()).select_from(_sources).where(_sources.c.org_id == org_id)) or 0
    if number >= SOURCES_MAX:
        raise TooManySources
    # The id is given where a secret was sealed for it.
    row = {"id": new_id(), "org_id": org_id, "created_by": by, **values}
    session().execute(insert(_sources), row)
    return cast(UUID, row["id"])


def change(org_id: UUID, source_id: UUID, values: Mapping[str, Any]) -> None:
    """Let a source be otherwise. A poll that goes on ends, for it knows the source as it was."""
    own = update(_sources).where(_sources.c.org_id == org_id, _sources.c.id == source_id)
    free = {"lease_id": None, "lease_by": None, "lease_until": None, "next_poll_at": now()}
    session().execute(own.values(**free, **values))


def poll_soon(org_id: UUID, source_id: UUID) -> None:
    """Let a source be polled as soon as a process looks."""
    own = update(_sources).where(_sources.c.org_id == org_id, _sources.c.id == source_id)
    session().execute(own.values(next_poll_at=now(), updated_at=_sources.c.updated_at))


def remove(org_id: UUID, source_id: UUID) -> None:
    """Delete a source with its ledger; what it took stays in the library."""
    session().execute(delete(_sources).where(_sources.c.org_id == org_id, _sources.c.id == source_id))
