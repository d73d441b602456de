"""Our queue beside others, on the same PostgreSQL in the same run: medians, and how many times theirs.

Run as `python -m bench.queue [--quick] [--ram] [--only drain …]` (a plain `python bench/queue.py` would hide the
standard library's `queue`). Everything is at its default durability; `--ram` puts the databases into memory,
which takes the disk's noise away. Peers: `pip install -r bench/_peers/requirements.txt`.
"""

import argparse
import os
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path

import psycopg
from flask_migrate import upgrade

from bench import _databases, _processes
from bench._peers import PEERS, Peer, on_docmill, on_raw, peer
from bench._processes import Workers
from webapp.db import db
from webapp.jobs.queue import NewJob
from webapp.jobs.sql import SqlJobQueue

OURS = "docmill"
EACH_CLAIMS = 10
_WARM_UP = 500
_SETTLE_SECONDS = 1.5


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    jobs: int
    rounds: int
    pickups: int
    crowd: int
    claims: int


QUICK = Size(jobs=5_000, rounds=1, pickups=100, crowd=100_000, claims=100)
FULL = Size(jobs=20_000, rounds=3, pickups=300, crowd=1_000_000, claims=300)


def installed() -> Iterator[tuple[str, Peer]]:
    """The queues that can be measured here."""
    for name in PEERS:
        found = peer(name)
        if found is None:
            print(f"  {name:<14} not installed: pip install -r bench/_peers/requirements.txt")
        else:
            yield name, found


def report(what: str, rates: dict[str, float], unit: str = "/s") -> None:
    """Each queue's figure, and how many times its figure ours is."""
    for name, rate in rates.items():
        ratio = f"   ours is {rates[OURS] / rate:.2f} x this" if OURS in rates and name != OURS else ""
        print(f"  {what:<28} {name:<14} {rate:>10,.{0 if rate >= 100 else 2}f}{unit}{ratio}", flush=True)


def rounds_of(act: Callable[[str, str, Peer], float], owner_url: str, rounds: int) -> dict[str, float]:
    """Every queue in turn, as many times: the medians. In turn, so that all meet the same weather."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, one in installed():
            with _processes.database(owner_url, f"bench_{name}") as url:
                one.install(url)
                found.setdefault(name, []).append(act(url, name, one))
    return {name: statistics.median(values) for name, values in found.items()}


def drain(owner_url: str, size: Size) -> None:
    """No-op jobs a second, by real worker processes, until the database shows none unfinished."""
    for processes in (1, 2):

        def drained(url: str, name: str, one: Peer, processes: int = processes) -> float:
            jobs = size.jobs // 5 if name == "procrastinate" else size.jobs
            with Workers(name, url, processes) as workers:
                workers.go()
                one.enqueue(url, _WARM_UP)
                _processes.wait_until_done(url, one.UNFINISHED)
                # All begin idle, and find everything at once: what starting costs is not asked here.
                threading.Event().wait(_SETTLE_SECONDS)
                one.enqueue(url, jobs, batch=jobs)
                began_at = time.perf_counter()
                return jobs / (_processes.wait_until_done(url, one.UNFINISHED) - began_at)

        report(f"drain, {processes} process(es)", rounds_of(drained, owner_url, size.rounds))


def each(owner_url: str, size: Size) -> None:
    """Claims of 10, and a commit of its own for each job that ends; four threads of one process."""
    found: dict[str, list[float]] = {OURS: [], "raw": []}
    for _ in range(size.rounds):
        with _processes.database(owner_url, "bench_each") as url:
            on_docmill.install(url)
            on_docmill.enqueue(url, size.jobs)
            found[OURS].append(_by_threads(on_docmill.each_on(url, EACH_CLAIMS), size.jobs))
            on_raw.install(url)
            on_raw.enqueue(url, size.jobs)
            found["raw"].append(_by_threads(on_raw.each_on(url, EACH_CLAIMS), size.jobs))
    report(f"each, claims of {EACH_CLAIMS}", {name: statistics.median(rates) for name, rates in found.items()})


def _by_threads(opened: on_raw.Each, jobs: int) -> float:
    """Jobs a second; all threads have their connections before the first begins."""
    ready = threading.Barrier(on_raw.THREADS + 1)

    def work(_: int) -> int:
        with opened() as drain_one_by_one:
            ready.wait(_processes.PATIENCE_SECONDS)
            return drain_one_by_one()

    with ThreadPoolExecutor(on_raw.THREADS) as threads:
        results = threads.map(work, range(on_raw.THREADS))
        ready.wait(_processes.PATIENCE_SECONDS)
        began_at = time.perf_counter()
        done = sum(results)
    assert done == jobs, f"{done} of {jobs} were done"
    return jobs / (time.perf_counter() - began_at)


def pickup(owner_url: str, size: Size) -> None:
    """From just before a job is enqueued to its first line, in an idle worker."""
    for name, one in installed():
        with _processes.database(owner_url, f"bench_{name}") as url:
            one.install(url)
            one.one_by_one(url, 1)
            with Workers(name, url, 1, BENCH_TELL="1") as workers:
                workers.go()
                workers.lines(1)
                moments = one.one_by_one(url, size.pickups)
                starts = [int(line) / 1e9 for line in workers.lines(size.pickups)]
        _milliseconds(f"pickup {name}", [start - at for start, at in zip(starts, moments, strict=False)])


def _milliseconds(what: str, seconds: list[float]) -> float:
    ordered = sorted(second * 1000 for second in seconds)
    middle, late = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.99)]
    print(f"  {what:<43} p50 {middle:>7.2f} ms   p99 {late:>7.2f} ms", flush=True)
    return middle


def enqueue(owner_url: str, size: Size) -> None:
    """Jobs a second: one commit each, and in statements of 1,000."""

    def singly(url: str, name: str, one: Peer) -> float:
        moments = one.one_by_one(url, max(1_000, size.jobs // 10))
        return (len(moments) - 1) / (moments[-1] - moments[0])

    def in_bulk(url: str, name: str, one: Peer) -> float:
        return size.jobs / one.enqueue(url, size.jobs)

    report("enqueue one by one", rounds_of(singly, owner_url, size.rounds))
    report("enqueue in bulk", rounds_of(in_bulk, owner_url, size.rounds))


def claim(owner_url: str, size: Size) -> None:
    """How long a claim of one job takes, beside how many others."""
    with _processes.database(owner_url, "bench_claim") as url:
        on_docmill.install(url)
        empty = _claims(url, size, "claim, nothing else")
        _crowd(url, size.crowd, "COMPLETED")
        done = _claims(url, size, f"claim beside {size.crowd:,} finished")
        _crowd(url, size.crowd, "PENDING")
        queued = _claims(url, size, f"claim beside {size.crowd:,} queued, too")
        print(f"  {'':<43} {done / empty:.2f} x and {queued / empty:.2f} x the first")


def _claims(url: str, size: Size, what: str) -> float:
    with on_docmill.queue_on(url) as queue:
        queue.enqueue(on_docmill.new_jobs(size.claims + 20))
        seconds = []
        for number in range(size.claims + 20):
            began_at = time.perf_counter()
            (lease,) = queue.claim("bench", 1)
            if number >= 20:
                seconds.append(time.perf_counter() - began_at)
            queue.complete(lease)
    return _milliseconds(what, seconds)


def _crowd(url: str, number: int, status: str) -> None:
    """So many more jobs, of an org of their own; queued ones are less urgent, so that they stay."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _CROWD:
            connection.execute(statement, {"number": number, "status": status, "org": status})
        connection.execute("ANALYZE")


_CROWD = (
    "INSERT INTO orgs (id, name, created_at) VALUES (md5(%(org)s)::uuid, %(org)s, now())",
    """
    INSERT INTO documents (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at,
        updated_at)
    SELECT uuidv7(), md5(%(org)s)::uuid, 'a', 'text/plain', 1, md5(n::text) || md5(n::text), 'a', 'PROCESSING',
        now(), now()
    FROM generate_series(1, %(number)s) AS n
    """,
    """
    INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at)
    SELECT uuidv7(), org_id, id, 'QUEUED', 'UPLOAD', now() FROM documents WHERE org_id = md5(%(org)s)::uuid
    """,
    """
    INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
        attempts, max_attempts, available_at, created_at, completed_at, error_log, updated_at)
    SELECT uuidv7(), org_id, document_id, id, 'noop', %(status)s, 10, '{}', '{}', 0, 5, now(), now(),
        CASE %(status)s WHEN 'COMPLETED' THEN now() END, '[]', now()
    FROM processing_runs WHERE org_id = md5(%(org)s)::uuid
    """,
)


def fair(owner_url: str, size: Size) -> None:
    """One org has 10,000 jobs in line. How many of them begin before another org's one, which comes later?"""
    with _processes.database(owner_url, "bench_fair") as url, _slow_jobs(url, 10_000, 0.02) as (queue, workers):
        workers.lines(200)
        (job,) = _lasting(0.02, 1)
        queue.enqueue([job])
        enqueued_at = time.monotonic_ns()
        before = 0
        while True:
            moment, _, _, org = workers.lines(1)[0].split()
            if org.decode() == job.org_id.hex:
                break
            before += int(moment) > enqueued_at
        waited = (int(moment) - enqueued_at) / 1e6
    print(f"  {'fairness':<28} {before} others began first, with 4 seats; it waited {waited:.0f} ms")


def kill(owner_url: str, size: Size) -> None:
    """Kill -9 of a worker in the middle of its job, until the first line of that job elsewhere."""
    seconds = []
    for _ in range(size.rounds):
        with _processes.database(owner_url, "bench_kill") as url, _slow_jobs(url, 1, 30) as (_, workers):
            ready = threading.Event()
            lines: list[tuple[int, bytes]] = []

            def listen(of: int, lines: list[tuple[int, bytes]] = lines, ready: threading.Event = ready) -> None:
                line = workers.lines(1, of)[0]
                if line:
                    lines.append((of, line))
                    ready.set()

            for of in (0, 1):
                threading.Thread(target=listen, args=(of,), daemon=True).start()
            assert ready.wait(_processes.PATIENCE_SECONDS)
            victim = lines[0][0]
            killed_at = time.monotonic_ns()
            os.kill(workers.processes[victim].pid, signal.SIGKILL)
            _processes.wait_until(partial(_has_two, lines))
            seconds.append((int(lines[1][1].split()[0]) - killed_at) / 1e9)
    print(f"  {'kill -9 to the job again':<28} {statistics.median(seconds):.2f} s")


def _has_two(lines: Sized) -> bool:
    return len(lines) == 2


@contextmanager
def _slow_jobs(url: str, number: int, seconds: float) -> Iterator[tuple[SqlJobQueue, Workers]]:
    """Workers at jobs that last; two processes where there is but one job."""
    on_docmill.install(url)
    with on_docmill.queue_on(url) as queue, Workers(OURS, url, 2 if number == 1 else 1) as workers:
        workers.go()
        queue.enqueue(_lasting(seconds, number))
        yield queue, workers


def _lasting(seconds: float, number: int) -> list[NewJob]:
    return [
        NewJob(job.org_id, job.document_id, job.run_id, job.stage, max_attempts=5, payload={"seconds": seconds})
        for job in on_docmill.new_jobs(number)
    ]


def sqlite(size: Size) -> None:
    """No-op jobs a second on SQLite with synchronous FULL, beside huey's default."""
    found: dict[str, list[float]] = {}
    for _ in range(size.rounds):
        with tempfile.TemporaryDirectory() as folder:
            found.setdefault(OURS, []).append(_drain_sqlite(folder, size.jobs))
        for threads in (1, 4):
            with tempfile.TemporaryDirectory() as folder:
                if (rate := _drain_huey(folder, size.jobs, threads)) is not None:
                    found.setdefault(f"huey, {threads} thread(s)", []).append(rate)
    report("drain SQLite", {name: statistics.median(rates) for name, rates in found.items()})


def _drain_sqlite(folder: str, jobs: int) -> float:
    variables = {"DATA_DIR": folder, "EXECUTION": "embedded"}
    with on_docmill.queue_on("", **variables) as queue:
        upgrade()
        queue.enqueue(on_docmill.new_jobs(jobs))

        def is_done() -> bool:
            live = "SELECT 1 FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING') LIMIT 1"
            with db.engine.connect().execution_options(docmill_writes=False) as connection:
                return connection.exec_driver_sql(live).first() is None

        with Workers(OURS, "", 1, BENCH_FOLDER=folder) as workers:
            began_at = workers.go()
            return jobs / (_processes.wait_until(is_done) - began_at)


def _drain_huey(folder: str, jobs: int, threads: int) -> float | None:
    try:
        huey = import_module("huey")
    except ModuleNotFoundError:
        return None
    queue = huey.SqliteHuey(filename=str(Path(folder) / "huey.db"))
    task = queue.task()(_nothing)
    for _ in range(jobs):
        task()
    consumer = queue.create_consumer(workers=threads, periodic=False)
    began_at = time.perf_counter()
    consumer.start()
    took = _processes.wait_until(lambda: queue.pending_count() == 0) - began_at
    consumer.stop(graceful=True)
    return jobs / took


def _nothing() -> None:
    """A job."""


ON_POSTGRESQL = {
    "drain": drain,
    "each": each,
    "pickup": pickup,
    "enqueue": enqueue,
    "claim": claim,
    "fair": fair,
    "kill": kill,
}


def main() -> None:
    """Print the figures of each section."""
    sections = [*ON_POSTGRESQL, "sqlite"]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="less of everything, in under two minutes")
    parser.add_argument("--ram", action="store_true", help="databases in memory")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", nargs="+", choices=sections, default=sections)
    options = parser.parse_args()
    size = QUICK if options.quick else FULL
    size = Size(**{**vars(size), "rounds": options.rounds or size.rounds})
    if options.ram:
        tempfile.tempdir = "/dev/shm"  # noqa: S108 - a folder of our own is made in there
    if set(options.only) - {"sqlite"}:
        with _databases.postgresql() as variables:
            for name in (name for name in ON_POSTGRESQL if name in options.only):
                ON_POSTGRESQL[name](variables["DATABASE_OWNER_URL"], size)
    if "sqlite" in options.only:
        sqlite(size)


if __name__ == "__main__":
    main()
