"""What an operation does with a batch of documents, in the transaction of the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from webapp.documents.states import RunTrigger
from webapp.jobs.queue import JobQueue
from webapp.jobs.states import Priority
from webapp.library import bin as library_bin
from webapp.library import tags
from webapp.library.bin import Restored
from webapp.runs import lifecycle, of_documents, transitions
from webapp.runs.transitions import DocumentMissing


@dataclass(frozen=True)
class Change:
    """What became of one document: what undoes the change, or the code of why it was not changed."""

    undo: Mapping[str, Any] | None = None
    error: str | None = None


_Changes = dict[UUID, Change]
TOO_MANY_TAGS, IN_WORK, GONE = "too_many_tags", "in_work", "gone"


@dataclass(frozen=True)
class BulkWork:
    """On whose behalf documents are changed, and with which queue."""

    queue: JobQueue
    org_id: UUID
    max_attempts: int
    by: str


def apply(
    work: BulkWork,
    action: str,
    ids: Sequence[UUID],
    names: Sequence[str],
    undos: Mapping[UUID, Mapping[str, Any]],
) -> _Changes:
    """Change these documents; those that were as they should be already have no entry.

    `undos` says for each document what is to be undone.
    """
    match action:
        case "delete":
            return {each: Change({}) for each in library_bin.delete_many(work.queue, work.org_id, ids, work.by)}
        case "restore":
            return _restored(work, ids)
        case "reprocess":
            return {each: _again(work, each) for each in ids}
    wanted = {
        each: undos[each].get("tags", ()) if each in undos else names
        for each in of_documents.lock_many(work.org_id, ids)
    }
    changed = tags.change_many(work.org_id, wanted, is_added=action == "tag")
    return {
        each: Change(error=TOO_MANY_TAGS) if found is None else Change({"tags": found})
        for each, found in changed.items()
    }


def _restored(work: BulkWork, ids: Sequence[UUID]) -> _Changes:
    found = library_bin.restore_many(work.queue, work.org_id, ids, work.max_attempts)
    return {each: Change({}) if outcome is Restored.DONE else Change(error=outcome) for each, outcome in found.items()}


def _again(work: BulkWork, document_id: UUID) -> Change:
    try:
        transitions.lock(document_id, work.org_id)
    except DocumentMissing:
        return Change(error=GONE)
    if transitions.live_of(document_id):
        return Change(error=IN_WORK)
    lifecycle.queue_run(
        work.queue,
        work.org_id,
        document_id,
        RunTrigger.REPROCESS,
        max_attempts=work.max_attempts,
        priority=Priority.BULK,
    )
    return Change()
