"""How long a claim takes beside 1,000,000 finished and 1,000,000 queued documents, and how long in an empty database.

Run as `python -m bench.claims [--crowd N] [--number N]`, on PostgreSQL. Short texts are uploaded, claimed one by one as
a worker claims them, and processed; only the claim is timed. Claims in the crowded database and in the empty one are
made in turn, so that both have the same share of the machine. The crowd is a bulk import of another org. An upload of
one file goes before it; one of several files takes turns with it, and then the claim has to choose between orgs.
"""

import argparse
import threading
import time
from statistics import median
from uuid import UUID

from bench._copies import copy
from bench._place import Place, place
from bench._table import p50_p99, row, title
from tests.search.passages import new_org
from webapp.jobs.states import Priority
from webapp.pipeline.handlers import HANDLERS
from webapp.runs import lifecycle
from webapp.worker.attempt import Attempts, Claimed
from webapp.worker.policy import ExecutionPolicy

WANTED = 1.2
WARM_UP = 20
_never = threading.Event()


class Claimer:
    """Uploads texts of one org to a database, and claims and processes them as a worker does."""

    def __init__(self, at: Place) -> None:
        self._at = at
        self._attempts = Attempts(at.services, ExecutionPolicy.of(at.settings), HANDLERS)
        with at.app.app_context():
            self._org_id = new_org()

    def upload(self, number: int, priority: int) -> None:
        """Queue so many texts."""
        with self._at.app.app_context():
            for _ in range(number):
                _upload(self._at, self._org_id, priority)

    def claim(self) -> float:
        """Claim a job; the seconds that took. Its document is processed, but one of the crowd is handed back."""
        with self._at.app.app_context():
            began_at = time.perf_counter()
            (claimed,) = self._attempts.claim("bench")
            seconds = time.perf_counter() - began_at
            self._end(claimed)
        return seconds

    def _end(self, claimed: Claimed) -> None:
        if claimed.lease.org_id == self._org_id:
            self._attempts.run(claimed, _never)
        else:
            lifecycle.release_job(self._at.services.queue, claimed.lease)


_texts = iter(range(10**9))


def _upload(at: Place, org_id: UUID, priority: int) -> UUID:
    number = next(_texts)
    return at.upload(org_id, f"Letter {number} about the harbour.".encode(), f"letter-{number}.txt", priority)


def add_crowd(at: Place, number: int, *, finished: bool) -> None:
    """So many documents of an org of their own, all READY or all in line."""
    with at.app.app_context():
        document_id = _upload(at, new_org(), Priority.BULK)
        if finished:
            attempts = Attempts(at.services, ExecutionPolicy.of(at.settings), HANDLERS)
            (claimed,) = attempts.claim("bench")
            attempts.run(claimed, _never)
    assert at.owner_url is not None
    copy(at.owner_url, document_id, number)


def _pair(crowded: Claimer, empty: Claimer, turn: int) -> tuple[float, float]:
    """A claim of both, each first in every second turn."""
    if turn % 2:
        return crowded.claim(), empty.claim()
    alone = empty.claim()
    return crowded.claim(), alone


def compare(crowded: Claimer, empty: Claimer, number: int, priority: int, what: str) -> None:
    """Print how long claims take in both."""
    for each in (crowded, empty):
        each.upload(WARM_UP + number, priority)
    pairs = [_pair(crowded, empty, turn) for turn in range(WARM_UP + number)][WARM_UP:]
    (ours, late), (alone, late_alone) = p50_p99([one for one, _ in pairs]), p50_p99([other for _, other in pairs])
    ratio = median(one / other for one, other in pairs)
    row(
        what,
        f"{ours:.2f} ms (p99 {late:.2f})",
        wanted=f"≤ {WANTED} x empty",
        beside=f"empty {alone:.2f} ms (p99 {late_alone:.2f}), {ratio:.2f} x",
        holds=ratio <= WANTED,
    )


def main() -> None:
    """Print a line for each crowd."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--crowd", type=int, default=1_000_000, help="documents, finished and queued each")
    parser.add_argument("--number", type=int, default=300, help="of claims")
    given = parser.parse_args()
    title(f"A claim on PostgreSQL, {given.number} times; ratios are the middle of pairs")
    with place("postgresql") as one, place("postgresql") as other:
        crowded, empty = Claimer(one), Claimer(other)
        add_crowd(one, given.crowd, finished=True)
        compare(crowded, empty, given.number, Priority.PERSON, f"beside {given.crowd:,} finished")
        add_crowd(one, given.crowd, finished=False)
        compare(crowded, empty, given.number, Priority.PERSON, f"and {given.crowd:,} queued of a bulk import")
        compare(crowded, empty, given.number, Priority.BULK, "the same, in turn with the bulk import")


if __name__ == "__main__":
    main()
