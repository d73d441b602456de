"""A worker that dies right before and right after each commit of an operation: nothing is lost, nothing done twice."""

from collections import Counter
from collections.abc import Callable, Iterator
from uuid import UUID

import pytest
from sqlalchemy import select, update

from tests.crash_points import Life, commits_kill
from tests.pipeline.workplace import Crash, Workplace, prose
from webapp.clock import now
from webapp.db import transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.operation_model import BulkOperation, OperationItem
from webapp.documents.tag_model import DocumentTag
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError
from webapp.library import bin as library_bin
from webapp.library import bulk
from webapp.library.bulk import BulkAction, BulkRequest
from webapp.pipeline.change_many import change_many
from webapp.runs import bin_runs, lifecycle
from webapp.runs.stages import BULK

DOCUMENTS = 5
# The first process dies at its first moment, the next one at its second: before or after the commits of the claim, then
# of batches, which the processes after it don't do again.
MOMENTS = range(1, 11)
PROCESSES_MAX = 60


@pytest.fixture
def place(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> Workplace:
    """Two documents to a batch."""
    monkeypatch.setattr(bulk, "BATCH", 2)
    return workplace


@pytest.fixture
def life(place: Workplace) -> Iterator[Life]:
    life = Life()
    with commits_kill(life):
        yield life


def _upload(place: Workplace) -> list[UUID]:
    return [place.upload(prose(1, start=number)).document.id for number in range(DOCUMENTS)]


def _begin(place: Workplace, action: BulkAction, ids: list[UUID]) -> UUID:
    tags = ("a",) if action is BulkAction.TAG else ()
    return bulk.begin(place.queue, place.org_id, BulkRequest(action, ids, tags=tags), "somebody")


def _work(place: Workplace) -> None:
    """One process: it does what there is of the operation."""
    place.queue.wake_delayed()
    for lease in place.queue.claim("worker", stages=(BULK,)):
        change_many(place.context(lease))


def _is_done(place: Workplace) -> bool:
    return all(operation.finished_at for operation in place.all(BulkOperation))


def _take_over(place: Workplace) -> None:
    with transaction(everywhere=True) as session:
        place.queue.reset_stale(-60, JobError("worker_died", "the worker died"))
        due = {"available_at": now(), "wakes_at": None, "max_attempts": 1_000}
        session.execute(update(Job).where(Job.stage == BULK, Job.status == "PENDING").values(**due))


def _die_everywhere(place: Workplace, life: Life, work: Callable[[], None], is_done: Callable[[], bool]) -> int:
    """Let one process after the other die at its next moment, until all is done; how many died."""
    deaths = 0
    for number in range(PROCESSES_MAX):
        life.begin("claiming", MOMENTS[number % len(MOMENTS)])
        try:
            work()
        except Crash:
            deaths += 1
        life.begin()
        _take_over(place)
        if is_done():
            return deaths
    raise AssertionError("the work does not end")


def _operation(place: Workplace, operation_id: UUID) -> BulkOperation:
    found: dict[UUID, BulkOperation] = {operation.id: operation for operation in place.all(BulkOperation)}
    return found[operation_id]


def _do(place: Workplace, life: Life, operation_id: UUID) -> None:
    deaths = _die_everywhere(place, life, lambda: _work(place), lambda: _is_done(place))
    assert deaths >= DOCUMENTS, "before and after each batch"
    operation = _operation(place, operation_id)
    assert (operation.state, operation.done, operation.failed) == ("SUCCEEDED", DOCUMENTS, 0)
    changed = Counter(item.operation_id for item in place.all(OperationItem))
    assert changed[operation_id] == DOCUMENTS


def _undo(place: Workplace, life: Life, operation_id: UUID) -> None:
    undoing = bulk.undo(place.queue, place.org_id, operation_id, "somebody")
    assert undoing is not None
    _do(place, life, undoing)


def _binned(place: Workplace) -> int:
    return sum(document.deleted_at is not None for document in place.all(Document))


def test_tags(place: Workplace, life: Life) -> None:
    ids = _upload(place)
    operation = _begin(place, BulkAction.TAG, ids)
    _do(place, life, operation)
    assert {row.document_id for row in place.all(DocumentTag)} == set(ids)
    _undo(place, life, operation)
    assert place.all(DocumentTag) == []


def test_deletion_and_restoring(place: Workplace, life: Life) -> None:
    ids = _upload(place)
    operation = _begin(place, BulkAction.DELETE, ids)
    _do(place, life, operation)
    assert _binned(place) == DOCUMENTS
    _undo(place, life, operation)
    assert _binned(place) == 0
    states = Counter((run.document_id, run.state) for run in place.all(ProcessingRun))
    assert states == Counter({(each, state): 1 for each in ids for state in ("CANCELLED", "QUEUED")})
    live = [job.document_id for job in place.all(Job) if job.status == "PENDING"]
    assert sorted(live) == sorted(ids), "the work on each goes on once"


def test_processing_again(place: Workplace, life: Life) -> None:
    ids = _upload(place)
    for each in ids:
        assert lifecycle.cancel_run(place.queue, place.org_id, each, place.run(each).id)
    operation = _begin(place, BulkAction.REPROCESS, ids)
    _do(place, life, operation)
    queued = Counter(run.document_id for run in place.all(ProcessingRun) if run.state == "QUEUED")
    assert queued == Counter(ids), "each has one new run"


def test_deletion_for_good(place: Workplace, life: Life) -> None:
    ids = _upload(place)
    stays = place.upload(prose(2, start=50)).document.id
    with transaction(place.org_id):
        library_bin.delete_many(place.queue, place.org_id, ids, "somebody")
        library_bin.mark_all_going(place.org_id)

    def is_done() -> bool:
        return len(place.all(Document)) == 1

    deaths = _die_everywhere(place, life, lambda: _purge(place), is_done)
    assert deaths >= DOCUMENTS
    _purge(place)
    assert [document.id for document in place.all(Document)] == [stays]
    assert {run.document_id for run in place.all(ProcessingRun)} == {stays}
    assert bin_runs.DELETED not in {run.failure_code for run in place.all(ProcessingRun)}
    with transaction(place.org_id) as session:
        assert session.scalar(select(Document.deleted_at)) is None


def _purge(place: Workplace) -> None:
    library_bin.purge_due(place, place.org_id)
