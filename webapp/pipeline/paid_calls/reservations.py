"""Reservations of paid answers: during a call no other job of the org pays for the same answer.

A reservation is committed under the job's lease before the call is made. It is the ledger's open line: one transaction
removes it and writes the line with the same id, so every call is in the ledger once.

It lasts as long as its job's lease. When the job has another lease or is PENDING again, the reservation is dead.
When the run was ended from outside, or the worker sends no heartbeat, the answer may still come: others wait until
`ends_at`. A job that needs the answer of a dead reservation takes it over, and the first call is booked as unknown.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Table, and_, case, delete, exists, func, select
from sqlalchemy.dialects import postgresql

from webapp.clock import after, new_id, now
from webapp.db import reading, session
from webapp.documents.ledger_model import CallReservation
from webapp.jobs.model import Job
from webapp.jobs.states import JobStatus
from webapp.pipeline.paid_calls.call_times import MARGIN_SECONDS
from webapp.pipeline.paid_calls.gates import before_paid_call
from webapp.pipeline.paid_calls.ledger import LedgerLine, add_line
from webapp.pipeline.paid_calls.prices import FREE, Prices
from webapp.pipeline.paid_calls.until_stored import until_stored
from webapp.pipeline.steps import StageContext

_rows = cast(Table, CallReservation.__table__)
_jobs = cast(Table, Job.__table__)
_OF_A_LINE = _rows.c["call_id", "org_id", "run_id", "provider", "operation", "units", "price"]


@dataclass(frozen=True)
class Call:
    """A call that may be made, and the keys of the answers that it reserves."""

    id: UUID
    keys: tuple[str, ...]


@dataclass(frozen=True)
class Wanted:
    """The answers that a job needs, by key: a key is everything that decides an answer."""

    provider: str
    operation: str
    units: Mapping[str, int]
    timeout_seconds: float | None = None
    """How long the call may take, where that is not PROVIDER_TIMEOUT_SECONDS."""
    known: Callable[[Collection[str]], Collection[str]] = field(default=lambda keys: ())
    """Which of these answers are in the database; called once more after they are reserved."""


def is_paid(provider: str) -> bool:
    """Whether a provider's calls cost money: those of this machine don't."""
    return provider != FREE


def reserve(context: StageContext, wanted: Wanted) -> Call | None:
    """Reserve those answers that no other call has reserved; None where there are none. LeaseLost; Waits.

    Look for the answers again afterwards: one may have come between the last look and the reservation.
    """
    before_paid_call(context, wanted.provider)
    call_id, lease, times = new_id(), context.lease, context.times
    holder = {"call_id": call_id, "job_id": lease.job_id, "lease_id": lease.lease_id, "run_id": context.run_id}
    seconds = times.call_seconds if wanted.timeout_seconds is None else wanted.timeout_seconds

    def add() -> tuple[str, ...]:
        with context.transaction():
            return _reserve(context.org_id, wanted, holder, context.prices, seconds, times.silent_seconds)

    context.has_paid = True
    keys = until_stored(context, add)
    return Call(call_id, keys) if keys else None


def reserve_without_job(org_id: UUID, wanted: Wanted, prices: Prices, seconds: float) -> Call | None:
    """Reserve for a call without a job, in the caller's transaction: only its time ends the reservation."""
    call_id = new_id()
    keys = _reserve(org_id, wanted, {"call_id": call_id}, prices, seconds, silent_seconds=0.0)
    return Call(call_id, keys) if keys else None


def _reserve(
    org_id: UUID, wanted: Wanted, holder: Mapping[str, UUID], prices: Prices, seconds: float, silent_seconds: float
) -> tuple[str, ...]:
    # Sorted, so that two jobs with the same keys can't deadlock.
    rows: dict[str, dict[str, Any]] = {
        key: {
            "org_id": org_id,
            "key": key,
            **holder,
            "provider": wanted.provider,
            "operation": wanted.operation,
            "units": units,
            "price": prices.of_units(wanted.provider, wanted.operation, units),
        }
        for key, units in sorted(wanted.units.items())
    }
    ours = _insert(list(rows.values()), seconds)
    others = [row for key, row in rows.items() if key not in ours]
    if others and _end_dead(silent_seconds, _of_keys(org_id, rows.keys() - ours), "unknown"):
        ours = _insert(others, seconds)
    if known := wanted.known(ours):
        session().execute(delete(_rows).where(_rows.c.call_id == holder["call_id"], _rows.c.key.in_(known)))
    return tuple(key for key in rows if key in ours and key not in known)


def _insert(rows: Sequence[Mapping[str, Any]], seconds: float) -> set[str]:
    """Insert what no other call has reserved; returns all keys of this call."""
    add = postgresql.insert(_rows).values(ends_at=after(seconds + MARGIN_SECONDS))
    session().execute(add.on_conflict_do_nothing(), rows)
    return set(session().scalars(select(_rows.c.key).where(_rows.c.call_id == rows[0]["call_id"])))


def close(call_id: UUID, outcome: str | None, seconds: float = 0.0) -> None:
    """End a call's reservations and write its ledger line; no line where it was refused, or ended before."""
    _end(_rows.c.call_id == call_id, outcome, seconds)


def end_found(context: StageContext, keys: Collection[str]) -> None:
    """End the reservations of answers that exist: their process died before it wrote the ledger line."""
    of_keys, silent_seconds = _of_keys(context.org_id, keys), context.times.silent_seconds
    with reading(context.org_id):
        is_open = (
            session().scalar(select(_rows.c.call_id).where(of_keys, _is_dead(silent_seconds)).limit(1)) is not None
        )
    if is_open:
        with context.transaction():
            _end_dead(silent_seconds, of_keys, "ok")


@dataclass(frozen=True)
class Lost:
    """A call whose answer will not come, and one of its keys."""

    call_id: UUID
    org_id: UUID
    key: str


def lost(silent_seconds: float, limit: int = 100) -> list[Lost]:
    """Calls whose process is gone, or has been silent for longer than the call may take."""
    found = select(_rows.c.call_id, _rows.c.org_id, func.min(_rows.c.key))
    found = found.where(_rows.c.ends_at < now(), _is_dead(silent_seconds)).group_by(_rows.c.call_id, _rows.c.org_id)
    return [Lost(*row) for row in session().execute(found.limit(limit))]


def _call_of(row: Row[*tuple[Any, ...]]) -> UUID:
    return cast(UUID, row.call_id)


def _of_keys(org_id: UUID, keys: Iterable[str]) -> ColumnElement[bool]:
    return and_(_rows.c.org_id == org_id, _rows.c.key.in_(list(keys)))


def _is_dead(silent_seconds: float) -> ColumnElement[bool]:
    own = _jobs.c.id == _rows.c.job_id
    is_held = exists().where(own, _jobs.c.lease_id == _rows.c.lease_id, _jobs.c.heartbeat_at > after(-silent_seconds))
    is_live = _jobs.c.status.in_((JobStatus.PENDING, JobStatus.PROCESSING))
    went_on = exists().where(own, is_live, _jobs.c.lease_id.is_distinct_from(_rows.c.lease_id))
    return case((_rows.c.ends_at < now(), ~is_held), else_=went_on)


def _end_dead(silent_seconds: float, condition: ColumnElement[bool], outcome: str) -> int:
    dead = select(_rows.c.call_id).where(condition, _is_dead(silent_seconds))
    return _end(_rows.c.call_id.in_(dead), outcome)


def _end(condition: ColumnElement[bool], outcome: str | None, seconds: float = 0.0) -> int:
    """Remove all reservations of some calls and write a line for each; how many calls those were."""
    rows = sorted(session().execute(delete(_rows).where(condition).returning(*_OF_A_LINE)), key=_call_of)
    calls = [list(of_call) for _, of_call in groupby(rows, _call_of)]
    if outcome is not None:
        for call in calls:
            if call[0].provider == FREE and outcome == "unknown":
                # Lost work of this machine costs nothing.
                continue
            units, price = sum(row.units for row in call), sum(row.price for row in call)
            line = LedgerLine(call[0].provider, call[0].operation, units, price, seconds, outcome)
            add_line(call[0].org_id, line, run_id=call[0].run_id, line_id=call[0].call_id)
    return len(calls)
