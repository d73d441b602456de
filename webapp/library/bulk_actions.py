"""What an operation does with a batch of documents, in the transaction of the batch."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from webapp.documents.states import RunTrigger
from webapp.jobs.queue import JobQueue
from webapp.jobs.states import Priority
from webapp.library import batch_bounds, folders, large_containers, rule_effects, tags
from webapp.library import bin as library_bin
from webapp.library.bin import Restored
from webapp.library.rule_effects import Gifts
from webapp.runs import lifecycle, of_documents, transitions
from webapp.runs.transitions import DocumentMissing


@dataclass(frozen=True)
class Change:
    """What became of one document: what undoes the change, or the code of why it was not changed."""

    undo: Mapping[str, Any] | None = None
    error: str | None = None
    is_begun: bool = False
    """Whether it is a large container, whose parts have to follow it (`follow`)."""


_Changes = dict[UUID, Change]
TOO_MANY_TAGS, IN_WORK, GONE, CHANGED_SINCE = "too_many_tags", "in_work", "gone", "changed_since"


@dataclass(frozen=True)
class BulkWork:
    """On whose behalf documents are changed, and with which queue."""

    queue: JobQueue
    org_id: UUID
    max_attempts: int
    by: str


def apply(work: BulkWork, action: str, ids: Sequence[UUID], asked: Mapping[str, Any]) -> _Changes:
    """Change these documents as the operation's row says; those that were as they should be already have no entry."""
    match action:
        case "delete":
            return _deleted(work, ids)
        case "restore":
            return _restored(work, ids)
        case "reprocess":
            return {each: _again(work, each) for each in ids}
        case "rule":
            locked = of_documents.lock_many(work.org_id, ids)
            given = rule_effects.apply(work.org_id, Gifts.of(asked["rule"]), locked, anew=True)
            return {each: Change(done) for each, done in given.items()}
        case "tag_folders":
            return _tagged(work, folders.tags_of(work.org_id, ids), is_added=True)
    return _tagged(work, dict.fromkeys(ids, asked.get("tags", ())), is_added=action == "tag")


def undo(work: BulkWork, action: str, ids: Sequence[UUID], undos: Mapping[UUID, Mapping[str, Any]]) -> _Changes:
    """Change these documents back by this action; `undos` says for each how, also for those that can't be meant now.

    A document that is no longer as it was left, because somebody has changed it since, is left alone.
    """
    match action:
        case "delete":
            changes = {each: Change({}) for each in ids} | _deleted(work, ids)
        case "restore":
            times = library_bin.deleted_times(work.org_id, ids)
            changes = _restored(work, [each for each in ids if _is_as_left(undos[each], times.get(each))])
        case "unrule":
            locked = of_documents.lock_many(work.org_id, ids)
            changes = {each: Change({}) for each in locked if rule_effects.revert(work.org_id, each, undos[each])}
        case _:
            wanted = {each: undos[each].get("tags", ()) for each in ids}
            changes = _tagged(work, wanted, is_added=action == "tag")
    return {each: Change(error=CHANGED_SINCE) for each in undos} | changes


def _is_as_left(undo: Mapping[str, Any], deleted_at: datetime | None) -> bool:
    """Whether it lies in the bin since that deletion, and not since a later one."""
    return deleted_at is not None and undo.get("deleted_at") == deleted_at.isoformat()


def _deleted(work: BulkWork, ids: Sequence[UUID]) -> _Changes:
    if len(ids) == 1 and batch_bounds.is_large(work.org_id, ids[0]):
        return _begun(work, ids[0])
    gone = library_bin.delete_many(work.queue, work.org_id, ids, work.by)
    times = library_bin.deleted_times(work.org_id, gone)
    return {each: Change({"deleted_at": times[each].isoformat()}) for each in gone}


def _begun(work: BulkWork, document_id: UUID) -> _Changes:
    if not large_containers.begin_delete(work.queue, work.org_id, document_id, work.by):
        return {}
    return {document_id: Change(how_to_restore(work.org_id, document_id), is_begun=True)}


def how_to_restore(org_id: UUID, document_id: UUID) -> dict[str, Any]:
    """What undoes the deletion of a document that lies in the bin."""
    return {"deleted_at": library_bin.deleted_times(org_id, [document_id])[document_id].isoformat()}


def follow(work: BulkWork, action: str, container_id: UUID) -> bool:
    """Let the next parts follow their container into the bin or out of it; False where none is left."""
    if action == "delete":
        return large_containers.follow_into_bin(work.queue, work.org_id, container_id, work.by)
    return large_containers.follow_out_of_bin(work.queue, work.org_id, container_id, work.max_attempts)


def _restored(work: BulkWork, ids: Sequence[UUID]) -> _Changes:
    if len(ids) == 1 and batch_bounds.is_large_in_bin(work.org_id, ids[0]):
        outcome = large_containers.begin_restore(work.queue, work.org_id, ids[0], work.max_attempts)
        return {ids[0]: Change({}, is_begun=True) if outcome is Restored.DONE else Change(error=outcome)}
    found = library_bin.restore_many(work.queue, work.org_id, ids, work.max_attempts)
    return {each: Change({}) if outcome is Restored.DONE else Change(error=outcome) for each, outcome in found.items()}


def _tagged(work: BulkWork, wanted: Mapping[UUID, Sequence[str]], *, is_added: bool) -> _Changes:
    there = {each: wanted[each] for each in of_documents.lock_many(work.org_id, wanted)}
    changed = tags.change_many(work.org_id, there, is_added=is_added)
    return {
        each: Change(error=TOO_MANY_TAGS) if found is None else Change({"tags": found})
        for each, found in changed.items()
    }


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
