"""How many one-page documents become READY in a second, beside a plain loop that stores nothing.

Run as `python -m bench.documents [--only sqlite] [--kind texts] [--number N] [--rounds N]`. The documents are uploaded
before the clock starts; it stops at the last READY. On SQLite the embedded host works, on PostgreSQL a worker process.
The loop calls the same reader (in its sandbox), chunker and embedder on as many threads, half of it before ours and
half after. Commits are those that wrote something: counted in the process on SQLite, by the server's transaction ids
on PostgreSQL.
"""

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import psycopg
from flask_migrate import upgrade
from sqlalchemy import func, select

from bench._databases import DATABASES
from bench._documents_loop import CONTENT_TYPES, ENDINGS, documents_per_second, page, warm_up
from tests.bare import dispose, make_bare_app, settings_for
from tests.search.passages import new_org
from webapp.config import Settings
from webapp.db import reading
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, RunState
from webapp.library.intake import ingest, receive
from webapp.services import Services
from webapp.wiring import wire

ROOT = Path(__file__).resolve().parent.parent
NUMBERS = {"texts": 1_000, "pdfs": 500}
_seeds = count(1)


@dataclass(frozen=True)
class Figures:
    """What one round of ours came to."""

    per_second: float
    commits: float
    syncs: float
    queue_share: float
    cpu: float


@dataclass(frozen=True)
class Place:
    """A database, and what works on it."""

    name: str
    variables: Mapping[str, str]
    settings: Settings
    services: Services
    owner_url: str | None

    def upload(self, kind: str, number: int) -> None:
        """Queue so many documents, each with one page like no other."""
        org_id = new_org()
        for seed in (next(_seeds) for _ in range(number)):
            data = page(kind, seed)
            incoming = receive(self.services.providers.blobs.incoming(), io.BytesIO(data), len(data))
            ingest(self.services, org_id, incoming, f"page-{seed}.{ENDINGS[kind]}")

    def commits(self) -> int:
        """How many transactions have changed something on the server so far; this one is among them."""
        if self.owner_url is None:
            return 0
        with psycopg.connect(self.owner_url, autocommit=True) as connection:
            row = connection.execute("SELECT pg_current_xact_id()::text::bigint").fetchone()
        assert row is not None
        return int(row[0])


@contextmanager
def place(name: str) -> Iterator[Place]:
    """A new database, migrated."""
    with DATABASES[name]() as given:
        variables = {**given, "MODELS_DIR": os.environ.get("MODELS_DIR", str(ROOT / ".cache" / "models"))}
        settings = settings_for(Path(given["DATA_DIR"]), **{n: v for n, v in variables.items() if n != "DATA_DIR"})
        app = make_bare_app(settings)
        services = wire(settings)
        with app.app_context():
            upgrade()
            yield Place(name, variables, settings, services, given.get("DATABASE_OWNER_URL"))
        dispose(app)


def ours(at: Place, kind: str, number: int) -> Figures:
    """Work off so many documents in a process of the product."""
    at.upload(kind, number)
    environment = {**os.environ, **at.variables, "SECRET_KEY": "a key for measuring only"}
    environment.pop("DATABASE_OWNER_URL", None)
    command = [sys.executable, "-m", "bench._documents"]
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        before = at.commits()
        child.stdin.write(b"\n")
        child.stdin.flush()
        found = json.loads(child.stdout.readline())
        commits = found.get("commits", 0) or at.commits() - before - 1
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
    """Print a line for each round, and the middle of their ratios."""
    ratios = []
    for _ in range(rounds):
        before, cpu = loop(at, kind, number // 2)
        mine = ours(at, kind, number)
        after, cpu_after = loop(at, kind, number - number // 2)
        plain, cpu = 2 / (1 / before + 1 / after), (cpu + cpu_after) / 2
        ratios.append(mine.per_second / plain)
        print(
            f"  {at.name:<11} {kind:<6} {mine.per_second:6.1f}/s   plain loop {plain:6.1f}/s   ratio {ratios[-1]:.2f}"
            f"   a document: {mine.commits:.1f} commits, {mine.syncs:.1f} syncs of files"
            f"   the queue: {mine.queue_share:.1%} of the threads' time"
            f"   CPU of the process: {mine.cpu * 1000:.1f} ms, plain {cpu * 1000:.1f} ms",
            flush=True,
        )
    if rounds > 1:
        print(f"  {at.name:<11} {kind:<6} the middle of {rounds} ratios: {statistics.median(ratios):.2f}", flush=True)


def main() -> None:
    """Print a line for each database, kind and round."""
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=DATABASES, action="append")
    parser.add_argument("--kind", choices=NUMBERS, action="append")
    parser.add_argument("--number", type=int, help="of documents; 1,000 texts and 500 PDFs where nothing is said")
    parser.add_argument("--rounds", type=int, default=1)
    given = parser.parse_args()
    for name in given.only or DATABASES:
        with place(name) as at:
            for kind in given.kind or NUMBERS:
                measure(at, kind, given.number or NUMBERS[kind], given.rounds)


if __name__ == "__main__":
    main()
