"""How long one org's document waits behind 100,000 of another org.

Run as `python -m bench.fairness [--crowd N] [--number N] [--queue bullmq]`, on PostgreSQL with one worker process of 4
threads. All documents are equally urgent: uploads of several files. The other org's document should start as soon as
one thread ends the document that it has: of the claims that are made after its upload, the first should take it.
"""

import argparse
import threading
import time
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import select

from bench._copies import copy
from bench._documents_loop import page
from bench._place import Place, Worker, place, wait_until
from bench._redis import add_queue_option, queue_settings
from bench._table import p50_p99, row, title
from tests.search.passages import new_org
from webapp.db import reading
from webapp.documents.model import ProcessingRun
from webapp.documents.states import RunState
from webapp.jobs.states import Priority

# Of the crowd, until the worker is warm.
WARM_UP = 100
_BETWEEN_SECONDS = 0.5


@dataclass(frozen=True)
class Timed:
    """When a document's run started and ended, as the database says."""

    started: float
    ended: float


def upload(at: Place, worker: Worker, org_id: UUID, seed: int) -> tuple[UUID, float]:
    """Upload one more document and wait until its work begins: its id, and when its upload was done."""
    document_id = at.upload(org_id, page("texts", seed), f"letter-{seed}.txt", Priority.BULK)
    uploaded_at = time.time()
    while worker.begun()[1] != document_id:
        pass
    return document_id, uploaded_at


def timed_runs(org_id: UUID) -> dict[UUID, Timed]:
    """The org's runs that have succeeded, by document."""
    runs = select(ProcessingRun).where(ProcessingRun.org_id == org_id, ProcessingRun.state == RunState.SUCCEEDED)
    with reading(org_id) as session:
        return {
            run.document_id: Timed(run.started_at.timestamp(), run.finished_at.timestamp())
            for run in session.scalars(runs)
            if run.started_at and run.finished_at
        }


def report(uploads: list[tuple[UUID, float]], crowd: list[Timed], ours: dict[UUID, Timed]) -> None:
    """Print how many of the crowd started first, and the wait."""
    pairs = [(uploaded_at, ours[document_id].started) for document_id, uploaded_at in uploads]
    before = max(sum(uploaded < other.started < started for other in crowd) for uploaded, started in pairs)
    waits = [max(0.0, started - uploaded) for uploaded, started in pairs]
    work = [other.ended - other.started for other in crowd]
    (p50, _), (work_p50, _) = p50_p99(waits), p50_p99(work)
    row("documents of the crowd that start before it", f"at most {before}", wanted="≤ 1", holds=before <= 1)
    row(
        "its wait",
        f"p50 {p50:.0f} ms, max {max(waits) * 1000:.0f} ms",
        wanted="≤ a document's work",
        beside=f"work p50 {work_p50:.0f} ms, max {max(work) * 1000:.0f} ms",
        holds=p50 <= work_p50 and max(waits) <= max(work),
    )


def main() -> None:
    """Print how many went before, and the wait."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowd", type=int, default=100_000, help="documents of the other org")
    parser.add_argument("--number", type=int, default=20, help="of documents that are uploaded meanwhile")
    add_queue_option(parser)
    given = parser.parse_args()
    title(f"One org's document behind {given.crowd:,} of another org, QUEUE={given.queue}, {given.number} times")
    pause, uploads = threading.Event(), []
    with queue_settings(given.queue) as (settings, _), place("postgresql") as at:
        big, small = new_org(), new_org()
        first = at.upload(big, page("texts", 0), "first.txt", Priority.BULK)
        assert at.owner_url is not None
        copy(at.owner_url, first, given.crowd)
        with Worker(at, **settings) as worker:
            for _ in range(WARM_UP):
                worker.begun()
            for seed in range(1, 1 + given.number):
                pause.wait(_BETWEEN_SECONDS)
                uploads.append(upload(at, worker, small, seed))
            wait_until(lambda: len(timed_runs(small)) == given.number)
        report(uploads, list(timed_runs(big).values()), timed_runs(small))


if __name__ == "__main__":
    main()
