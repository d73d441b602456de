"""What becomes of jobs when others come in bulk, and when a worker dies or is frozen."""

import json
import os
import select
import signal
import statistics
import threading
import time
from collections.abc import Iterator, Sized
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import psycopg

from bench import _processes
from bench._figures import OURS, Size
from bench._peers import on_docmill
from bench._processes import Workers
from webapp.jobs.queue import NewJob
from webapp.jobs.sql import SqlJobQueue

_SETTLE_SECONDS = 2.5


def fair(owner_url: str, size: Size) -> None:
    """One org has very many jobs in line. How many of them begin before another org's one, which comes later?"""
    with _processes.database(owner_url, "bench_fair") as url, _slow_jobs(url, size.bulk, 0.02) as (queue, workers):
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
    words = f"{before} of {size.bulk:,} others began first, with 4 seats; it waited {waited:.0f} ms"
    print(f"  {'fairness':<28} {words}", flush=True)


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


def frozen(owner_url: str, size: Size) -> None:
    """A worker is stopped in the middle of its job for longer than its lease, and wakes when another has done it."""
    late = 0
    for _ in range(size.rounds):
        with _processes.database(owner_url, "bench_frozen") as url:
            on_docmill.install(url)
            with (
                on_docmill.queue_on(url) as queue,
                Workers(OURS, url, 2, BENCH_SETTINGS=json.dumps(_IMPATIENT)) as workers,
            ):
                workers.go()
                queue.enqueue(_lasting(0.5, 1, tells=True))
                late += _wakes_late(url, workers)
    print(f"  {'frozen past its lease':<28} {late} late writes in {size.rounds} rounds", flush=True)


_IMPATIENT = {"HEARTBEAT_SECONDS": "0.2", "ZOMBIE_AFTER_SECONDS": "2", "WATCHDOG_SECONDS": "0.2"}


def _wakes_late(url: str, workers: Workers) -> int:
    """How many rows the sleeper changed; it has come to the end of its attempt when this returns."""
    pids = [process.pid for process in workers.processes]
    sleeper, pid = _first_line(workers)
    os.kill(pid, signal.SIGSTOP)
    _processes.wait_until_done(url, on_docmill.UNFINISHED)
    before = _rows(url)
    os.kill(pid, signal.SIGCONT)
    said = workers.lines(1, sleeper)[0]
    after = _rows(url)
    assert said == b"lost\n", f"of {pids}, {pid} said {said!r}"
    return len(before ^ after)


def _first_line(workers: Workers) -> tuple[int, int]:
    """Which worker is the first to begin a job, and the number of its process."""
    pipes = [process.stdout for process in workers.processes if process.stdout is not None]
    (ready, *_), _, _ = select.select(pipes, [], [], _processes.PATIENCE_SECONDS)
    place = pipes.index(ready)
    workers.lines(1, place)
    return place, workers.processes[place].pid


def _rows(url: str) -> set[str]:
    """All that is known of jobs, runs and documents."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = ("document_processing_jobs", "processing_runs", "documents", "run_events")
        return {row[0] for table in tables for row in connection.execute(f"SELECT t::text FROM {table} t").fetchall()}


def _has_two(lines: Sized) -> bool:
    return len(lines) == 2


@contextmanager
def _slow_jobs(url: str, number: int, seconds: float) -> Iterator[tuple[SqlJobQueue, Workers]]:
    """Workers at jobs that last; two processes where there is but one job."""
    on_docmill.install(url)
    with on_docmill.queue_on(url) as queue, Workers(OURS, url, 2 if number == 1 else 1) as workers:
        workers.go()
        # Workers that have worked for a while know of each other.
        threading.Event().wait(_SETTLE_SECONDS)
        queue.enqueue(_lasting(seconds, number))
        yield queue, workers


def _lasting(seconds: float, number: int, **more: object) -> list[NewJob]:
    payload = {"seconds": seconds, **more}
    return [replace(job, payload=payload) for job in on_docmill.new_jobs(number)]
