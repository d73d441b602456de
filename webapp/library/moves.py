"""Deleting and restoring one document: of a large container an operation moves what lies in it, behind it."""

from dataclasses import dataclass
from uuid import UUID

from webapp.db import transaction
from webapp.jobs.queue import JobQueue
from webapp.library import batch_bounds, bulk, bulk_actions, large_containers
from webapp.library import bin as library_bin
from webapp.library.bin import Restored
from webapp.library.bulk import BulkAction


@dataclass(frozen=True)
class Moved:
    """What became of a request to delete or to restore a document."""

    outcome: Restored
    operation_id: UUID | None = None
    """The operation that moves what lies in it; None where that is done."""

    @property
    def is_done(self) -> bool:
        """Whether the document itself was moved."""
        return self.outcome is Restored.DONE


def delete(queue: JobQueue, org_id: UUID, document_id: UUID, by: str) -> Moved:
    """Put a document into the bin with all that lies in it; NOT_THERE where it is not in the library."""
    with transaction(org_id):
        if not batch_bounds.is_large(org_id, document_id):
            is_gone = library_bin.delete(queue, org_id, document_id, by)
            return Moved(Restored.DONE if is_gone else Restored.NOT_THERE)
        if not large_containers.begin_delete(queue, org_id, document_id, by):
            return Moved(Restored.NOT_THERE)
        undo = bulk_actions.how_to_restore(org_id, document_id)
        return Moved(Restored.DONE, bulk.begin_container(queue, org_id, BulkAction.DELETE, document_id, by, undo))


def restore(queue: JobQueue, org_id: UUID, document_id: UUID, max_attempts: int, by: str) -> Moved:
    """Take a document out of the bin with all that was deleted with it."""
    with transaction(org_id):
        if not batch_bounds.is_large_in_bin(org_id, document_id):
            return Moved(library_bin.restore(queue, org_id, document_id, max_attempts))
        outcome = large_containers.begin_restore(queue, org_id, document_id, max_attempts)
        if outcome is not Restored.DONE:
            return Moved(outcome)
        return Moved(outcome, bulk.begin_container(queue, org_id, BulkAction.RESTORE, document_id, by, {}))


def begin_purge(queue: JobQueue, org_id: UUID, document_id: UUID, by: str) -> bool:
    """Let a document be deleted for good, wherever it is; False where there is none that can be.

    One in the library is put into the bin first. What lies in a large container stays until it is deleted with it.
    """
    with transaction(org_id):
        if not batch_bounds.is_large(org_id, document_id):
            return library_bin.begin_purge(queue, org_id, document_id, by)
        large_containers.begin_delete(queue, org_id, document_id, by)
        return bool(library_bin.mark_going(org_id, [document_id]))
