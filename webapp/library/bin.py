"""The bin: what was deleted lies there for BIN_DAYS, in no list and no search, and can be restored exactly.

A container goes there together with all that lies in it: `deleted_with` names what was deleted by itself, and only that
is listed. Rows, blobs and the index stay as they are. Work on it is cancelled, and nothing new begins: who queues a run
locks the document, which is refused in the bin.
"""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, func, select, tuple_, update
from sqlalchemy.exc import IntegrityError

from webapp.batches import batches
from webapp.clock import after, now
from webapp.db import reading, session, transaction
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.states import LiveRun
from webapp.jobs import failures
from webapp.jobs.queue import JobQueue, NewJob
from webapp.jobs.states import Priority
from webapp.library import deletion, names
from webapp.runs import bin_runs
from webapp.runs.stages import DETECT_CONNECTIONS
from webapp.search import hidden
from webapp.services import Services

_log = logging.getLogger(__name__)
_documents = cast(Table, Document.__table__)
_DAY_SECONDS = 24 * 3600.0
# The time of what is being deleted for good: it is not listed, can't be restored, and is due at once.
_GOING = datetime(1970, 1, 1, tzinfo=UTC)
_PURGED_AT_ONCE = 50
_CONNECT_ATTEMPTS = 3
_IDS_PER_STATEMENT = 500


class Restored(StrEnum):
    """What became of a request to restore a document."""

    DONE = "done"
    NOT_THERE = "not_there"
    """It does not lie in the bin by itself."""
    IN_CONTAINER = "in_container"
    """The container that it lies in lies in the bin."""
    SAME_FILE = "same_file"
    """The same file was uploaded since, and is in the library."""


@dataclass(frozen=True)
class BinRow:
    """What was deleted by itself, who deleted it and when, and how much lies in it."""

    id: UUID
    filename: str
    content_type: str
    size_bytes: int
    deleted_at: datetime
    deleted_by: str | None


@dataclass(frozen=True)
class BinContents:
    """How many documents lie in the bin, parts of containers included, and what their files take."""

    documents: int = 0
    size_bytes: int = 0


def delete(queue: JobQueue, org_id: UUID, document_id: UUID, by: str) -> bool:
    """Put a document into the bin with all that lies in it, and cancel work on it; False where it is not there."""
    return document_id in delete_many(queue, org_id, [document_id], by)


def delete_many(queue: JobQueue, org_id: UUID, ids: Sequence[UUID], by: str) -> list[UUID]:
    """The same for several; those of them that were put there by themselves, in the order of their ids."""
    with transaction(org_id):
        # All jobs are ended before any document is locked.
        deleted_with = _put_in(org_id, deletion.stopped(queue, org_id, ids), by)
        leave_library(queue, org_id, deleted_with, by)
        return sorted(each for each in {*ids} & deleted_with.keys() if deleted_with[each] == each)


def leave_library(queue: JobQueue, org_id: UUID, ids: Collection[UUID], by: str) -> None:
    """End what goes on around documents that were put into the bin, and hide them from all searches."""
    bin_runs.cancel(queue, ids, by)
    names.forget(org_id, ids)
    hidden.hide(org_id, ids)
    failures.set_aside(ids)


def _put_in(org_id: UUID, ids: Sequence[UUID], by: str) -> dict[UUID, UUID]:
    """The documents that were put into the bin, each with the one that it was deleted with."""
    d = _documents.c
    parents: dict[UUID, UUID | None] = {}
    # In the order of their ids, as all do who lock several documents.
    for part in batches(sorted(ids), _IDS_PER_STATEMENT):
        these = select(d.id, d.parent_id).where(d.org_id == org_id, d.id.in_(part), in_library)
        parents.update((row.id, row.parent_id) for row in session().execute(these.order_by(d.id).with_for_update()))
    deleted_with = {each: _outermost(each, parents) for each in parents}
    with_root: dict[UUID, list[UUID]] = {}
    for each, root in deleted_with.items():
        with_root.setdefault(root, []).append(each)
    alone = [root for root, some in with_root.items() if len(some) == 1]
    values = {"deleted_at": now(), "deleted_by": by, "updated_at": d.updated_at}
    change = update(_documents).where(d.org_id == org_id).values(values)
    for part in batches(alone, _IDS_PER_STATEMENT):
        session().execute(change.where(d.id.in_(part)).values(deleted_with=d.id))
    for root, some in with_root.items():
        for part in batches(some if len(some) > 1 else (), _IDS_PER_STATEMENT):
            session().execute(change.where(d.id.in_(part)).values(deleted_with=root))
    return deleted_with


def _outermost(document_id: UUID, parents: Mapping[UUID, UUID | None]) -> UUID:
    """The container that it lies in, on any level, of those that are deleted; or itself."""
    above = parents[document_id]
    while above is not None and above in parents:
        document_id, above = above, parents[above]
    return document_id


def restore(queue: JobQueue, org_id: UUID, document_id: UUID, max_attempts: int) -> Restored:
    """Bring a document back with all that was deleted with it.

    Work that was cancelled with it goes on where it was. What came into the library meanwhile may be connected with it,
    so connections are looked for again.
    """
    with transaction(org_id):
        try:
            with session().begin_nested():
                return restore_many(queue, org_id, [document_id], max_attempts)[document_id]
        except IntegrityError:
            # Uploaded in this very moment.
            return Restored.SAME_FILE


def restore_many(queue: JobQueue, org_id: UUID, ids: Sequence[UUID], max_attempts: int) -> dict[UUID, Restored]:
    """The same for several, with what became of each. A container comes before what was deleted out of it."""
    with transaction(org_id):
        found = dict.fromkeys(ids, Restored.NOT_THERE)
        left = list(ids)
        while left:
            found |= whether(org_id, left)
            roots = [each for each in left if found[each] is Restored.DONE]
            _bring_back(queue, org_id, roots, max_attempts)
            left = [each for each in left if found[each] is Restored.IN_CONTAINER] if roots else []
        return found


def _bring_back(queue: JobQueue, org_id: UUID, roots: Sequence[UUID], max_attempts: int) -> None:
    d = _documents.c
    with_them = d.org_id == org_id, d.deleted_with.in_(roots), d.deleted_at.is_not(None)
    bring_back(queue, org_id, list(session().scalars(select(d.id).where(*with_them).order_by(d.id))), max_attempts)


def bring_back(queue: JobQueue, org_id: UUID, back: Sequence[UUID], max_attempts: int) -> None:
    """Take these documents, which lie in the bin, out of it, and let the work on them go on.

    Parts of a container that was deleted by itself meanwhile stay there with it.
    """
    d = _documents.c
    stay = _stay_with_container(org_id, back)
    back = [each for each in back if each not in stay]
    cancelled = bin_runs.cancelled_with(back)
    values = {"deleted_at": None, "deleted_by": None, "deleted_with": None, "updated_at": d.updated_at}
    for part in batches(back, _IDS_PER_STATEMENT):
        session().execute(update(_documents).where(d.org_id == org_id, d.id.in_(part)).values(values))
    names.remember(org_id, back)
    hidden.show(org_id, back)
    failures.take_up(back)
    bin_runs.go_on(queue, cancelled, max_attempts)
    _connect_again(queue, org_id, back, max(_CONNECT_ATTEMPTS, max_attempts))


def _stay_with_container(org_id: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Let those of these documents lie in the bin with their container that were deleted with another one; they."""
    d, outer = _documents.c, _documents.alias("outer").c
    with_container = select(d.id, outer.deleted_with, outer.deleted_at, outer.deleted_by).where(
        outer.id == d.parent_id, outer.deleted_at.is_not(None), outer.deleted_with != d.deleted_with
    )
    stay: set[UUID] = set()
    for part in batches(ids, _IDS_PER_STATEMENT):
        # Level by level: what lies in these lies with the same container.
        while rows := session().execute(with_container.where(d.org_id == org_id, d.id.in_(part))).all():
            by_container: dict[UUID, list[Any]] = {}
            for row in rows:
                by_container.setdefault(row.deleted_with, []).append(row)
            for some in by_container.values():
                values = {"deleted_with": some[0].deleted_with, "deleted_at": some[0].deleted_at}
                change = update(_documents).where(d.org_id == org_id, d.id.in_([row.id for row in some]))
                session().execute(change.values(**values, deleted_by=some[0].deleted_by, updated_at=d.updated_at))
            stay.update(row.id for row in rows)
    return stay


def deleted_times(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, datetime]:
    """When those of these documents were deleted that lie in the bin."""
    d = _documents.c
    rows = select(d.id, d.deleted_at).where(d.org_id == org_id, d.id.in_(ids), d.deleted_at.is_not(None))
    return {row.id: row.deleted_at for row in session().execute(rows)}


def whether(org_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Restored]:
    """Whether those of these documents that lie in the bin by themselves may come back; their rows are locked."""
    d = _documents.c
    own = d.org_id == org_id, d.id.in_(ids), d.deleted_with == d.id, d.deleted_at > _GOING
    rows = select(d.id, d.parent_id, d.sha256).where(*own).order_by(d.id).with_for_update()
    locked = session().execute(rows).all()
    parents = {row.parent_id for row in locked if row.parent_id is not None}
    open_parents = set(session().scalars(select(d.id).where(d.id.in_(parents), in_library)))
    uploaded = [row.sha256 for row in locked if row.parent_id is None]
    there = d.org_id == org_id, d.sha256.in_(uploaded), d.parent_id.is_(None), in_library
    taken = set(session().scalars(select(d.sha256).where(*there)))
    found = {}
    for row in locked:
        if row.parent_id is not None:
            found[row.id] = Restored.DONE if row.parent_id in open_parents else Restored.IN_CONTAINER
        else:
            found[row.id] = Restored.SAME_FILE if row.sha256 in taken else Restored.DONE
            taken.add(row.sha256)
    return found


def _connect_again(queue: JobQueue, org_id: UUID, ids: Sequence[UUID], max_attempts: int) -> None:
    d = _documents.c
    for part in batches(ids, _IDS_PER_STATEMENT):
        published = select(d.id, d.published_run_id).where(d.org_id == org_id, d.id.in_(part))
        rows = session().execute(published.where(d.published_run_id.is_not(None))).all()
        jobs = [
            NewJob(
                org_id=org_id,
                run=LiveRun(row.published_run_id, org_id, row.id),
                stage=DETECT_CONNECTIONS,
                max_attempts=max_attempts,
                priority=Priority.BACKGROUND,
            )
            for row in rows
        ]
        queue.enqueue(jobs)


def find_contents(org_id: UUID, sha256: str) -> UUID | None:
    """The uploaded document with these bytes that lies in the bin by itself, the last one that was deleted."""
    d = _documents.c
    found = select(d.id).where(
        d.org_id == org_id, d.sha256 == sha256, d.deleted_at > _GOING, d.parent_id.is_(None), d.deleted_with == d.id
    )
    return session().scalar(found.order_by(d.deleted_at.desc(), d.id).limit(1))


def page(org_id: UUID, *, before: tuple[datetime, UUID] | None = None, limit: int = 50) -> list[BinRow]:
    """What was deleted by itself, the last first; `before` is the time and the id of the last row of a page."""
    d = _documents.c
    rows = select(d.id, d.filename, d.content_type, d.size_bytes, d.deleted_at, d.deleted_by)
    rows = rows.where(d.org_id == org_id, d.deleted_with == d.id, d.deleted_at > _GOING)
    if before is not None:
        rows = rows.where(tuple_(d.deleted_at, d.id) < tuple_(*before))
    rows = rows.order_by(d.deleted_at.desc(), d.id.desc()).limit(limit)
    return [BinRow(*row) for row in session().execute(rows)]


def contents(org_id: UUID) -> BinContents:
    """What lies in an org's bin."""
    d = _documents.c
    counted = select(func.count(), func.coalesce(func.sum(d.size_bytes), 0))
    number, size = session().execute(counted.where(d.org_id == org_id, d.deleted_at.is_not(None))).one()
    return BinContents(number, int(size))


def filename(org_id: UUID, document_id: UUID) -> str | None:
    """The name of what was deleted by itself; None where it does not lie in the bin."""
    d = _documents.c
    own = select(d.filename).where(d.org_id == org_id, d.id == document_id, d.deleted_with == d.id)
    return session().scalar(own.where(d.deleted_at > _GOING))


def begin_purge(queue: JobQueue, org_id: UUID, document_id: UUID, by: str) -> bool:
    """Let a document be deleted for good, wherever it is; False where there is none that can be.

    One in the library is put into the bin first: its parts go with it, and no work on them begins any more.
    """
    with transaction(org_id):
        delete_many(queue, org_id, [document_id], by)
        return bool(mark_going(org_id, [document_id]))


def mark_going(org_id: UUID, ids: Collection[UUID]) -> list[UUID]:
    """Let nobody restore these any more: they are deleted for good, at once or by the next `purge_due`."""
    d = _documents.c
    own = d.org_id == org_id, d.id.in_(ids), d.deleted_with == d.id
    change = update(_documents).where(*own).values(deleted_at=_GOING, updated_at=d.updated_at)
    return list(session().scalars(change.returning(d.id)))


def mark_all_going(org_id: UUID) -> int:
    """The same for all that lies in the bin."""
    d = _documents.c
    change = update(_documents).where(d.org_id == org_id, d.deleted_with == d.id, d.deleted_at > _GOING)
    return len(session().scalars(change.values(deleted_at=_GOING, updated_at=d.updated_at).returning(d.id)).all())


def purge(services: Services, org_id: UUID, document_id: UUID) -> bool:
    """Delete a document for good with all that lies in it; False where it is not marked as going (`mark_going`).

    Nobody restores what is marked. A crash leaves what is not deleted yet in the bin, for the next `purge_due`; blobs
    without rows are swept.
    """
    blobs = services.providers.blobs
    with reading(org_id):
        if not _is_going(org_id, document_id):
            return False
    for folders in deletion.delete_parts(services.queue, org_id, document_id):
        deletion.remove_folders(blobs, folders)
    gone = deletion.delete_document(services.queue, org_id, document_id)
    deletion.remove_folders(blobs, gone or ())
    return gone is not None


def _is_going(org_id: UUID, document_id: UUID) -> bool:
    d = _documents.c
    going = select(d.id).where(d.org_id == org_id, d.id == document_id, d.deleted_with == d.id, d.deleted_at == _GOING)
    return session().scalar(going) is not None


def is_large(org_id: UUID, document_id: UUID) -> bool:
    """Whether so much lies in a document, on all levels, that nobody should wait until it is gone for good."""
    d, inner = _documents.c, _documents.alias("inner").c
    whole = select(d.id).where(d.org_id == org_id, d.id == document_id).cte("whole", recursive=True)
    # Wherever these are: of a large container not all may have followed it into the bin yet.
    whole = whole.union_all(select(inner.id).where(inner.parent_id == whole.c.id))
    most = _PURGED_AT_ONCE + 1
    return len(session().scalars(select(whole.c.id).limit(most)).all()) == most


def purge_due(services: Services, org_id: UUID, should_stop: Callable[[], bool] = lambda: False) -> int:
    """Delete for good what has lain in an org's bin for BIN_DAYS, the oldest first; how many that were."""
    total = 0
    while not should_stop():
        with transaction(org_id):
            due = mark_going(org_id, _due(org_id, services.settings.limits.bin_days))
        for document_id in due:
            if should_stop():
                break
            total += purge(services, org_id, document_id)
        if not due:
            break
    if total:
        _log.info("%d deleted documents were removed from the bin", total)
    return total


def _due(org_id: UUID, days: float) -> list[UUID]:
    d = _documents.c
    rows = select(d.id).where(d.org_id == org_id, d.deleted_with == d.id, d.deleted_at <= after(-days * _DAY_SECONDS))
    # Held, so that nobody restores it in this moment.
    rows = rows.order_by(d.deleted_at, d.id).limit(_PURGED_AT_ONCE).with_for_update()
    return list(session().scalars(rows))


def orgs_with_due(days: float) -> list[UUID]:
    """The orgs in whose bin something is due, of all of them."""
    d = _documents.c
    due = select(d.org_id).where(d.deleted_with == d.id, d.deleted_at <= after(-days * _DAY_SECONDS))
    return list(session().scalars(due.distinct()))


def hide_again(org_id: UUID, document_id: UUID) -> None:
    """Hide the passages of a document whose words were indexed anew, if it lies in the bin."""
    d = _documents.c
    own = d.org_id == org_id, d.id == document_id, d.deleted_at.is_not(None)
    if session().scalar(select(d.id).where(*own)) is not None:
        hidden.hide(org_id, [document_id])
