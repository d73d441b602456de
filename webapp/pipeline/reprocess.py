"""Processing many documents again: chosen by what they are, queued behind everybody who waits.

Each gets a run of its own, unless one of its runs is queued or at work already. What readers see
stays until the new result is complete. With other vectors wanted than a document has, the same
run brings them: everything else comes out of the caches.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from webapp.db import reading, transaction
from webapp.documents import library, runs
from webapp.documents.library import Matching
from webapp.documents.runs import DocumentMissing
from webapp.documents.states import RunTrigger
from webapp.jobs.states import Priority
from webapp.pipeline import lifecycle
from webapp.pipeline.services import Services

IDS_PER_PAGE = 200
DOCUMENTS_PER_TRANSACTION = 20


@dataclass(frozen=True)
class Queued:
    """How many documents got a run, and whether there are more of them than were looked at."""

    count: int
    more: bool = False


def reprocess_matching(
    services: Services, org_id: UUID, wanted: Matching, *, priority: int = Priority.BULK, limit: int | None = None
) -> Queued:
    """Queue a run for each document that matches, up to a limit."""
    count = 0
    for ids in _pages(org_id, wanted):
        room = len(ids) if limit is None else limit - count
        count += reprocess(services, org_id, ids[:room], priority=priority)
        if room < len(ids):
            return Queued(count, more=True)
    return Queued(count)


def reprocess(services: Services, org_id: UUID, ids: list[UUID], *, priority: int = Priority.BULK) -> int:
    """Queue a run for each of these documents; those that are gone or in line already are passed by."""
    return sum(
        _queue_some(services, org_id, sorted(ids[start : start + DOCUMENTS_PER_TRANSACTION]), priority)
        for start in range(0, len(ids), DOCUMENTS_PER_TRANSACTION)
    )


def with_other_vectors(services: Services) -> Matching:
    """The documents whose vectors are not those of the model that is in use."""
    return Matching(model_not=services.providers.embedder.model)


def _pages(org_id: UUID, wanted: Matching) -> Iterator[list[UUID]]:
    after: UUID | None = None
    while True:
        with reading(org_id):
            ids = library.matching(org_id, wanted, after=after, limit=IDS_PER_PAGE)
        if not ids:
            return
        yield ids
        after = ids[-1]


def _queue_some(services: Services, org_id: UUID, ids: list[UUID], priority: int) -> int:
    """In the order of their ids, so that two who do this at once wait for each other only one way."""
    count = 0
    with transaction(org_id):
        for document_id in ids:
            try:
                runs.lock(document_id, org_id)
            except DocumentMissing:
                continue
            if runs.live_of(document_id):
                continue
            attempts = services.settings.job_max_attempts
            lifecycle.queue_run(
                services.queue, org_id, document_id, RunTrigger.REPROCESS, max_attempts=attempts, priority=priority
            )
            count += 1
    return count
