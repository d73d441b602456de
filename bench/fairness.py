"""How long one org's document waits behind 100,000 of another org.

Run as `python -m bench.fairness [--crowd N] [--number N]`, on PostgreSQL with one worker process of 4 threads. All
documents are equally urgent: uploads of several files. The other org's document should begin as soon as one thread ends
the document that it has. So none of the crowd should begin between the upload and that moment; one may, where its claim
was already being made.
"""

import argparse
import threading
import time
from uuid import UUID

from sqlalchemy import select

from bench._copies import copy
from bench._documents_loop import page
from bench._place import Place, Worker, place
from bench._table import p50_p99, row, title
from tests.search.passages import new_org
from webapp.db import reading
from webapp.documents.model import ProcessingRun
from webapp.documents.states import RunState
from webapp.jobs.states import Priority

# Of the crowd, until the worker is warm.
WARM_UP = 100
_BETWEEN_SECONDS = 0.5


def behind(at: Place, worker: Worker, org_id: UUID, seed: int) -> tuple[float, int]:
    """Upload one more document: how long it waits, and how many others begin before it."""
    document_id = at.upload(org_id, page("texts", seed), f"letter-{seed}.txt", Priority.BULK)
    uploaded_at, others = time.monotonic(), 0
    while True:
        moment, begun = worker.begun()
        if begun == document_id:
            return max(0.0, moment - uploaded_at), others
        others += moment > uploaded_at


def seat_seconds(org_id: UUID) -> list[float]:
    """How long a thread worked on each of the crowd's documents."""
    runs = select(ProcessingRun).where(ProcessingRun.org_id == org_id, ProcessingRun.state == RunState.SUCCEEDED)
    with reading(org_id) as session:
        return [
            (run.finished_at - run.started_at).total_seconds()
            for run in session.scalars(runs)
            if run.started_at and run.finished_at
        ]


def main() -> None:
    """Print how many went before, and the wait."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowd", type=int, default=100_000, help="documents of the other org")
    parser.add_argument("--number", type=int, default=20, help="of documents that are uploaded meanwhile")
    given = parser.parse_args()
    title(f"One org's document behind {given.crowd:,} of another org, PostgreSQL, {given.number} times")
    pause, found = threading.Event(), []
    with place("postgresql") as at:
        big, small = new_org(), new_org()
        first = at.upload(big, page("texts", 0), "first.txt", Priority.BULK)
        assert at.owner_url is not None
        copy(at.owner_url, first, given.crowd)
        with Worker(at) as worker:
            for _ in range(WARM_UP):
                worker.begun()
            for seed in range(1, 1 + given.number):
                pause.wait(_BETWEEN_SECONDS)
                found.append(behind(at, worker, small, seed))
        seats = seat_seconds(big)
    waits, others = [seconds for seconds, _ in found], max(number for _, number in found)
    (p50, _), (seat_p50, _) = p50_p99(waits), p50_p99(seats)
    row("documents of the crowd that begin before it", f"at most {others}", wanted="≤ 1", holds=others <= 1)
    row(
        "its wait",
        f"p50 {p50:.0f} ms, max {max(waits) * 1000:.0f} ms",
        wanted="≤ a document's work",
        beside=f"work p50 {seat_p50:.0f} ms, max {max(seats) * 1000:.0f} ms",
        holds=p50 <= seat_p50 and max(waits) <= max(seats),
    )


if __name__ == "__main__":
    main()
