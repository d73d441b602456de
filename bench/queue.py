"""Our queue beside others, on the same PostgreSQL in the same run: medians, and how many times theirs.

Run as `python -m bench.queue [--quick] [--ram] [--only runs …]` (a plain `python bench/queue.py` would hide the
standard library's `queue`). Everything is at its default durability; `--ram` puts the databases into memory,
which takes the disk's noise away. Peers: `pip install -r bench/_peers/requirements.txt`.
"""

import argparse
import statistics
import tempfile
import threading
import time

import psycopg

from bench import _databases, _processes
from bench._figures import FULL, OURS, QUICK, Size, installed, milliseconds, report
from bench._peers import Peer, on_docmill
from bench._processes import Workers
from bench._queue_faults import fair, frozen, kill
from bench._queue_sqlite import embedded

_WARM_UP = 500
_SETTLE_SECONDS = 1.5


def runs(owner_url: str, size: Size) -> None:
    """Jobs a second that each start and end a run, write two events and change a document, as every document does."""
    for processes in (1, 2):
        found = []
        for _ in range(size.rounds):
            with _processes.database(owner_url, "bench_runs") as url:
                on_docmill.install(url)
                with Workers(OURS, url, processes) as workers:
                    found.append(_drained(workers, url, size.jobs // 5))
        report(f"whole runs, {processes} process(es)", {OURS: statistics.median(found)})


def _drained(workers: Workers, url: str, jobs: int) -> float:
    """Jobs a second. All begin idle, and find everything at once: what starting costs is not asked here."""
    workers.go()
    on_docmill.enqueue(url, _WARM_UP)
    _processes.wait_until_done(url, on_docmill.UNFINISHED)
    threading.Event().wait(_SETTLE_SECONDS)
    on_docmill.enqueue(url, jobs, batch=jobs)
    began_at = time.perf_counter()
    return jobs / (_processes.wait_until_done(url, on_docmill.UNFINISHED) - began_at)


def pickup(owner_url: str, size: Size) -> None:
    """From just before a job is enqueued to its first line, in an idle worker; ours starts its run meanwhile."""
    for name, one in installed():
        milliseconds(f"pickup {name}", _pickups(owner_url, size, name, one))


def _pickups(owner_url: str, size: Size, name: str, one: Peer) -> list[float]:
    with _processes.database(owner_url, f"bench_{name}") as url:
        one.install(url)
        one.one_by_one(url, 1)
        with Workers(name, url, 1, BENCH_TELL="1") as workers:
            workers.go()
            workers.lines(1)
            moments = one.one_by_one(url, size.pickups)
            starts = [int(line) / 1e9 for line in workers.lines(size.pickups)]
    return [start - at for start, at in zip(starts, moments, strict=False)]


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
    "runs": runs,
    "pickup": pickup,
    "claim": claim,
    "fair": fair,
    "kill": kill,
    "frozen": frozen,
}

ON_SQLITE = {"embedded": embedded}


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
