"""The claim: which due jobs a worker gets, and the start of their runs, in one transaction."""

import json
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import fields
from enum import StrEnum
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Connection, Float, Row, Table, Text, Uuid, bindparam, column, func, select, text, update
from sqlalchemy.exc import IntegrityError

from webapp.clock import after, new_id, now
from webapp.db import ask_postgresql, transaction
from webapp.documents import events
from webapp.documents.model import ProcessingRun
from webapp.documents.states import EventKind, LiveRun, RunState
from webapp.jobs import control_statements, model
from webapp.jobs.controls import EVERY_STAGE, with_defaults
from webapp.jobs.queue import Lease
from webapp.jobs.statements import LEASE_COLUMNS
from webapp.jobs.states import JobStatus

# For so many orgs a worker remembers when it last served them; any other org goes first.
_ORGS_REMEMBERED = 256
# The claim looks at 128 orgs at most. With more than this, it begins after the org that was served last.
_MANY_ORGS = 64
NO_ORG, _LAST_ORG = UUID(int=0), UUID(int=2**128 - 1)


class JobDecision(StrEnum):
    """What the claim does with the job that it has chosen."""

    STARTS = "STARTS"
    """The job is claimed, and its run starts."""
    GOES_ON = "GOES_ON"
    """The job is claimed; its run is RUNNING or SUCCEEDED already, or it belongs to an operation."""
    WAITS = "WAITS"
    """Another run of its document comes first: the job is due again a second later."""
    ENDED = "ENDED"
    """The job is CANCELLED, since its run has ended."""


class Turns:
    """When each org was last served, by number. Safe to use from many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._last: dict[UUID, int] = {}

    def known(self, seats: Mapping[UUID, int], only: UUID | None = None) -> dict[str, Any]:
        """For the claim: which orgs, each one's seats in this worker, and when it was last served."""
        if only is not None:
            above = UUID(int=only.int - 1)
            return {"orgs": "{}", "behind": above, "above": above, "last": only}
        turns = self.all()
        known = {org.hex: [seats.get(org, 0), turns.get(org, 0)] for org in {*turns, *seats}}
        return {"orgs": json.dumps(known), "behind": self.behind(), "above": NO_ORG, "last": _LAST_ORG}

    def behind(self) -> UUID:
        """The org served last, where many were served: a walk over orgs begins behind it."""
        turns = self.all()
        return next(reversed(turns)) if len(turns) >= _MANY_ORGS else NO_ORG

    def all(self) -> dict[UUID, int]:
        """The last turn of each org that is remembered, the oldest first."""
        with self._lock:
            return dict(self._last)

    def note(self, org_id: UUID) -> None:
        """The org is served now."""
        with self._lock:
            turn = max(self._last.values(), default=0) + 1
            self._last.pop(org_id, None)
            self._last[org_id] = turn
            while len(self._last) > _ORGS_REMEMBERED:
                del self._last[next(iter(self._last))]


class Claims:
    """Claims jobs for the workers of this process. Safe to use from many threads."""

    def __init__(self, stage_limits: Mapping[str, int]) -> None:
        self._stage_limits = dict(stage_limits)
        self._turns = Turns()

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        seats: Mapping[UUID, int] | None = None,
        stages: Collection[str] | None = None,
        org_id: UUID | None = None,
        among: Collection[UUID] | None = None,
    ) -> list[Lease]:
        """Claim up to `limit` jobs, one by one; `seats`: how many jobs of each org this worker runs already."""
        has_failed = False
        chosen = None if among is None else list(among)
        while True:
            own, taken = Counter(seats or {}), list[Lease]()
            try:
                with transaction(everywhere=True, fixed_plans=True) as session:
                    connection = session.connection()
                    free = free_slots(connection, self._stage_limits, stages, are_due=among is not None)
                    while free and len(taken) < limit:
                        more = {**self._turns.known(own, org_id), "among": chosen}
                        row = _claim_next(connection, worker, free, more)
                        if row is None:
                            break
                        if row.outcome in {JobDecision.STARTS, JobDecision.GOES_ON}:
                            taken.append(lease := lease_of(row))
                            own[lease.org_id] += 1
                            _use_slot(free, lease.stage)
                            self._turns.note(lease.org_id)
                return taken
            except IntegrityError:
                # Another run of the same document started at this moment; the second try finds it running.
                if has_failed:
                    raise
                has_failed = True


def lease_of(row: Row[*tuple[Any, ...]]) -> Lease:
    """A lease, from a row that begins with LEASE_COLUMNS and has no more columns than a claim's."""
    values: tuple[Any, ...] = tuple(row)
    of_lease: tuple[Any, ...] = (*values[:3], run_of(row), *values[5 : len(fields(Lease)) + 1])
    return Lease(*of_lease)


def run_of(row: Row[*tuple[Any, ...]]) -> LiveRun | None:
    """The run of a job; None for an operation's job."""
    return None if row.run_id is None else LiveRun(row.run_id, row.org_id, row.document_id)


def free_slots(
    connection: Connection,
    stage_limits: Mapping[str, int],
    stages: Collection[str] | None = None,
    *,
    are_due: bool = False,
    locks: bool = True,
) -> dict[str, int | None]:
    """The stages with due jobs that may be claimed from, and how many more jobs of each may run; None: no limit.

    With `are_due`, `stages` are known to have due jobs. In a claim, jobs of a limited stage are counted under a lock;
    else two workers could both take the last slot. A transaction that only reads takes none.
    """
    if stages is not None and are_due:
        due, stored = list(stages), control_statements.read(connection)
    else:
        due, stored = control_statements.due_stages(connection)
    controls = with_defaults(stored, stage_limits)
    if EVERY_STAGE in controls and controls[EVERY_STAGE].is_paused:
        return {}
    allowed = {
        stage: controls[stage].allowance() if stage in controls else None
        for stage in due
        if stages is None or stage in stages
    }
    limited = [stage for stage, most in allowed.items() if most]
    if limited:
        if locks:
            ask_postgresql(_LOCK_LIMITS)
        running = control_statements.running(connection, limited)
        allowed |= {stage: cast(int, allowed[stage]) - running.get(stage, 0) for stage in limited}
    return {stage: most for stage, most in allowed.items() if most is None or most > 0}


def _use_slot(free: dict[str, int | None], stage: str) -> None:
    left = free[stage]
    if left is not None:
        free[stage] = left - 1
        if left == 1:
            del free[stage]


def _claim_next(
    connection: Connection, worker: str, stages: Collection[str], more: Mapping[str, Any]
) -> Row[Any] | None:
    values = {"stages": json.dumps(list(stages)), "lease_id": new_id(), **more}
    if connection.dialect.name == "postgresql":
        own = {"worker": worker, "event_id": new_id()}
        return connection.execute(_CLAIM_ON_POSTGRESQL, {**values, **own}).one_or_none()
    if more["among"] is not None:
        raise ValueError("only PostgreSQL's claim can be narrowed to some jobs")
    row = connection.execute(_CHOOSE_ON_SQLITE, values).one_or_none()
    if row is not None:
        _write_decision(connection, worker, row)
    return row


def _write_decision(connection: Connection, worker: str, row: Row[Any]) -> None:
    """On SQLite: do what claim_postgresql.sql does in its one statement."""
    match JobDecision(row.outcome):
        case JobDecision.WAITS:
            values: dict[str, Any] = {"wakes_at": after(1)}
        case JobDecision.ENDED:
            values = {"status": JobStatus.CANCELLED, "completed_at": now(), "sealed_password": None}
        case decision:
            lease = {"lease_id": row.lease_id, "locked_by": worker, "started_at": now(), "heartbeat_at": now()}
            values = {"status": JobStatus.PROCESSING, **lease}
            if decision is JobDecision.STARTS:
                started = update(_runs).where(_runs.c.id == row.run_id)
                connection.execute(started.values(state=RunState.RUNNING, started_at=now()))
                events.record(row.org_id, row.document_id, row.run_id, EventKind.RUN_STARTED)
    connection.execute(update(_jobs).where(_jobs.c.id == row.id).values(updated_at=now(), **values))


_jobs, _runs = cast(Table, model.Job.__table__), cast(Table, ProcessingRun.__table__)


_OF_DECISION = (column("run_seconds", Float), column("content_type", Text), column("outcome", Text))


_IDS = ("lease_id", "event_id", "behind", "above", "last")


def _statement(name: str) -> Any:
    """A claim's SQL text, with the types of its parameters and columns (those of a lease, and the decision)."""
    written = text((Path(__file__).parent / f"{name}.sql").read_text())
    ids = [bindparam(each, type_=Uuid()) for each in _IDS if f":{each}" in written.text]
    return written.bindparams(*ids).columns(*LEASE_COLUMNS, *_OF_DECISION)


_CLAIM_ON_POSTGRESQL, _CHOOSE_ON_SQLITE = _statement("claim_postgresql"), _statement("claim_sqlite")
# A worker that freezes while it has this lock blocks all others, so its session is ended sooner than elsewhere.
_LOCK_LIMITS = select(
    func.set_config("idle_in_transaction_session_timeout", "5s", True),
    func.set_config("lock_timeout", "10s", True),
    func.pg_advisory_xact_lock(func.hashtext("docmill stage limits")),
)
