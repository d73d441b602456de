"""Processing many documents again: chosen by status, name or model, and queued after all other work.

Each gets a run of its own, unless one of its runs is queued or running already. What readers see
stays until the new result is complete. Where only other vectors are wanted than a document has,
its passages are embedded anew, and nothing else is done.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from uuid import UUID

from webapp.db import reading, transaction
from webapp.documents.states import FailureType, RunTrigger
from webapp.jobs.states import Priority
from webapp.library import selection
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.runs import lifecycle, transitions
from webapp.runs.stages import EMBED_ANEW
from webapp.runs.transitions import DocumentMissing
from webapp.services import Services

IDS_PER_PAGE = 200
DOCUMENTS_PER_TRANSACTION = 20


@dataclass(frozen=True)
class Queued:
    """How many documents got a run, and whether there are more of them than were looked at."""

    count: int
    more: bool = False


@dataclass(frozen=True)
class Again:
    """In which way documents are processed again."""

    priority: int = Priority.BULK
    stage: str | None = None
    """None: the first one for their kind of file."""
    trigger: RunTrigger = RunTrigger.REPROCESS
    prepare: Callable[[UUID], bool] = lambda _: True
    """Called for each in the transaction that queues it; False leaves it out."""


# A document for which the process ended before its vectors were there is tried so often in all.
TERMINATED_MAX = 3


def reprocess_matching(
    services: Services,
    org_id: UUID,
    wanted: Matching,
    *,
    priority: int = Priority.BULK,
    limit: int | None = None,
    stage: str | None = None,
) -> Queued:
    """Queue a run for each document that matches, up to a limit."""
    return _queue_matching(services, org_id, wanted, Again(priority, stage), limit=limit)


def _queue_matching(
    services: Services,
    org_id: UUID,
    wanted: Matching,
    how: Again,
    *,
    limit: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Queued:
    """Queue a run, in the way that `how` says, for each document that matches.

    It ends at the limit, or once the process has to end.
    """
    count = 0
    for ids in _pages(org_id, wanted):
        if should_stop():
            return Queued(count, more=True)
        left = len(ids) if limit is None else limit - count
        count += queue_again(services, org_id, ids[:left], how)
        if left < len(ids):
            return Queued(count, more=True)
    return Queued(count)


def reprocess(
    services: Services, org_id: UUID, ids: list[UUID], *, priority: int = Priority.BULK, stage: str | None = None
) -> int:
    """Queue a run for each of these documents; those that are gone or queued already are left out."""
    return queue_again(services, org_id, ids, Again(priority, stage))


def queue_again(services: Services, org_id: UUID, ids: list[UUID], how: Again) -> int:
    """Queue a run of this sort for each of these documents, some in each transaction."""
    return sum(
        _queue_some(services, org_id, sorted(ids[start : start + DOCUMENTS_PER_TRANSACTION]), how)
        for start in range(0, len(ids), DOCUMENTS_PER_TRANSACTION)
    )


def renew_vectors(
    services: Services,
    org_id: UUID,
    *,
    is_asked: bool = True,
    limit: int | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> Queued:
    """Queue new vectors for all that have those of another model, to be made when there is nothing else to do.

    Unless somebody asked for it, what has failed is left out: it may fail again every day.
    """
    how, wanted = Again(Priority.BACKGROUND, EMBED_ANEW, RunTrigger.REEMBED), with_other_vectors(services)
    if not is_asked:
        how, wanted = replace(how, prepare=_may_succeed), replace(wanted, status=StatusFilter.READY)
    return _queue_matching(services, org_id, wanted, how, limit=limit, should_stop=should_stop)


def _may_succeed(document_id: UUID) -> bool:
    """Whether the last try did not fail, or only the end of its process kept it from success, and not too often."""
    terminated = FailureType.PROCESS_TERMINATED
    failures = transitions.failures_of(document_id, RunTrigger.REEMBED, TERMINATED_MAX)
    return failures[:1] in ([], [None]) or (failures[0] == terminated and failures.count(terminated) < TERMINATED_MAX)


def with_other_vectors(services: Services) -> Matching:
    """The documents whose vectors are not those of the model that is in use."""
    return Matching(model_not=services.providers.embedder.model)


def _pages(org_id: UUID, wanted: Matching) -> Iterator[list[UUID]]:
    after: UUID | None = None
    while True:
        with reading(org_id):
            ids = selection.ids(org_id, wanted, after=after, limit=IDS_PER_PAGE)
        if not ids:
            return
        yield ids
        after = ids[-1]


def _queue_some(services: Services, org_id: UUID, ids: list[UUID], how: Again) -> int:
    """In the order of their ids, so that two who do this at once wait for each other only one way."""
    count = 0
    with transaction(org_id):
        for document_id in ids:
            try:
                transitions.lock(document_id, org_id)
            except DocumentMissing:
                continue
            if transitions.live_of(document_id) or not how.prepare(document_id):
                continue
            lifecycle.queue_run(
                services.queue,
                org_id,
                document_id,
                how.trigger,
                max_attempts=services.settings.queue.job_max_attempts,
                priority=how.priority,
                stage=how.stage,
            )
            count += 1
    return count
