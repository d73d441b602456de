"""Reading documents again that an earlier version of a reader read, and kept files that something reads by now.

They are queued after all other work, so many at a time, and read on this machine alone; what a service or a program
read stays as it is. A document is queued once for the same versions: what fails again is not tried for ever. Until a
new result is complete the earlier one is served, and nothing shows but the history.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, func, or_, select, text, update

from webapp.accounts.model import Org
from webapp.db import reading, session, transaction
from webapp.db.bounded import Count, distinct_values, plan_by_indexes, up_to_most
from webapp.documents.model import LIVE_REREAD, READY, Document, ProcessingRun
from webapp.documents.states import FailureType, LiveRun, RunTrigger
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.states import Priority
from webapp.library.reprocess import Again, queue_again
from webapp.readers.filetypes import filetype
from webapp.readers.versions import PICTURES_TYPE, all_versions, is_outdated
from webapp.runs import transitions
from webapp.runs.stages import READ_ANEW
from webapp.services import Services

# So many wait or run at a time, of all orgs; two processes that queue some at the same moment may double it.
IN_FLIGHT_MAX = 100
# A document whose reading was ended by the end of the process is tried so often in all.
TERMINATED_MAX = 3
_documents, _orgs, _runs = (cast(Table, each.__table__) for each in (Document, Org, ProcessingRun))


@dataclass(frozen=True)
class Rereading:
    """How far an org's documents are read again."""

    left: Count
    """Those of an earlier reader that are to be read again, and those in flight."""
    done: Count
    """Those that were queued for these versions and are not in flight any more."""
    in_flight: int
    is_asked: bool
    """Whether it goes on by itself: by the settings, or since ops asked for it."""

    @property
    def total(self) -> Count:
        """All that had to be read again."""
        return self.left + self.done


def queue_due(services: Services, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Queue as many as there is room for, of all orgs for which it is asked; returns how many."""
    asked = None if services.settings.queue.reread == "auto" else _orgs_that_asked(services)
    if asked == [] or _is_paused(services):
        return 0
    count = 0
    for mark in outdated_marks(services):
        room = IN_FLIGHT_MAX - _in_flight()
        if room <= 0 or should_stop():
            break
        count += sum(_queue(services, org_id, ids) for org_id, ids in _due(services, mark, asked, room).items())
    return count


def ask(services: Services, org_id: UUID) -> None:
    """Let an org's documents be read again, all that these versions read better."""
    asked = update(_orgs).where(_orgs.c.id == org_id).values(reread_for=target(services))
    with transaction(org_id):
        session().execute(asked)


def progress(services: Services, org_id: UUID) -> Rereading:
    """How far this org's documents are read again."""
    marks = outdated_marks(services)
    with reading(org_id):
        plan_by_indexes()
        due, in_flight = _count(org_id, _is_due(services, marks)), _in_flight(org_id)
        done = _count(org_id, _documents.c.reread_for == target(services))
        asked_for = session().scalar(select(_orgs.c.reread_for).where(_orgs.c.id == org_id))
    left, done = due + Count(in_flight), Count(max(0, done.number - in_flight), done.more)
    is_asked = services.settings.queue.reread == "auto" or asked_for == target(services)
    return Rereading(left, done, in_flight, is_asked)


def allow_again(run: LiveRun) -> None:
    """Before a run is ended whose process is gone: its document is queued again, unless that happened too often."""
    ended = (_runs.c.document_id == run.document_id, _runs.c.trigger == RunTrigger.REREAD)
    terminated = select(func.count()).where(*ended, _runs.c.failure_type == FailureType.PROCESS_TERMINATED)
    with transaction(run.org_id):
        if transitions.trigger_after(run.id, RunTrigger.RETRY) is not RunTrigger.REREAD:
            return
        transitions.lock(run.document_id, run.org_id)
        if (session().scalar(terminated) or 0) + 1 < TERMINATED_MAX:
            _set_target(run.org_id, run.document_id, None)


def target(services: Services) -> str:
    """The versions of all readers, and whether OCR is on: what a document is read again for, once."""
    has_ocr = services.providers.extractor.accepts(PICTURES_TYPE)
    return sha256(f"{all_versions()} {has_ocr}".encode()).hexdigest()[:12]


def outdated_marks(services: Services) -> list[str]:
    """The marks of earlier readers that documents of any org have."""
    column = _documents.c.read_by
    with reading(everywhere=True):
        plan_by_indexes()
        marks = session().scalars(select(distinct_values(column, text(READY)).c.value)).all()
    return [mark for mark in marks if mark and is_outdated(mark, lambda kind: _reads_here(services, kind))]


def _reads_here(services: Services, content_type: str) -> bool:
    # Recordings are read in stages of their own.
    return bool(filetype(content_type).reader or filetype(content_type).is_picture) and (
        services.providers.extractor.accepts(content_type)
    )


def _due(services: Services, mark: str, orgs: Sequence[UUID] | None, limit: int) -> dict[UUID, list[UUID]]:
    """Some documents that are to be read again, by org."""
    found = select(_documents.c.org_id, _documents.c.id).where(_is_due(services, [mark]))
    if orgs is not None:
        found = found.where(_documents.c.org_id.in_(orgs))
    ids: dict[UUID, list[UUID]] = {}
    with reading(everywhere=True):
        plan_by_indexes()
        for org_id, document_id in session().execute(found.order_by(_documents.c.org_id, _documents.c.id).limit(limit)):
            ids.setdefault(org_id, []).append(document_id)
    return ids


def _queue(services: Services, org_id: UUID, ids: list[UUID]) -> int:
    to = target(services)
    how = Again(
        Priority.BACKGROUND, READ_ANEW, RunTrigger.REREAD, lambda document_id: _set_target(org_id, document_id, to)
    )
    return queue_again(services, org_id, ids, how)


def _set_target(org_id: UUID, document_id: UUID, to: str | None) -> bool:
    """Note for which versions a document is read again; False where it is not READY, and nothing has changed."""
    own = (_documents.c.org_id == org_id, _documents.c.id == document_id, text(READY))
    # It does not change for people.
    change = update(_documents).where(*own).values(reread_for=to, updated_at=_documents.c.updated_at)
    return session().execute(change.returning(_documents.c.id)).first() is not None


def _is_due(services: Services, marks: Sequence[str]) -> ColumnElement[bool]:
    tried = _documents.c.reread_for
    is_new = or_(tried.is_(None), tried != target(services))
    return and_(text(READY), _documents.c.read_by.in_(marks), is_new)


def _count(org_id: UUID, condition: ColumnElement[bool]) -> Count:
    matching = select(_documents.c.id).where(_documents.c.org_id == org_id, condition)
    return Count.of(session().scalar(select(up_to_most(matching))))


def _in_flight(org_id: UUID | None = None) -> int:
    live = select(func.count()).select_from(_runs).where(text(LIVE_REREAD))
    if org_id is not None:
        return session().scalar(live.where(_runs.c.org_id == org_id)) or 0
    with reading(everywhere=True):
        return session().scalar(live) or 0


def _orgs_that_asked(services: Services) -> list[Any]:
    with reading(everywhere=True):
        return list(session().scalars(select(_orgs.c.id).where(_orgs.c.reread_for == target(services))))


def _is_paused(services: Services) -> bool:
    with reading(everywhere=True):
        controls = services.queue.controls()
    return any(name in controls and controls[name].is_paused for name in (EVERY_STAGE, READ_ANEW))
