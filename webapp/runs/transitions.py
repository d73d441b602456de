"""Runs: the append-only history of processing, and the guard that lets one of a document run at a time.

Everything here happens inside the caller's transaction. What may race with another run of the
same document first locks that document's row; on SQLite the whole transaction is the lock. Each
transition is one UPDATE that names the state it leaves: when it hits no row, somebody else was
quicker, and nothing else is done.
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
from webapp.documents.kinds import are_recordings
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, EventKind, FailureType, LiveRun, RunState, RunTrigger

_LIVE = (RunState.QUEUED, RunState.RUNNING)
_ERROR_CHARACTERS_MAX = 2000
# The tables themselves: to ask the mappers takes longer than the database.
_runs, _documents = cast(Table, ProcessingRun.__table__), cast(Table, Document.__table__)
_ADD = insert(_runs)
# Work that follows a run is done long before so many more have ended.
_FOLLOWED_RUNS_MAX = 10


class DocumentMissing(LookupError):
    """There is no such document (any more)."""


@dataclass(frozen=True)
class NewRun:
    """A run that was just queued. It must wait while another run of its document is alive."""

    id: UUID
    must_wait: bool


@dataclass(frozen=True)
class Ended:
    """A run has ended; the next in its document's line, if there is one, may start now."""

    next_run_id: UUID | None
    next_created_at: datetime | None


def create(org_id: UUID, document_id: UUID, trigger: RunTrigger) -> NewRun:
    """Queue a run, which is always allowed. DocumentMissing where there is nothing to process."""
    lock(document_id, org_id)
    must_wait = session().scalar(select(_runs_of(document_id).where(ProcessingRun.state.in_(_LIVE)).exists()))
    run_id = _insert(org_id, document_id, trigger)
    _derive_status(document_id)
    return NewRun(run_id, must_wait=bool(must_wait))


def create_first(org_id: UUID, document_id: UUID) -> NewRun:
    """Queue the run of an upload, in the transaction that inserts its document.

    Nobody else can know of the document yet, so there is nothing to lock, to wait for or to derive.
    """
    return NewRun(_insert(org_id, document_id, RunTrigger.UPLOAD), must_wait=False)


def succeed(run_id: UUID) -> Ended | None:
    """RUNNING to SUCCEEDED: from now on its result is what readers see. None when it had ended before."""
    run = _lock_with_document(run_id)
    if run is None or not _move(run_id, RunState.RUNNING, RunState.SUCCEEDED):
        return None
    return _after_end(run, EventKind.RUN_SUCCEEDED, published_run_id=run_id)


def fail(run_id: UUID, failure_type: FailureType, code: str, message: str) -> Ended | None:
    """QUEUED or RUNNING to FAILED; `code` chooses the sentence that people read. None when it had ended before.

    A run fails from QUEUED only where its job was lost before it began: better than waiting for ever.
    """
    run = _lock_with_document(run_id)
    error = message[:_ERROR_CHARACTERS_MAX]
    values = {"failure_type": failure_type, "failure_code": code, "error": error}
    if run is None or not any(_move(run_id, state, RunState.FAILED, **values) for state in _LIVE):
        return None
    return _after_end(run, EventKind.RUN_FAILED, {"failure_type": failure_type, "code": code})


def time_out(run_id: UUID) -> Ended | None:
    """RUNNING to TIMED_OUT. None when it had ended before."""
    run = _lock_with_document(run_id)
    if run is None or not _move(run_id, RunState.RUNNING, RunState.TIMED_OUT):
        return None
    return _after_end(run, EventKind.RUN_TIMED_OUT)


def cancel(run_id: UUID, by: str | None = None) -> Ended | None:
    """QUEUED or RUNNING to CANCELLED, because somebody said so. None when it had ended before."""
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
    """A page of the RUNNING runs that have exceeded their time limit, by id, from beyond the last of the page before.

    Those of recordings may have a longer one.
    """
    longer = recording_timeout_seconds or timeout_seconds
    too_old = and_(ProcessingRun.started_at < after(-timeout_seconds), ~_is_of_recording())
    late = or_(too_old, and_(ProcessingRun.started_at < after(-longer), _is_of_recording()))
    return _running(late if beyond is None else and_(late, ProcessingRun.id > beyond), limit)


def restart_time(run_ids: Sequence[UUID]) -> None:
    """Let the time of these runs count from now: for a while no worker was allowed to take their jobs."""
    live = update(ProcessingRun).where(ProcessingRun.id.in_(run_ids), ProcessingRun.state == RunState.RUNNING)
    session().execute(live.values(started_at=now()).execution_options(synchronize_session=False))


def extend_time(run_id: UUID, seconds: float) -> None:
    """Give a run so much more time: it had to wait meanwhile."""
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
    """All RUNNING runs: at the start of the only process that works, each is an orphan."""
    return _running(ProcessingRun.started_at.is_not(None), limit)


def state_of(run_id: UUID) -> RunState | None:
    """How a run stands; None where it is gone."""
    state = session().scalar(select(ProcessingRun.state).where(ProcessingRun.id == run_id))
    return None if state is None else RunState(state)


def newest_of(document_id: UUID) -> UUID | None:
    """The run from which a document's status follows."""
    return session().scalar(_newest_first(_runs_of(document_id)).limit(1))


def live_of(document_id: UUID) -> list[UUID]:
    """The runs of a document that have not ended, newest first."""
    return list(session().scalars(_newest_first(_runs_of(document_id).where(ProcessingRun.state.in_(_LIVE)))))


def with_work_left(document_id: UUID) -> list[UUID]:
    """The runs of a document that may have live jobs, newest first: those that live, and the last that succeeded."""
    succeeded = _runs_of(document_id).where(ProcessingRun.state == RunState.SUCCEEDED)
    return [*live_of(document_id), *session().scalars(_newest_first(succeeded).limit(_FOLLOWED_RUNS_MAX))]


def content_type(org_id: UUID, document_id: UUID) -> str:
    """What kind of file a document is; the empty text where there is none."""
    found = select(Document.content_type).where(Document.org_id == org_id, Document.id == document_id)
    return session().scalar(found) or ""


def lock(document_id: UUID, org_id: UUID | None = None) -> None:
    """Wait until nobody else decides about this document's runs. DocumentMissing where it is gone."""
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
    """A document's status follows from its newest run, and from nothing else; its next run in line, and since when."""
    state, published, next_id, since = session().execute(_NEWEST_AND_NEXT_RUN, {"document": document_id}).one()
    status = status_for(RunState(state), has_result=bool(publishing or published))
    # Objects that the caller has loaded stay as they were: an expired one could not be read after the end.
    session().execute(
        _SET_DOCUMENT_STATUS, {"document": document_id, "to_status": status, "to_published": publishing or published}
    )
    return next_id, since


def status_for(state: RunState, *, has_result: bool) -> DocumentStatus:
    """What a document shows while its newest run is in this state."""
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
    """How the newest run of a document stands, what is published, and the oldest of the queued ones.

    That one is next, unless a run is at work: a queued one can be cancelled meanwhile.
    """
    own, running, newest, following = (_runs.alias().c for _ in range(4))
    document: BindParameter[UUID] = bindparam("document", type_=Uuid())
    runs = select(own.id).where(own.document_id == document)
    last = runs.order_by(own.created_at.desc(), own.id.desc()).limit(1)
    busy = exists().where(running.document_id == document, running.state == RunState.RUNNING)
    first = runs.where(own.state == RunState.QUEUED, ~busy).order_by(own.created_at, own.id).limit(1)
    return (
        select(newest.state, _documents.c.published_run_id, following.id, following.created_at)
        .select_from(_documents)
        .join(newest.id.table, newest.id == last.scalar_subquery())
        .outerjoin(following.id.table, following.id == first.scalar_subquery())
        .where(_documents.c.id == document)
    )


# Made once: to make them takes longer than to ask them.
_NEWEST_AND_NEXT_RUN = _newest_and_next_run()
_SET_DOCUMENT_STATUS = (
    update(_documents)
    .where(_documents.c.id == bindparam("document", type_=Uuid()))
    .values(status=bindparam("to_status"), published_run_id=bindparam("to_published"))
)
_LOCK_DOCUMENT = (
    select(_documents.c.id)
    .where(_documents.c.id == bindparam("document", type_=Uuid()))
    .where(func.coalesce(bindparam("org", type_=Uuid()), _documents.c.org_id) == _documents.c.org_id)
    .with_for_update()
)
_LOCK = (
    select(_runs.c.id, _runs.c.org_id, _runs.c.document_id)
    .join_from(_runs, _documents, _documents.c.id == _runs.c.document_id)
    .where(_runs.c.id == bindparam("run", type_=Uuid()))
    .with_for_update(of=_documents)
)
