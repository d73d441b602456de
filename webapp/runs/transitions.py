"""The transitions of a run's state, and the status of its document, which follows from them.

Everything here happens inside the caller's transaction. What may race with another run of the same document first
locks that document's row; on SQLite the whole transaction is the lock. Each transition is one UPDATE that names the old
state: when it hits no row, somebody else was quicker, and nothing else is done.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from typing import cast
from uuid import UUID

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Exists,
    Select,
    Table,
    Uuid,
    and_,
    bindparam,
    case,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.sql.dml import ReturningUpdate

from webapp.clock import after, new_id, now
from webapp.db import session
from webapp.documents import events
from webapp.documents.binned import in_library
from webapp.documents.kinds import are_recordings
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import (
    QUIET_TRIGGERS,
    DocumentStatus,
    EventKind,
    FailureType,
    LiveRun,
    RunState,
    RunTrigger,
)

_LIVE = (RunState.QUEUED, RunState.RUNNING)
_ERROR_CHARACTERS_MAX = 2000
# The tables instead of their classes: the ORM takes longer than the database.
_runs, _documents = cast(Table, ProcessingRun.__table__), cast(Table, Document.__table__)
_ADD = insert(_runs)


class DocumentMissing(LookupError):
    """The document does not exist (any more)."""


@dataclass(frozen=True)
class NewRun:
    """A run that was just queued; `must_wait` while another run of its document is alive."""

    id: UUID
    must_wait: bool


@dataclass(frozen=True)
class Ended:
    """What follows the end of a run: the document's next queued run, if there is one, may start."""

    next_run_id: UUID | None
    next_created_at: datetime | None


def create(org_id: UUID, document_id: UUID, trigger: RunTrigger) -> NewRun:
    """Insert a run as QUEUED, which is always allowed; DocumentMissing."""
    lock(document_id, org_id)
    must_wait = session().scalar(select(_runs_of(document_id).where(ProcessingRun.state.in_(_LIVE)).exists()))
    run_id = _insert(org_id, document_id, trigger)
    _derive_status(document_id)
    return NewRun(run_id, must_wait=bool(must_wait))


def create_first(org_id: UUID, document_id: UUID) -> NewRun:
    """Insert an upload's run as QUEUED, in the transaction that inserts its document.

    No other transaction can see the document yet, so nothing is locked, waited for or derived.
    """
    return NewRun(_insert(org_id, document_id, RunTrigger.UPLOAD), must_wait=False)


def succeed(run_id: UUID) -> Ended | None:
    """RUNNING to SUCCEEDED: its result is what readers see from now on. None if it had ended before."""
    run = _lock_with_document(run_id)
    if run is None or not _move(run_id, RunState.RUNNING, RunState.SUCCEEDED):
        return None
    return _after_end(run, EventKind.RUN_SUCCEEDED, published_run_id=run_id)


def fail(run_id: UUID, failure_type: FailureType, code: str, message: str) -> Ended | None:
    """QUEUED or RUNNING to FAILED; `code` chooses the sentence that people read. None if it had ended before.

    From QUEUED only where its job was lost before it began; it would wait for ever.
    """
    run = _lock_with_document(run_id)
    error = message[:_ERROR_CHARACTERS_MAX]
    values = {"failure_type": failure_type, "failure_code": code, "error": error}
    if run is None or not any(_move(run_id, state, RunState.FAILED, **values) for state in _LIVE):
        return None
    return _after_end(run, EventKind.RUN_FAILED, {"failure_type": failure_type, "code": code})


def time_out(run_id: UUID) -> Ended | None:
    """RUNNING to TIMED_OUT. None if it had ended before."""
    run = _lock_with_document(run_id)
    if run is None or not _move(run_id, RunState.RUNNING, RunState.TIMED_OUT):
        return None
    return _after_end(run, EventKind.RUN_TIMED_OUT)


def cancel(run_id: UUID, by: str | None = None) -> Ended | None:
    """QUEUED or RUNNING to CANCELLED, by a person. None if it had ended before."""
    run = _lock_with_document(run_id)
    kind = FailureType.CANCELLED
    if run is None or not any(_move(run_id, state, RunState.CANCELLED, failure_type=kind) for state in _LIVE):
        return None
    return _after_end(run, EventKind.RUN_CANCELLED, {"by": by} if by else None)


def overdue(
    timeout_seconds: float,
    recording_timeout_seconds: float | None = None,
    limit: int = 100,
    *,
    beyond: UUID | None = None,
) -> list[LiveRun]:
    """The RUNNING runs that exceeded their time limit, by id: `limit` of them after the id `beyond`.

    Recordings may have a limit of their own.
    """
    longer = recording_timeout_seconds or timeout_seconds
    too_old = and_(ProcessingRun.started_at < after(-timeout_seconds), ~_is_of_recording())
    late = or_(too_old, and_(ProcessingRun.started_at < after(-longer), _is_of_recording()))
    return _running(late if beyond is None else and_(late, ProcessingRun.id > beyond), limit)


def restart_time(run_ids: Sequence[UUID]) -> None:
    """Restart the time limit of these runs: for a while no worker was allowed to claim their jobs."""
    live = update(ProcessingRun).where(ProcessingRun.id.in_(run_ids), ProcessingRun.state == RunState.RUNNING)
    session().execute(live.values(started_at=now()).execution_options(synchronize_session=False))


def extend_time(run_id: UUID, seconds: float) -> None:
    """Extend a run's time limit by the time that it had to wait."""
    started_at = session().scalar(
        select(ProcessingRun.started_at).where(ProcessingRun.id == run_id, ProcessingRun.state == RunState.RUNNING)
    )
    if started_at is not None:
        later = update(ProcessingRun).where(ProcessingRun.id == run_id, ProcessingRun.state == RunState.RUNNING)
        later = later.values(started_at=started_at + timedelta(seconds=seconds))
        session().execute(later.execution_options(synchronize_session=False))


def is_of(run_id: UUID, org_id: UUID, document_id: UUID) -> bool:
    """Whether the run is one of this document's."""
    found = _runs_of(document_id).where(ProcessingRun.id == run_id, ProcessingRun.org_id == org_id)
    return session().scalar(found) is not None


def running(limit: int = 100) -> list[LiveRun]:
    """The RUNNING runs of all orgs."""
    return _running(ProcessingRun.started_at.is_not(None), limit)


def state_of(run_id: UUID) -> RunState | None:
    """A run's state; None where it does not exist."""
    state = session().scalar(select(ProcessingRun.state).where(ProcessingRun.id == run_id))
    return None if state is None else RunState(state)


def newest_of(document_id: UUID) -> UUID | None:
    """The id of a document's newest run."""
    return session().scalar(_newest_first(_runs_of(document_id)).limit(1))


def in_a_row(document_id: UUID, trigger: RunTrigger) -> int:
    """How many of a document's newest runs in a row have this trigger."""
    others = select(func.max(ProcessingRun.created_at)).where(
        ProcessingRun.document_id == document_id, ProcessingRun.trigger != trigger
    )
    row = select(func.count()).where(
        ProcessingRun.document_id == document_id,
        ProcessingRun.trigger == trigger,
        ProcessingRun.created_at >= others.scalar_subquery(),
    )
    return session().scalar(row) or 0


def failures_of(document_id: UUID, trigger: RunTrigger, limit: int) -> list[str | None]:
    """How a document's last runs with this trigger failed, newest first; None for one that did not.

    A failure is named by its type. A run that exceeded its time limit has none, and is named by its state.
    """
    timed_out = case((ProcessingRun.state == RunState.TIMED_OUT, ProcessingRun.state))
    runs = select(func.coalesce(ProcessingRun.failure_type, timed_out)).where(
        ProcessingRun.document_id == document_id, ProcessingRun.trigger == trigger
    )
    newest_first = runs.order_by(ProcessingRun.created_at.desc(), ProcessingRun.id.desc())
    return list(session().scalars(newest_first.limit(limit)))


def trigger_after(run_id: UUID, usual: RunTrigger) -> RunTrigger:
    """The trigger of a run that goes on where this one ended: what follows a REREAD is one, too, and so on."""
    own = session().scalar(select(ProcessingRun.trigger).where(ProcessingRun.id == run_id))
    return RunTrigger(own) if own in QUIET_TRIGGERS else usual


def last_of_chain(run_id: UUID, document_id: UUID) -> UUID:
    """The run that goes on where this one reached its time limit, or the one that goes on after that; or itself."""
    since = select(ProcessingRun.created_at).where(ProcessingRun.id == run_id).scalar_subquery()
    later = select(ProcessingRun.id, ProcessingRun.trigger).where(
        ProcessingRun.document_id == document_id, ProcessingRun.created_at >= since, ProcessingRun.id != run_id
    )
    for later_id, trigger in session().execute(later.order_by(ProcessingRun.created_at, ProcessingRun.id)):
        if trigger != RunTrigger.CONTINUED:
            break
        run_id = later_id
    return run_id


def live_of(document_id: UUID) -> list[UUID]:
    """The runs of a document that have not ended, newest first."""
    return list(session().scalars(_newest_first(_runs_of(document_id).where(ProcessingRun.state.in_(_LIVE)))))


def content_type(org_id: UUID, document_id: UUID) -> str:
    """A document's content type; empty where there is no such document."""
    found = select(Document.content_type).where(Document.org_id == org_id, Document.id == document_id)
    return session().scalar(found) or ""


def lock(document_id: UUID, org_id: UUID | None = None) -> None:
    """Lock the document's row, as everybody does who queues runs or changes it; DocumentMissing, also in the bin."""
    if session().scalar(_LOCK_DOCUMENT, {"document": document_id, "org": org_id}) is None:
        raise DocumentMissing(f"document {document_id} does not exist")


def _insert(org_id: UUID, document_id: UUID, trigger: RunTrigger) -> UUID:
    run_id = new_id()
    values = {"id": run_id, "org_id": org_id, "document_id": document_id, "trigger": trigger}
    session().execute(_ADD, {"state": RunState.QUEUED, **values})
    events.record(org_id, document_id, run_id, EventKind.RUN_QUEUED, details={"trigger": trigger})
    return run_id


def _lock_with_document(run_id: UUID) -> LiveRun | None:
    row = session().execute(_LOCK, {"run": run_id}).one_or_none()
    return None if row is None else LiveRun(*row)


def _runs_of(document_id: UUID) -> Select[UUID]:
    return select(ProcessingRun.id).where(ProcessingRun.document_id == document_id)


def _newest_first(runs: Select[UUID]) -> Select[UUID]:
    return runs.order_by(ProcessingRun.created_at.desc(), ProcessingRun.id.desc())


def _move(run_id: UUID, old: RunState, new: RunState, **values: object) -> bool:
    """The one UPDATE of a transition."""
    row = {"run": run_id, "old": old, "new": new, **{f"to_{name}": value for name, value in values.items()}}
    return session().execute(_ending(*values), row).first() is not None


@cache
def _ending(*names: str) -> ReturningUpdate[UUID]:
    values = {"state": bindparam("new"), "finished_at": now(), **{name: bindparam(f"to_{name}") for name in names}}
    change = update(_runs).where(_runs.c.id == bindparam("run"), _runs.c.state == bindparam("old"))
    return change.values(values).returning(_runs.c.id)


def _after_end(
    run: LiveRun, kind: EventKind, details: dict[str, str] | None = None, *, published_run_id: UUID | None = None
) -> Ended:
    events.record(run.org_id, run.document_id, run.id, kind, details=details)
    return Ended(*_derive_status(run.document_id, published_run_id))


def _derive_status(document_id: UUID, publishing: UUID | None = None) -> tuple[UUID | None, datetime | None]:
    """Set a document's status by its newest run. Returns its next queued run, and when that was queued."""
    state, published, next_id, since = session().execute(_NEWEST_AND_NEXT_RUN, {"document": document_id}).one()
    status = status_for(RunState(state), has_result=bool(publishing or published))
    # Objects that the caller has loaded are not expired, so they can be read after the transaction.
    session().execute(
        _SET_DOCUMENT_STATUS, {"document": document_id, "to_status": status, "to_published": publishing or published}
    )
    return next_id, since


def status_for(state: RunState, *, has_result: bool) -> DocumentStatus:
    """The document's status while its newest run is in this state."""
    match state:
        case RunState.QUEUED | RunState.RUNNING:
            return DocumentStatus.PROCESSING
        case RunState.SUCCEEDED:
            return DocumentStatus.READY
        case RunState.TIMED_OUT:
            return DocumentStatus.TIMED_OUT
        case RunState.CANCELLED if has_result:
            return DocumentStatus.READY
        case _:
            return DocumentStatus.FAILED


def _is_of_recording() -> Exists:
    return exists().where(Document.id == ProcessingRun.document_id, are_recordings())


def _running(condition: ColumnElement[bool], limit: int) -> list[LiveRun]:
    rows = select(ProcessingRun.id, ProcessingRun.org_id, ProcessingRun.document_id)
    rows = rows.where(ProcessingRun.state == RunState.RUNNING, condition)
    found = session().execute(rows.order_by(ProcessingRun.id).limit(limit))
    return [LiveRun(*row) for row in found]


def _newest_and_next_run() -> Select[str, UUID | None, UUID, datetime]:
    """The state of a document's newest run from which a status follows, the published run, and the oldest queued run.

    The oldest queued run is next, unless another one is RUNNING.
    """
    own, running, newest, following = (_runs.alias().c for _ in range(4))
    document: BindParameter[UUID] = bindparam("document", type_=Uuid())
    runs = select(own.id).where(own.document_id == document)
    # A document's first run is never a quiet one, so this always finds a run.
    last = runs.where(own.trigger.not_in(QUIET_TRIGGERS)).order_by(own.created_at.desc(), own.id.desc()).limit(1)
    busy = exists().where(running.document_id == document, running.state == RunState.RUNNING)
    first = runs.where(own.state == RunState.QUEUED, ~busy).order_by(own.created_at, own.id).limit(1)
    return (
        select(newest.state, _documents.c.published_run_id, following.id, following.created_at)
        .select_from(_documents)
        .join(newest.id.table, newest.id == last.scalar_subquery())
        .outerjoin(following.id.table, following.id == first.scalar_subquery())
        .where(_documents.c.id == document)
    )


# Built once, since building a statement takes longer than executing it.
_NEWEST_AND_NEXT_RUN = _newest_and_next_run()
_SET_DOCUMENT_STATUS = (
    update(_documents)
    .where(_documents.c.id == bindparam("document", type_=Uuid()))
    .values(status=bindparam("to_status"), published_run_id=bindparam("to_published"))
)
_LOCK_DOCUMENT = (
    select(_documents.c.id)
    .where(_documents.c.id == bindparam("document", type_=Uuid()))
    .where(func.coalesce(bindparam("org", type_=Uuid()), _documents.c.org_id) == _documents.c.org_id, in_library)
    .with_for_update()
)
_LOCK = (
    select(_runs.c.id, _runs.c.org_id, _runs.c.document_id)
    .join_from(_runs, _documents, _documents.c.id == _runs.c.document_id)
    .where(_runs.c.id == bindparam("run", type_=Uuid()))
    .with_for_update(of=_documents)
)
