"""The lease of a source: one process at a time polls it, and whoever lost the lease writes nothing more."""

import os
import socket
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, func, or_, select, update
from sqlalchemy.orm import Session

from webapp.clock import after, monotonic, new_id, now
from webapp.db import reading, session, transaction
from webapp.documents.source_model import Source, SourceItem

LEASE_SECONDS = 120.0
_CANDIDATES = 50
_sources, _items = cast(Table, Source.__table__), cast(Table, SourceItem.__table__)


class SourceLeaseLost(Exception):
    """Another process polls the source by now, or it was paused or deleted. What was being written is rolled back."""


class SourceLease:
    """The right to poll a source; `source` is as it was when the lease began."""

    def __init__(self, source: Source, lease_id: UUID) -> None:
        self.source = source
        self.id = lease_id
        self._extended_at = monotonic()

    @property
    def org_id(self) -> UUID:
        """Whose source it is."""
        return self.source.org_id

    def extend(self) -> None:
        """In the open transaction: make sure that the lease is still ours, and extend it. SourceLeaseLost."""
        s = _sources.c
        # By the id of the lease alone: late is not lost, as long as nobody else came.
        ours = update(_sources).where(s.id == self.source.id, s.lease_id == self.id)
        changed: Any = session().execute(ours.values(lease_until=after(LEASE_SECONDS), updated_at=s.updated_at))
        if changed.rowcount != 1:
            raise SourceLeaseLost
        self._extended_at = monotonic()

    def keep(self) -> None:
        """Extend it in good time, where long work writes nothing. SourceLeaseLost."""
        if monotonic() - self._extended_at > LEASE_SECONDS / 4:
            with transaction(self.org_id):
                self.extend()


def claim(may_poll: Callable[[Source], bool]) -> SourceLease | None:
    """The lease of the source that has been due longest, of those that this process may poll; None where none is."""
    # Those that no process may poll stay due, and stand before all others: so it is looked behind them.
    for start in count(0, _CANDIDATES):
        found = _due(start)
        for source in found:
            if may_poll(source) and (lease := _claim(source)):
                return lease
        if len(found) < _CANDIDATES:
            break
    return None


def _due(start: int) -> Sequence[Source]:
    s = Source
    with reading(everywhere=True) as opened:
        asked = select(s).where(_is_due()).order_by(s.next_poll_at, s.id)
        return opened.scalars(asked.offset(start).limit(_CANDIDATES)).all()


def _claim(source: Source) -> SourceLease | None:
    lease_id = new_id()
    with transaction(source.org_id):
        values = {
            "lease_id": lease_id,
            "lease_by": f"{socket.gethostname()}:{os.getpid()}"[:100],
            "lease_until": after(LEASE_SECONDS),
            # Now, so that a source at whose poll a process dies does not stand before all others.
            "next_poll_at": after(float(source.interval_seconds)),
            "updated_at": _sources.c.updated_at,
        }
        changed: Any = session().execute(update(_sources).where(_sources.c.id == source.id, _is_due()).values(**values))
    return SourceLease(source, lease_id) if changed.rowcount == 1 else None


def _is_due() -> ColumnElement[bool]:
    s = _sources.c
    is_free = or_(s.lease_until.is_(None), s.lease_until < now())
    return and_(s.is_on.is_(True), s.next_poll_at <= now(), is_free)


@contextmanager
def held(lease: SourceLease) -> Iterator[Session]:
    """A transaction under the lease; SourceLeaseLost, and nothing is written, where it is lost."""
    with transaction(lease.org_id) as opened:
        lease.extend()
        yield opened


def release(lease: SourceLease, trouble: str | None, mark: dict[str, Any] | None, next_seconds: float) -> None:
    """End a poll: note when it was and how it went, and when the next one is due."""
    s, i = _sources.c, _items.c
    with held(lease) as opened:
        waiting = select(func.min(i.next_try_at)).where(
            i.org_id == lease.org_id, i.source_id == lease.source.id, i.state == "waiting", i.unneeded_at.is_(None)
        )
        first = opened.scalar(waiting) if trouble is None else None
        values: dict[str, Any] = {"lease_id": None, "lease_by": None, "lease_until": None, "last_error": trouble}
        values |= {"last_poll_at": now(), "updated_at": s.updated_at, "next_poll_at": after(next_seconds)}
        if mark is not None:
            values["mark"] = mark
        opened.execute(update(_sources).where(s.id == lease.source.id).values(**values))
        if first is not None:
            # What became still, or is to be tried again, does not wait for the next turn.
            sooner = update(_sources).where(s.id == lease.source.id, s.next_poll_at > first, s.next_poll_at > now())
            opened.execute(sooner.values(next_poll_at=first, updated_at=s.updated_at))
