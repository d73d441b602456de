"""The story that must never happen again, told to the product as it runs: `make validate`.

Long books whose processing is cut off used to lose passages, to pay twice and to break foreign keys. Here
a web process and workers run as they do for a team, on PostgreSQL, with the vendors' own clients at
emulators of Document Intelligence and OpenAI. Workers are killed at the worst moments. What is expected
and what is seen are printed side by side; the exit code is 1 where they differ.
"""

import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg

from bench._databases import postgresql
from tests import books, samples
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.journeys.site import Installation
from tests.worker.bench import wait_for

BATCH, CALLS_AT_ONCE, WINDOW, WINDOWS_AT_ONCE = 64, 4, 5, 4
ZOMBIE_SECONDS = 3.0
PATIENCE_SECONDS = 240.0
WORK = (sys.executable, "worker.py")
BOOK_PAGES = 500


@dataclass(frozen=True)
class Line:
    """One figure: what it should be, what it is, and whether that is well."""

    scenario: str
    figure: str
    expected: str
    seen: str
    is_well: bool


@dataclass
class Team:
    """A running installation with its emulators, and the figures so far."""

    site: Installation
    database_url: str
    analyzer: DocumentIntelligence
    openai: OpenAI
    lines: list[Line] = field(default_factory=list)
    scenario: str = ""
    small_id: str = ""

    def note(self, figure: str, expected: object, seen: object, is_well: bool | None = None) -> None:
        """Write a figure down."""
        well = expected == seen if is_well is None else is_well
        self.lines.append(Line(self.scenario, figure, str(expected), str(seen), well))

    def most(self, figure: str, limit: float, seen: float) -> None:
        """Write a figure down that may be this large."""
        self.note(figure, f"<= {limit:g}", f"{seen:g}", 0 <= seen <= limit)

    def rows(self, query: str, *values: object) -> list[tuple[Any, ...]]:
        """What the database holds, of everybody."""
        with psycopg.connect(self.database_url) as connection:
            return connection.execute(query.encode(), values).fetchall()

    def one(self, query: str, *values: object) -> Any:
        """The one value of a query."""
        return self.rows(query, *values)[0][0]

    def forget_calls(self, *, seconds: float = 0.05) -> None:
        """Calls count from here; each takes so long."""
        self.analyzer.reset()
        self.openai.reset()
        self.openai.delay_seconds = seconds

    def upload(self, data: bytes, name: str) -> str:
        """A new document; its id."""
        return str(self.site.upload({name: data})[0]["id"])

    def wait_ready(self, document_id: str) -> float:
        """Until its newest run has succeeded; how long that took."""
        started = time.monotonic()
        wait_for(lambda: self.site.status(document_id) == "READY", f"for READY of {document_id}", PATIENCE_SECONDS)
        return time.monotonic() - started

    def rest(self) -> None:
        """Until there is nothing more to do, connections included."""
        live = "SELECT count(*) FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING')"
        wait_for(lambda: self.one(live) == 0, "until all has come to rest", PATIENCE_SECONDS)

    def chunks(self, document_id: str) -> list[str]:
        """The ids of its passages, in order."""
        found = self.rows("SELECT id FROM chunks WHERE document_id = %s ORDER BY ordinal", document_id)
        return [str(row[0]) for row in found]

    def connections(self) -> set[tuple[Any, ...]]:
        """All of them."""
        return set(self.rows("SELECT source_chunk_id, target_chunk_id, kind FROM connections"))

    def resets(self) -> int:
        """How often a job was taken from a worker."""
        return int(self.one("SELECT count(*) FROM run_events WHERE kind = 'JOB_RESET'"))

    def paid_again(self) -> int:
        """Texts that were paid for more than once since calls were forgotten."""
        return sum(count - 1 for count in self.openai.paid_twice().values())

    @contextmanager
    def worker(self) -> Iterator[Callable[[], None]]:
        """A worker process, and a way to kill it."""
        with self.site.running(*WORK) as process:
            yield lambda: os.killpg(process.pid, signal.SIGKILL)


def fresh(team: Team) -> None:
    """A small document, undisturbed."""
    team.forget_calls()
    data = samples.report_pdf(pages=12)
    with team.worker():
        document_id = team.small_id = team.upload(data, "report.pdf")
        team.wait_ready(document_id)
        team.rest()
    team.note("pages paid for", 12, team.analyzer.units())
    team.note("calls for text", 3, team.analyzer.calls["analyze"])
    team.note("texts paid for", len(team.chunks(document_id)), team.openai.units())


def cached(team: Team) -> None:
    """The same once more: nothing is asked for."""
    document_id = team.small_id
    before = team.chunks(document_id)
    team.forget_calls()
    with team.worker():
        team.site.post(f"/documents/{document_id}/reprocess")
        team.wait_ready(document_id)
        team.rest()
    team.note("calls", 0, team.analyzer.calls["analyze"] + team.openai.calls["embeddings"])
    team.note("ids unchanged", len(before), sum(a == b for a, b in zip(before, team.chunks(document_id), strict=False)))
    reused = team.one("SELECT count(*) FROM run_events WHERE kind = 'STEP_REUSED' AND document_id = %s", document_id)
    team.note("steps reused", 2, reused)


def long_book(team: Team) -> None:
    """A book that takes longer than a silent worker is believed in."""
    team.forget_calls(seconds=1.0)
    resets = team.resets()
    with team.worker():
        document_id = team.upload(books.long_book(BOOK_PAGES), "book.epub")
        took = team.wait_ready(document_id)
        before = team.chunks(document_id)
        team.note("passages", "> 900", len(before), len(before) > 900)
        team.note("texts paid for", len(before), team.openai.units())
        team.note("seconds of work", f"> {ZOMBIE_SECONDS:g}", f"{took:.1f}", took > ZOMBIE_SECONDS)
        last = "max(extract(epoch FROM heartbeat_at - started_at))"
        beats = float(team.one(f"SELECT {last} FROM document_processing_jobs WHERE document_id = %s", document_id) or 0)
        team.note("last heartbeat, seconds after the claim", "> 1", f"{beats:.1f}", beats > 1)
        team.note("stale recoveries", 0, team.resets() - resets)
        team.rest()
        team.forget_calls(seconds=1.0)
        team.site.post(f"/documents/{document_id}/reprocess")
        again = team.wait_ready(document_id)
        team.rest()
    team.note("calls of a retry", 0, team.openai.calls["embeddings"])
    team.note("ids unchanged", len(before), sum(a == b for a, b in zip(before, team.chunks(document_id), strict=False)))
    team.most("seconds of a retry", round(took * 0.1, 2), round(again, 2))


def killed_while_embedding(team: Team) -> None:
    """kill -9 in the middle of the calls; another worker goes on."""
    resets = team.resets()
    team.forget_calls(seconds=0.3)
    with team.worker() as kill:
        document_id = team.upload(books.long_book(200, seed=1), "killed.epub")
        wait_for(lambda: team.openai.calls["embeddings"] > CALLS_AT_ONCE + 1, "for calls", PATIENCE_SECONDS)
        staged = team.openai.calls["embeddings"]
        kill()
    with team.worker():
        team.wait_ready(document_id)
        team.rest()
    passages = len(team.chunks(document_id))
    team.note("jobs taken back", 1, team.resets() - resets)
    team.note("killed after calls", "> 5", staged, staged > CALLS_AT_ONCE)
    team.note("passages paid for", passages, team.openai.units() - team.paid_again())
    team.most("texts paid for again", BATCH * CALLS_AT_ONCE, team.paid_again())


def killed_while_extracting(team: Team) -> None:
    """kill -9 while the file is read elsewhere; the operations are not asked for again."""
    team.forget_calls()
    team.analyzer.seconds_needed, pages = 2.0, 20
    with team.worker() as kill:
        document_id = team.upload(samples.report_pdf(pages=pages, paragraphs=2), "killed.pdf")
        wait_for(lambda: team.analyzer.calls["analyze"] >= 1, "for calls", PATIENCE_SECONDS)
        kill()
    with team.worker():
        team.wait_ready(document_id)
        team.rest()
    team.note("pages read", pages, team.site.get(f"/documents/{document_id}")["page_count"])
    team.most("pages paid for again", WINDOW * WINDOWS_AT_ONCE, team.analyzer.units() - pages)


def reprocessed_while_connecting(team: Team) -> None:
    """Passages change under the job that connects them; nothing breaks, and all is there in the end."""
    team.forget_calls(seconds=0.0)
    book = books.long_book(120, seed=2)
    with team.worker(), team.worker():
        ids = [team.upload(data, name) for data, name in ((book, "one.epub"), (book + b"\0", "two.epub"))]
        all_ids = [str(row[0]) for row in team.rows("SELECT id FROM documents")]
        team.rest()
        # Undisturbed: each looks for what the others have by now.
        _reprocess(team, all_ids)
        team.rest()
        expected, before = team.connections(), [team.chunks(each) for each in ids]
        for _ in range(4):
            _reprocess(team, ids)
        team.rest()
    team.note("connections", len(expected), len(team.connections() & expected), is_well=expected == team.connections())
    team.note("connections of copies", f">= {len(before[0])}", len(expected), len(expected) >= len(before[0]))
    team.note("ids unchanged", True, before == [team.chunks(each) for each in ids])


def _reprocess(team: Team, ids: list[str]) -> None:
    """All of them again, READY without waiting for connections."""
    for document_id in ids:
        team.site.post(f"/documents/{document_id}/reprocess")
    for document_id in ids:
        team.wait_ready(document_id)


def concurrent_runs(team: Team) -> None:
    """Five people press the button at once, and two workers are there."""
    document_id = team.small_id
    before = team.chunks(document_id)
    runs = team.one("SELECT count(*) FROM processing_runs WHERE document_id = %s", document_id)
    team.forget_calls()
    with team.worker(), team.worker():
        with ThreadPoolExecutor(5) as pool:
            list(pool.map(lambda _: team.site.post(f"/documents/{document_id}/reprocess"), range(5)))
        team.wait_ready(document_id)
        team.rest()
    states = team.rows("SELECT state FROM processing_runs WHERE document_id = %s", document_id)
    overlap = """
        SELECT count(*) FROM processing_runs a JOIN processing_runs b ON a.document_id = b.document_id AND a.id < b.id
        WHERE a.document_id = %s AND a.started_at < b.finished_at AND b.started_at < a.finished_at"""
    team.note("runs that succeeded", runs + 5, states.count(("SUCCEEDED",)))
    team.note("runs at the same time", 0, team.one(overlap, document_id))
    team.note("calls", 0, team.analyzer.calls["analyze"] + team.openai.calls["embeddings"])
    team.note("ids unchanged", True, before == team.chunks(document_id))


def violations(team: Team) -> None:
    """What the story began with."""
    log = team.site.log.read_text(encoding="utf-8", errors="replace")
    team.note("foreign key violations", 0, log.count("violates foreign key") + log.count("ForeignKeyViolation"))
    team.note("unexpected errors", 0, log.count("Traceback"))
    team.note("failed jobs", 0, team.one("SELECT count(*) FROM document_processing_jobs WHERE status = 'FAILED'"))


def validate(team: Team) -> None:
    """Everything, one after the other."""
    scenarios: dict[str, Callable[[Team], None]] = {
        "fresh small document": fresh,
        "retry with caches": cached,
        f"EPUB of {BOOK_PAGES} pages": long_book,
        "killed while embedding": killed_while_embedding,
        "killed while extracting": killed_while_extracting,
        "reprocessed while connecting": reprocessed_while_connecting,
        "concurrent runs": concurrent_runs,
        "after all of it": violations,
    }
    for name, scenario in scenarios.items():
        team.scenario = name
        scenario(team)
        show(team)


def show(team: Team) -> None:
    """Print the lines of the scenario that has just ended."""
    for line in team.lines:
        if line.scenario == team.scenario:
            mark = "ok" if line.is_well else "WRONG"
            print(f"{line.scenario:<30}{line.figure:<42}{line.expected:>12}{line.seen:>12}  {mark}", flush=True)


@contextmanager
def installed(folder: Path) -> Iterator[Team]:
    """A web process on a database of its own, and emulators beside it; workers come with the scenarios."""
    with ExitStack() as stack:
        variables = stack.enter_context(postgresql())
        analyzer, openai = DocumentIntelligence(), OpenAI()
        for server in (analyzer, openai):
            server.start()
            stack.callback(server.stop)
        site = Installation({**variables, **_settings(analyzer, openai)}, folder / "log")
        site.flask("db", "upgrade")
        site.token = site.flask("tokens", "create", "--org", "Team", "--role", "ops")
        stack.enter_context(site.running("gunicorn", "wsgi:app"))
        site.wait_until_ready()
        yield Team(site, variables["DATABASE_OWNER_URL"], analyzer, openai)


def _settings(analyzer: DocumentIntelligence, openai: OpenAI) -> dict[str, str]:
    return {
        "AZURE_DOCUMENTINTELLIGENCE_ENDPOINT": analyzer.url,
        "AZURE_DOCUMENTINTELLIGENCE_KEY": analyzer.key,
        "AZURE_DOCUMENTINTELLIGENCE_WINDOW_PAGES": str(WINDOW),
        "AZURE_DOCUMENTINTELLIGENCE_WINDOWS_AT_ONCE": str(WINDOWS_AT_ONCE),
        "OPENAI_API_KEY": openai.key,
        "OPENAI_BASE_URL": openai.base_url,
        "OPENAI_EMBEDDING_BATCH": str(BATCH),
        "EMBED_CONCURRENCY": str(CALLS_AT_ONCE),
        "POLL_SECONDS": "0.1",
        "HEARTBEAT_SECONDS": "0.5",
        "WATCHDOG_SECONDS": "0.5",
        "ZOMBIE_AFTER_SECONDS": str(ZOMBIE_SECONDS),
        "WORKER_THREADS": "2",
        "WEB_CONCURRENCY": "1",
        "BACKOFF_BASE_SECONDS": "0.1",
        "DRAIN_SECONDS": "1",
    }


def main() -> int:
    """The exit code says whether all figures are as they should be."""
    threading.excepthook = lambda given: None
    with tempfile.TemporaryDirectory() as folder, installed(Path(folder)) as team:
        print(f"{'scenario':<30}{'figure':<42}{'expected':>12}{'seen':>12}")
        try:
            validate(team)
        except BaseException:
            print(team.site.log.read_text(encoding="utf-8", errors="replace")[-4000:])
            raise
    wrong = sum(not line.is_well for line in team.lines)
    print(f"{len(team.lines)} figures, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
