"""How long pages take beside 1,000,000 documents on PostgreSQL, and 100,000 on SQLite, and a bare query beside them.

Run as `python -m bench.pages [--documents N] [--only postgresql] [--rounds 20]`. Times are the server's, through the
application as gunicorn would call it, with its session, row-level security and templates; CPU is what this process
computed for a page, whatever else the machine did. The bare peer is asked right after each page: it fetches rows of the
same kind with hand-written SQL, one connection, no row-level security, and makes no page of them.
"""

import argparse
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from statistics import mean
from typing import Any
from uuid import UUID

import psycopg
from flask import Flask
from flask.testing import FlaskClient
from flask_migrate import upgrade
from sqlalchemy import select

from bench import _crowd
from bench._databases import DATABASES
from bench._table import row, title
from webapp.accounts import sign_in, users
from webapp.accounts.roles import Role
from webapp.accounts.sessions import Visit
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import db, init_database, reading, transaction
from webapp.documents.model import Document
from webapp.library import lookup
from webapp.library.grid import Sort
from webapp.serving.memory import keep_what_is_loaded

_Bare = Callable[[str, UUID], Any]
SIZES = {"sqlite": 100_000, "postgresql": 1_000_000}
# Milliseconds that nineteen of twenty must stay below.
WANTED = {"sqlite": {"status": 10, "library": 100, "ops": 100}, "postgresql": {"status": 8, "library": 60, "ops": 80}}
FILTERS = ("", "invoice", "scan", "10000123", "legacy", "zebra", "invoice 2019", "contract 17")
OPS = (
    "/ops",
    "/ops/jobs",
    "/ops/jobs?status=completed",
    "/ops/jobs?status=completed&stage=embed_anew",
    "/ops/throughput",
    "/metrics",
)


@dataclass
class Figures:
    """The times of a kind of page in milliseconds: by the clock, what this process computed, and the bare peer's."""

    kind: str
    times: list[float]
    cpu: list[float]
    bare: list[float]

    def show(self, what: str) -> None:
        """One line. Beside other work times by the clock grow, and so do the peer's; what is computed does not."""
        wall = f"p50 {_at(self.times, 0.5):7.1f}   p95 {_at(self.times, 0.95):7.1f}"
        bare = f"bare p50 {_at(self.bare, 0.5):6.2f}   p95 {_at(self.bare, 0.95):6.2f}"
        print(f"  {what:<46} {wall}   CPU {mean(self.cpu):6.1f}   {bare}", flush=True)


def _row(kind: str, found: list[Figures], wanted: int) -> None:
    worst = max(_at(each.times, 0.95) for each in found)
    computed, bare = max(mean(each.cpu) for each in found), _at([time for each in found for time in each.bare], 0.95)
    ours, beside = f"{worst:.1f} ms (CPU {computed:.1f})", f"bare query {bare:.2f} ms"
    row(f"{kind}, p95", ours, wanted=f"≤ {wanted} ms", beside=beside, holds=worst <= wanted)


def _at(times: list[float], share: float) -> float:
    """So many of the times are below this."""
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main() -> None:
    """Measure on both databases."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, help="so many (5,000 at least), instead of 1,000,000 and 100,000")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", choices=list(DATABASES))
    options = parser.parse_args()
    for name, opened in DATABASES.items():
        if options.only in {None, name}:
            with opened() as variables:
                _measure(name, variables, options.documents or SIZES[name], options.rounds)


def _measure(name: str, variables: dict[str, str], documents: int, rounds: int) -> None:
    settings = Settings.from_environment({"SECRET_KEY": "for a benchmark only", "EXECUTION": "", **variables})
    began_at = time.perf_counter()
    _fill(settings, variables, documents)
    print(f"{name}: {documents:,} documents, made in {time.perf_counter() - began_at:.0f} s; milliseconds", flush=True)
    app = create_app(settings)
    with app.app_context():
        client, working = _signed_in(app), cycle(_working())
    keep_what_is_loaded()
    bare = _bare(variables)
    poll = _Peer(lambda: client.get(f"/documents/{next(working)}/status", headers=_HX), lambda: bare(_STATUS, one))
    one = next(working)
    status = _timed("status", rounds * 5, poll)
    status.show("a row's poll")
    library_pages = list(_library(client, rounds, bare))
    ops = [_page(client, path, rounds, "ops", bare) for path in OPS]
    _timed("models", rounds, _Peer(lambda: _models(app), lambda: bare(_MODELS, _crowd.ORG))).show("a search's models")
    title(f"The slowest page of each kind beside {documents:,} documents, {name}")
    for kind, found in {"status": [status], "library": library_pages, "ops": ops}.items():
        _row(kind, found, WANTED[name][kind])
    print(f"  took {time.perf_counter() - began_at:.0f} s in all", flush=True)
    with app.app_context():
        db.engine.dispose()


_HX = {"HX-Request": "true"}
_STATUS = """
SELECT d.*, r.*, j.* FROM documents d
JOIN processing_runs r
    ON r.id = (SELECT id FROM processing_runs WHERE document_id = d.id ORDER BY created_at DESC LIMIT 1)
LEFT JOIN document_processing_jobs j ON j.run_id = r.id
WHERE d.id = ?
"""
_NEWEST = """
SELECT * FROM documents
WHERE org_id = ? AND status = 'READY' AND (status <> 'READY' OR pages_read IS NULL OR pages_read <> 0)
ORDER BY created_at DESC, id DESC LIMIT 51
"""
_JOBS = """
SELECT * FROM document_processing_jobs
WHERE org_id = ? AND status <> 'PROCESSING' AND status = 'FAILED' AND stage = 'process_document'
ORDER BY id DESC LIMIT 51
"""
_MODELS = "SELECT min(embedding_model) FROM documents WHERE org_id = ?"


def _library(client: FlaskClient, rounds: int, bare: _Bare) -> Iterator[Figures]:
    for sort in Sort:
        for status in ("", "ready", "failed", "timed_out"):
            for q in FILTERS:
                yield _page(client, f"/documents?sort={sort}&status={status}&q={q}", rounds // 4, "library", bare)
        yield _deep(client, sort, rounds, bare)
    yield _page(client, "/documents?status=ready", rounds * 2, "library", bare, "the newest that are ready")


def _deep(client: FlaskClient, sort: Sort, rounds: int, bare: _Bare) -> Figures:
    """The twentieth page, and the one after, and so on."""
    cursor = ""
    for _ in range(20):
        body = client.get(f"/documents?sort={sort}&limit=200&cursor={cursor}", headers=_JSON).get_json()
        cursor = body["next_cursor"]
    path = f"/documents?sort={sort}&cursor={cursor}"
    return _page(client, path, rounds, "library", bare, f"deep by cursor, {sort}")


_JSON = {"Accept": "application/json"}


def _page(client: FlaskClient, path: str, times: int, kind: str, bare: _Bare, what: str = "") -> Figures:
    statement = _JOBS if kind == "ops" else _NEWEST
    both = _Peer(lambda: client.get(path, headers={"Accept": "text/html"}), lambda: bare(statement, _crowd.ORG))
    found = _timed(kind, max(times, 5), both)
    found.show(what or path)
    return found


@dataclass(frozen=True)
class _Peer:
    """A page, and the bare query that is asked right after it."""

    page: Callable[[], Any]
    bare: Callable[[], Any]


def _timed(kind: str, times: int, both: _Peer) -> Figures:
    found = Figures(kind, [], [], [])
    for number in range(times + 2):
        began_at, computed = time.perf_counter(), time.process_time()
        answer = both.page()
        took, computed = time.perf_counter() - began_at, time.process_time() - computed
        began_at = time.perf_counter()
        both.bare()
        # The first two fill caches.
        if number >= 2:
            found.times.append(took * 1000)
            found.cpu.append(computed * 1000)
            found.bare.append((time.perf_counter() - began_at) * 1000)
        if getattr(answer, "status_code", 200) != 200:
            raise SystemExit(f"{answer.status_code}: {answer.text[:500]}")
    return found


def _models(app: Flask) -> None:
    with app.app_context(), reading(_crowd.ORG):
        lookup.embedding_models(_crowd.ORG)


def _fill(settings: Settings, variables: dict[str, str], documents: int) -> None:
    app = Flask("webapp")
    init_database(app, settings)
    with app.app_context():
        upgrade()
        db.engine.dispose()
    if "DATABASE_URL" in variables:
        _crowd.on_postgresql(variables["DATABASE_OWNER_URL"], documents)
    else:
        _crowd.on_sqlite(settings.database_url.removeprefix("sqlite:///"), documents)


def _signed_in(app: Flask) -> FlaskClient:
    with transaction(_crowd.ORG):
        user = users.create(_crowd.ORG, "bench@example.org", Role.OPERATOR)
    token = sign_in.start_session(user, days=1, visit=Visit(address="127.0.0.1"))
    client = app.test_client()
    client.set_cookie("docmill_session", token)
    return client


def _working() -> list[UUID]:
    some = select(Document.id).where(Document.org_id == _crowd.ORG, Document.status == "PROCESSING")
    with reading(_crowd.ORG) as session:
        return list(session.scalars(some.limit(50)))


def _bare(variables: dict[str, str]) -> _Bare:
    """Asks the database, and nothing else."""
    if "DATABASE_URL" not in variables:
        (path,) = Path(variables["DATA_DIR"]).glob("*.sqlite3")
        sqlite = sqlite3.connect(path)
        return lambda statement, value: sqlite.execute(statement, (value.hex,)).fetchall()
    connection = psycopg.connect(variables["DATABASE_OWNER_URL"], autocommit=True)
    return lambda statement, value: connection.execute(statement.replace("?", "%s").encode(), (value,)).fetchall()


if __name__ == "__main__":
    main()
