"""How many one-page documents become READY in a second, beside a plain loop that stores nothing.

Run as `python -m bench.documents [--only sqlite] [--kind texts] [--number N] [--rounds N]`. The documents are uploaded
before the clock starts; it stops at the last READY. On SQLite the embedded host works, on PostgreSQL a worker process.
The loop calls the same reader (in its sandbox), chunker and embedder on as many threads, half of it before ours and
half after. Commits are those that wrote something: counted in the process on SQLite, by the server's transaction ids
on PostgreSQL.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
from sqlalchemy import func, select

from bench._databases import DATABASES
from bench._documents_loop import CONTENT_TYPES, ENDINGS, documents_per_second, page, warm_up
from bench._place import ROOT, Place, place
from bench._table import row, title
from tests.search.passages import new_org
from webapp.db import reading
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, RunState
from webapp.wiring import wire

NUMBERS = {"texts": 1_000, "pdfs": 500}
WANTED = {"sqlite": 0.75, "postgresql": 0.60}
_seeds = count(1)


@dataclass(frozen=True)
class Figures:
    """What one round of ours came to."""

    per_second: float
    commits: float
    syncs: float
    queue_share: float
    cpu: float


def upload(at: Place, kind: str, number: int) -> None:
    """Queue so many documents, each with one page like no other."""
    org_id = new_org()
    for seed in (next(_seeds) for _ in range(number)):
        at.upload(org_id, page(kind, seed), f"page-{seed}.{ENDINGS[kind]}")


def transactions(at: Place) -> int:
    """How many transactions have changed something on the server so far; this one is among them."""
    if at.owner_url is None:
        return 0
    with psycopg.connect(at.owner_url, autocommit=True) as connection:
        found = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
    assert found is not None
    return int(found[0])


def ours(at: Place, kind: str, number: int) -> Figures:
    """Work off so many documents in a process of the product."""
    upload(at, kind, number)
    with subprocess.Popen(
        [sys.executable, "-m", "bench._documents"],
        cwd=ROOT,
        env=at.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        before = transactions(at)
        child.stdin.write(b"\n")
        child.stdin.flush()
        found = json.loads(child.stdout.readline())
        commits = found.get("commits", 0) or transactions(at) - before - 1
    seconds = _last_ready(number) - found["began"]
    share = found["queue_seconds"] / (seconds * at.settings.queue.worker_threads)
    return Figures(number / seconds, commits / number, found.get("syncs", 0) / number, share, found["cpu"] / number)


def _last_ready(number: int) -> float:
    with reading(everywhere=True) as session:
        ready = session.scalar(select(func.count()).where(Document.status == DocumentStatus.READY))
        newest = select(ProcessingRun.finished_at).where(ProcessingRun.state == RunState.SUCCEEDED)
        newest = newest.order_by(ProcessingRun.finished_at.desc()).limit(1)
        finished_at = session.scalar(newest)
        waiting = session.scalar(select(func.count()).where(Document.status != DocumentStatus.READY))
    assert ready is not None
    assert ready >= number
    assert finished_at is not None
    assert not waiting, "some documents were not read"
    return finished_at.timestamp()


def loop(at: Place, kind: str, number: int) -> tuple[float, float]:
    """The documents a second of the plain loop, and its seconds of CPU for each."""
    providers = wire(at.settings).providers
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{each}.{ENDINGS[kind]}") for each in range(number)]
        for file in files:
            file.write_bytes(page(kind, next(_seeds)))
        warm_up(providers.extractor, providers.embedder)
        began = time.process_time()
        rate = documents_per_second(
            files, CONTENT_TYPES[kind], providers.extractor, providers.embedder, at.settings.queue.worker_threads
        )
        return rate, (time.process_time() - began) / number


def measure(at: Place, kind: str, number: int, rounds: int) -> None:
    """Print three lines for each round, and one for the middle of their ratios."""
    ratios = []
    for _ in range(rounds):
        before, cpu = loop(at, kind, number // 2)
        mine = ours(at, kind, number)
        after, cpu_after = loop(at, kind, number - number // 2)
        plain, cpu = 2 / (1 / before + 1 / after), (cpu + cpu_after) / 2
        ratios.append(mine.per_second / plain)
        _show(f"{at.name}, {kind}", mine, plain, cpu, WANTED[at.name])
    if rounds > 1:
        middle = statistics.median(ratios)
        what = f"{at.name}, {kind}: middle of {rounds} ratios"
        row(what, f"{middle:.2f}", wanted=f"≥ {WANTED[at.name]}", holds=middle >= WANTED[at.name])


def _show(what: str, mine: Figures, plain: float, plain_cpu: float, wanted: float) -> None:
    ratio = mine.per_second / plain
    beside = f"plain loop {plain:.1f}/s, {ratio:.2f} x"
    row(what, f"{mine.per_second:.1f}/s", wanted=f"≥ {wanted} x the loop", beside=beside, holds=ratio >= wanted)
    row("  CPU of the process for each", f"{mine.cpu * 1000:.1f} ms", beside=f"plain loop {plain_cpu * 1000:.1f} ms")
    row("  commits and syncs of files for each", f"{mine.commits:.1f} and {mine.syncs:.1f}")
    row("  share of the threads' time that is the queue's", f"{mine.queue_share:.1%}")


def main() -> None:
    """Measure on each database, for each kind."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=DATABASES, action="append")
    parser.add_argument("--kind", choices=NUMBERS, action="append")
    parser.add_argument("--number", type=int, help="of documents; 1,000 texts and 500 PDFs where nothing is said")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    title("One-page documents from queued to READY")
    for name in given.only or DATABASES:
        with place(name) as at:
            for kind in given.kind or NUMBERS:
                measure(at, kind, given.number or NUMBERS[kind], given.rounds)


if __name__ == "__main__":
    main()
