"""Our queue beside others, on the same PostgreSQL in the same run: medians, and how many times theirs.

Run as `python -m bench.queue [--quick] [--ram] [--only drain …]` (a plain `python bench/queue.py` would hide the
standard library's `queue`). Everything is at its default durability; `--ram` puts the databases into memory,
which takes the disk's noise away. Peers: `pip install -r bench/_peers/requirements.txt`.
"""

import argparse
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg

from bench import _databases, _processes
from bench._figures import FULL, OURS, QUICK, Size, installed, milliseconds, report
from bench._peers import Peer, on_docmill, on_raw
from bench._processes import Workers
from bench._queue_faults import fair, frozen, kill
from bench._queue_sqlite import embedded, sqlite

EACH_CLAIMS = 10
_WARM_UP = 500
_SETTLE_SECONDS = 1.5


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
                return _drained(workers, url, one, jobs)

        report(f"drain, {processes} process(es)", rounds_of(drained, owner_url, size.rounds))


def ordinary(owner_url: str, size: Size) -> None:
    """The same for jobs that each start and end a run, write two events and change a document, as the product's do."""
    for processes in (1, 2):
        found = []
        for _ in range(size.rounds):
            with _processes.database(owner_url, "bench_ordinary") as url:
                on_docmill.install(url)
                with Workers(OURS, url, processes, BENCH_ORDINARY="1") as workers:
                    found.append(_drained(workers, url, on_docmill, size.jobs // 5))
        report(f"whole runs, {processes} process(es)", {OURS: statistics.median(found)})


def _drained(workers: Workers, url: str, one: Peer, jobs: int) -> float:
    """Jobs a second. All begin idle, and find everything at once: what starting costs is not asked here."""
    workers.go()
    one.enqueue(url, _WARM_UP)
    _processes.wait_until_done(url, one.UNFINISHED)
    threading.Event().wait(_SETTLE_SECONDS)
    one.enqueue(url, jobs, batch=jobs)
    began_at = time.perf_counter()
    return jobs / (_processes.wait_until_done(url, one.UNFINISHED) - began_at)


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
        milliseconds(f"pickup {name}", _pickups(owner_url, size, name, one))
    ordinary = _pickups(owner_url, size, OURS, on_docmill, BENCH_ORDINARY="1")
    milliseconds("pickup docmill, and its run is started", ordinary)


def _pickups(owner_url: str, size: Size, name: str, one: Peer, **environment: str) -> list[float]:
    with _processes.database(owner_url, f"bench_{name}") as url:
        one.install(url)
        one.one_by_one(url, 1)
        with Workers(name, url, 1, BENCH_TELL="1", **environment) as workers:
            workers.go()
            workers.lines(1)
            moments = one.one_by_one(url, size.pickups)
            starts = [int(line) / 1e9 for line in workers.lines(size.pickups)]
    return [start - at for start, at in zip(starts, moments, strict=False)]


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
    return milliseconds(what, seconds)


def _crowd(url: str, number: int, status: str) -> None:
    """So many more jobs, of an org of their own; queued ones are less urgent, so that they stay."""
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in _CROWD:
            connection.execute(statement, {"number": number, "status": status, "org": status})
            # Or the next one may look up what it refers to by statistics that know nothing of this org.
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


ON_POSTGRESQL = {
    "drain": drain,
    "ordinary": ordinary,
    "each": each,
    "pickup": pickup,
    "enqueue": enqueue,
    "claim": claim,
    "fair": fair,
    "kill": kill,
    "frozen": frozen,
}

ON_SQLITE = {"sqlite": sqlite, "embedded": embedded}


def main() -> None:
    """Print the figures of each section."""
    sections = [*ON_POSTGRESQL, *ON_SQLITE]
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
    if set(options.only) & set(ON_POSTGRESQL):
        with _databases.postgresql() as variables:
            for name in (name for name in ON_POSTGRESQL if name in options.only):
                ON_POSTGRESQL[name](variables["DATABASE_OWNER_URL"], size)
    for name in (name for name in ON_SQLITE if name in options.only):
        ON_SQLITE[name](size)


if __name__ == "__main__":
    main()
