"""Containers with more parts than one transaction changes: they go into the bin, and come back, some parts at a time.

The container goes first, and what lies in it follows. `deleted_with` names the container for each part that has
followed, so at any moment it can be restored, or deleted again: who follows it sees that, and ends.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, select, update
from sqlalchemy.exc import IntegrityError

from webapp.clock import now
from webapp.db import session, transaction
from webapp.db.bounded import Count, up_to_most
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.jobs.queue import JobQueue
from webapp.library import bin as library_bin
from webapp.library import deletion
from webapp.library.bin import Restored

AT_ONCE = 200
_documents = cast(Table, Document.__table__)


class _ContainerMoved(Exception):
    """Somebody has restored or deleted the container meanwhile."""


def begin_delete(queue: JobQueue, org_id: UUID, document_id: UUID, by: str) -> bool:
    """Put a container into the bin without its parts, and end work on it, so that it gets no more; False where it is
    not there.
    """
    with transaction(org_id):
        deletion.stop(queue, [document_id])
        d = _documents.c
        there = d.org_id == org_id, d.id == document_id, in_library
        values = {"deleted_at": now(), "deleted_by": by, "deleted_with": d.id}
        change = update(_documents).where(*there).values(**values, updated_at=d.updated_at)
        if session().scalar(change.returning(d.id)) is None:
            return False
        library_bin.leave_library(queue, org_id, [document_id], by)
        return True


def follow_into_bin(queue: JobQueue, org_id: UUID, container_id: UUID, by: str) -> bool:
    """Put the next of what lies in a container there, too; False where all does, or the container is back."""
    with transaction(org_id):
        ids = _left_in_library(org_id, container_id)
        if not ids:
            return False
        try:
            with session().begin_nested():
                # All jobs are ended before any document is locked.
                deletion.stop(queue, ids)
                _put_in(org_id, container_id, ids, by)
                library_bin.leave_library(queue, org_id, ids, by)
        except _ContainerMoved:
            return False
        return True


def _left_in_library(org_id: UUID, container_id: UUID) -> list[UUID]:
    """Some of the documents of the library whose container has followed, or is the first one itself."""
    d, outer = _documents.c, _documents.alias("outer").c
    followed = select(outer.id).where(
        outer.org_id == org_id, outer.deleted_with == container_id, outer.deleted_at.is_not(None)
    )
    return list(session().scalars(select(d.id).where(d.parent_id.in_(followed), in_library).limit(AT_ONCE)))


def _put_in(org_id: UUID, container_id: UUID, ids: Sequence[UUID], by: str) -> None:
    d = _documents.c
    rows = _locked(org_id, [*ids, container_id])
    container = rows.get(container_id)
    if container is None or container.deleted_with != container_id:
        raise _ContainerMoved
    there = [each for each in ids if each in rows and rows[each].deleted_at is None]
    values = {"deleted_at": container.deleted_at, "deleted_by": by, "deleted_with": container_id}
    change = update(_documents).where(d.org_id == org_id, d.id.in_(there))
    session().execute(change.values(**values, updated_at=d.updated_at))


def _locked(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, Any]:
    d = _documents.c
    rows = select(d.id, d.deleted_at, d.deleted_with).where(d.org_id == org_id, d.id.in_(ids))
    # In the order of their ids, as all do who lock several documents.
    return {row.id: row for row in session().execute(rows.order_by(d.id).with_for_update())}


def begin_restore(queue: JobQueue, org_id: UUID, document_id: UUID, max_attempts: int) -> Restored:
    """Bring a container back without its parts."""
    with transaction(org_id):
        outcome = library_bin.whether(org_id, [document_id]).get(document_id, Restored.NOT_THERE)
        if outcome is not Restored.DONE:
            return outcome
        try:
            with session().begin_nested():
                library_bin.bring_back(queue, org_id, [document_id], max_attempts)
        except IntegrityError:
            # Uploaded in this very moment.
            return Restored.SAME_FILE
        return outcome


def follow_out_of_bin(queue: JobQueue, org_id: UUID, container_id: UUID, max_attempts: int) -> bool:
    """Bring the next back of what was deleted with a container; False where all is, or it was deleted again."""
    with transaction(org_id):
        d = _documents.c
        with_it = d.org_id == org_id, d.deleted_with == container_id, d.deleted_at.is_not(None), d.id != container_id
        # A container comes before what lies in it: it is older.
        found = session().execute(select(d.id, d.parent_id).where(*with_it).order_by(d.id).limit(AT_ONCE)).all()
        ids = [row.id for row in found]
        # With their containers, so that nobody deletes one of these at the same time.
        rows = _locked(org_id, {*ids, *(row.parent_id for row in found), container_id}) if ids else {}
        container = rows.get(container_id)
        if container is None or container.deleted_at is not None:
            return False
        back = [each for each in ids if each in rows and rows[each].deleted_with == container_id]
        library_bin.bring_back(queue, org_id, back, max_attempts)
        return True


@dataclass(frozen=True)
class MovingContainer:
    """A container whose parts follow it, and how many of them lie in the bin because of it."""

    filename: str
    in_bin: Count


def moving(org_id: UUID, container_id: UUID) -> MovingContainer:
    """How far the parts of a container have followed it."""
    d = _documents.c
    with_it = d.org_id == org_id, d.deleted_with == container_id, d.deleted_at.is_not(None), d.id != container_id
    name = select(d.filename).where(d.org_id == org_id, d.id == container_id).scalar_subquery()
    row = session().execute(select(name, up_to_most(select(d.id).where(*with_it)))).one()
    # It may be gone for good by now.
    return MovingContainer(row[0] or "", Count.of(row[1]))
