"""What a fleet of 1,000 seats costs PostgreSQL, with the database's own claim and with BullMQ in front.

Run as `python -m bench.fleet [--queue database|bullmq] [--seats N] [--processes N] [--seconds S] [--measure S]`.
Worker processes are the product's own; their handlers sleep. Documents of 20 orgs come in steadily, so many that nine
of ten seats are busy. Without --queue two fleets work at the same time, one with each. Statements on the wire and the
CPU of each are taken from the server's log, for a part of the time; the CPU of all of PostgreSQL and the documents a
second from the rest, when it logs nothing.

Finding work is: looking for due jobs, polling, waking, making delayed jobs due. A claim both finds and leases. Of its
CPU the part that BullMQ's claim needs, which is told the ids, is the lease; a claim that leases nothing is all finding.
"""

import argparse
import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count, cycle
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Barrier
from uuid import uuid4

from sqlalchemy import func, select

from bench._place import Place, Worker, place
from bench._redis import queue_settings, used_by
from bench._server_costs import Sent, Server, Share, cpu_of, shares
from bench._table import row, title
from tests.redis_server import RedisServer
from tests.search.passages import new_org
from webapp.config.dispatch import QueueKind
from webapp.db import reading, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import RunState
from webapp.jobs.states import Priority
from webapp.runs import lifecycle

ORGS = 20
LOAD = 0.9
CONNECTIONS = 400
FINDING_LEAST, CPU_MOST, RATE_LEAST = 5.0, 1.1, 0.95
# Of the machine, for all of ours together: a third is to stay idle.
BUSY_MOST = 2 / 3
_LOGGED_SECONDS = 20.0


@dataclass
class Figures:
    """What one fleet came to in the time that was measured."""

    documents_per_second: float = 0.0
    postgresql: float = 0.0
    """Seconds of CPU for a document, and so are those of the others."""
    workers: float = 0.0
    redis: float = 0.0
    redis_commands: float = 0.0
    busy: float = 0.0
    """The share of the machine that all of ours used."""
    sessions: int = 0
    shares: dict[str, Share] = field(default_factory=dict)
    documents_logged: int = 0

    def of(self, name: str) -> Share:
        """A class's statements and CPU for a document."""
        share = self.shares.get(name, Share())
        return Share(share.number / self.documents_logged, share.seconds / self.documents_logged)


# The classes of statements, by words in them; the first that fits.
CLASSES = (
    ("due jobs", ("-- Reads the next due jobs",)),
    ("stages", ("(SELECT min(document_processing_jobs.stage)",)),
    ("controls", ("stage_controls", "docmill stage limits")),
    ("let in", ("wakes_at <= statement_timestamp()",)),
    ("sleep", ("LISTEN ", "pg_advisory_lock_shared", "pg_advisory_unlock_all")),
    ("announce", ("pg_notify",)),
    ("presence", ("FROM workers", "INTO workers", "UPDATE workers", "pg_locks")),
    ("heartbeat", ("SET heartbeat_at=",)),
    ("upload", ("INSERT INTO documents",)),
)
# A transaction's BEGIN and COMMIT belong to the first of these that is in it.
ORDER = ["upload", "lease", "empty claim", "due jobs", "stages", "let in", "sleep", "controls", "announce"]
ORDER += ["presence", "heartbeat", "work"]
FINDING = ("empty claim", "due jobs", "stages", "let in", "sleep")
_WITHOUT_CLASS = ("BEGIN", "COMMIT", "ROLLBACK", "SELECT set_config")


def class_of(sent: Sent) -> str | None:
    """The class of a statement; None where that depends on its transaction."""
    text = " ".join(sent.text.split())
    if text.startswith(_WITHOUT_CLASS):
        return None
    if text.startswith("-- Claims one due job"):
        return "lease" if sent.changes else "empty claim"
    return next((name for name, words in CLASSES if any(each in text for each in words)), "work")


class Feeder:
    """Adds documents at a steady rate, as an upload does it, but without files."""

    def __init__(self, at: Place) -> None:
        self._at = at
        self._orgs = cycle([new_org() for _ in range(ORGS)])
        self._ending = threading.Event()

    def add(self) -> None:
        """One document of the next org."""
        org_id = next(self._orgs)
        document = Document(
            org_id=org_id,
            filename="page.txt",
            content_type="text/plain",
            size_bytes=1,
            sha256=uuid4().hex * 2,
            blob_path="nowhere",
        )
        with transaction(org_id) as session:
            session.add(document)
            session.flush()
            queue = self._at.services.queue
            lifecycle.queue_first_run(
                queue, org_id, document.id, "text/plain", max_attempts=5, priority=Priority.PERSON
            )

    @contextmanager
    def feeding(self, per_second: float) -> Iterator[None]:
        """Until the block ends."""
        thread = threading.Thread(target=self._feed, args=[per_second])
        thread.start()
        try:
            yield
        finally:
            self._ending.set()
            thread.join()

    def _feed(self, per_second: float) -> None:
        began_at = time.monotonic()
        with self._at.app.app_context():
            for number in count():
                if self._ending.wait(max(0.0, began_at + number / per_second - time.monotonic())):
                    return
                self.add()


def ended(at: Place) -> int:
    """How many documents are done."""
    with reading(everywhere=True) as session:
        return session.scalar(select(func.count()).where(ProcessingRun.state == RunState.SUCCEEDED)) or 0


def measure(at: Place, workers: list[Worker], redis: RedisServer | None, seconds: float) -> Figures:
    """Wait for so long, and then for some more with the log on."""
    assert at.owner_url is not None
    found, server = Figures(), Server(at.owner_url)

    def used() -> tuple[int, float, float, float, float, float, float]:
        of_redis, commands = used_by(redis) if redis is not None else (0.0, 0.0)
        of_workers = sum(cpu_of(worker.process.pid) for worker in workers)
        own = cpu_of(os.getpid())
        return ended(at), server.cpu(), of_workers, of_redis, commands, own, time.monotonic()

    before = used()
    threading.Event().wait(seconds)
    number, postgresql, of_workers, of_redis, commands, own, took = (
        after - earlier for after, earlier in zip(used(), before, strict=True)
    )
    found.documents_per_second = number / took
    found.postgresql, found.workers = postgresql / number, of_workers / number
    found.redis, found.redis_commands = of_redis / number, commands / number
    found.busy = (postgresql + of_workers + of_redis + own) / took / (os.cpu_count() or 1)
    found.sessions = server.sessions()
    first = ended(at)
    with server.noting() as sent:
        threading.Event().wait(_LOGGED_SECONDS)
    found.documents_logged = ended(at) - first
    found.shares = shares(sent, class_of, ORDER)
    server.close()
    return found


@dataclass(frozen=True)
class Size:
    """How many seats in how many processes, and how long a document takes."""

    seats: int
    processes: int
    seconds: float
    measured: float


def fleet(queue: str, size: Size, ready: Barrier) -> Figures:
    """Start a fleet on a new database, let it fill its seats, and measure when all fleets are ready."""
    with ExitStack() as opened:
        variables, redis = opened.enter_context(queue_settings(queue))
        variables |= {
            "WORKER_THREADS": str(size.seats // size.processes),
            "FLEET_SECONDS": str(size.seconds),
            "RUN_TIMEOUT_SECONDS": str(100 * size.seconds + 7200),
        }
        at = opened.enter_context(place("postgresql", connections=CONNECTIONS))
        feeder = Feeder(at)
        with ThreadPoolExecutor(size.processes) as pool:
            made = pool.map(lambda _: Worker(at, program="bench._fleet_worker", **variables), range(size.processes))
            workers = [opened.enter_context(worker) for worker in made]
        opened.enter_context(feeder.feeding(LOAD * size.seats / size.seconds))
        ready.wait()
        threading.Event().wait(2 * size.seconds)
        return measure(at, workers, redis, size.measured)


def show(queue: str, found: Figures) -> None:
    """Print the figures of one fleet."""
    title(f"A fleet with QUEUE={queue}; for each document")
    row("documents a second", f"{found.documents_per_second:.1f}")
    row("share of the machine", f"{found.busy:.0%}", wanted=f"≤ {BUSY_MOST:.0%}", holds=found.busy <= BUSY_MOST)
    row("sessions of PostgreSQL", str(found.sessions))
    row("CPU of PostgreSQL", f"{found.postgresql * 1000:.2f} ms")
    row("CPU of workers", f"{found.workers * 1000:.2f} ms")
    if found.redis_commands:
        row("CPU of Redis, and its commands", f"{found.redis * 1000:.2f} ms, {found.redis_commands:.1f}")
    for name in ORDER:
        share = found.of(name)
        row(f"  {name}: statements and their CPU", f"{share.number:.2f}, {share.seconds * 1000:.3f} ms")


def main() -> None:
    """Print each fleet's figures, and compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queue", choices=list(QueueKind), action="append")
    parser.add_argument("--seats", type=int, default=1_000)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=30.0, help="that a document takes")
    parser.add_argument("--measure", type=float, default=60.0, help="seconds")
    given = parser.parse_args()
    size = Size(given.seats, given.processes, given.seconds, given.measure)
    found = at_once(given.queue or list(map(str, QueueKind)), size)
    for queue, figures in found.items():
        show(queue, figures)
    if len(found) == len(QueueKind):
        compare(found[QueueKind.DATABASE], found[QueueKind.BULLMQ])


def at_once(queues: Sequence[str], size: Size) -> dict[str, Figures]:
    """The figures of these fleets, which work at the same time, so that what else the machine does hits them alike."""
    context = multiprocessing.get_context("spawn")
    ready, answers = context.Barrier(len(queues)), context.SimpleQueue()
    fleets = [context.Process(target=_work, args=(queue, size, ready, answers)) for queue in queues]
    for each in fleets:
        each.start()
    found = dict(answers.get() for _ in fleets)
    for each in fleets:
        each.join()
    return {queue: found[queue] for queue in queues}


def _work(queue: str, size: Size, ready: Barrier, answers: "SimpleQueue[tuple[str, Figures]]") -> None:
    answers.put((queue, fleet(queue, size, ready)))


def compare(database: Figures, bullmq: Figures) -> None:
    """Print what must hold between the two."""
    # Only the claim that is told no ids searches.
    searching = max(0.0, database.of("lease").seconds - bullmq.of("lease").seconds)

    def finding(found: Figures) -> tuple[float, float]:
        own = [found.of(name) for name in FINDING]
        return sum(each.number for each in own), sum(each.seconds for each in own)

    (number, seconds), (number_with, seconds_with) = finding(database), finding(bullmq)
    seconds += searching
    title("With BullMQ beside PostgreSQL alone, for each document")
    ratios = (
        ("statements that find work", number, number_with, ""),
        ("their CPU", seconds * 1000, seconds_with * 1000, " ms"),
    )
    for what, alone, with_bullmq, unit in ratios:
        times = alone / with_bullmq if with_bullmq else float("inf")
        row(
            what,
            f"{with_bullmq:.3f}{unit}, {times:.1f} x fewer",
            wanted=f"≥ {FINDING_LEAST} x fewer",
            beside=f"PostgreSQL alone {alone:.3f}{unit}",
            holds=times >= FINDING_LEAST,
        )
    cpu, rate = bullmq.postgresql / database.postgresql, bullmq.documents_per_second / database.documents_per_second
    row("CPU of PostgreSQL", f"{cpu:.2f} x", wanted=f"≤ {CPU_MOST} x", holds=cpu <= CPU_MOST)
    row("documents a second", f"{rate:.3f} x", wanted=f"≥ {RATE_LEAST} x", holds=rate >= RATE_LEAST)


if __name__ == "__main__":
    main()
