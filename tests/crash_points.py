"""What a crash costs, at many seeded points: `make crashes`, or `python -m tests.crash_points --points 200`.

The pipeline runs in this process, with the vendors' own clients at emulators. It dies right before
or right after a commit, a provider's call or a blob's write: from that moment on nothing it does has
any effect, as if it had been killed, and the next process takes over. For each step so many points
are drawn. Then everything must be as if nothing had happened, and no call may have been made again
but those that were on their way.
"""

import argparse
import random
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import UUID

from flask_migrate import upgrade
from sqlalchemy import delete, event, select, text, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, aliased

from tests import archives, samples
from tests.conftest import dispose, make_bare_app, settings_for
from tests.emulators.clients import azure_extractor, openai_embedder
from tests.emulators.documentintelligence import DocumentIntelligence
from tests.emulators.openai import OpenAI
from tests.pipeline.remote_place import Dying
from tests.pipeline.workplace import Crash, Workplace, make_workplace
from webapp.clock import now
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError, Lease
from webapp.library import deletion
from webapp.pipeline import unpack
from webapp.pipeline.handlers import HANDLERS
from webapp.pipeline.steps import StageContext
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.unpacker import LocalUnpacker
from webapp.readers.archives.members import UnpackLimits
from webapp.search.model import CachedEmbedding, Chunk, Connection

FIRST, SECOND = samples.report_pdf(pages=4), samples.report_pdf(pages=5)
CONTAINER = archives.zipped(
    {f"notes/{one}.txt": f"Note {one} tells of lights in the harbour.".encode() for one in range(5)}
)
BATCH, CALLS_AT_ONCE, WINDOW, WINDOWS_AT_ONCE = 2, 2, 2, 2
UNPACKING = "unpacking"
STEPS = ("claiming", "extracting", UNPACKING, "saving_markdown", "chunking", "embedding", "publishing", "connecting")
DEATHS_MAX = 3
# When what is done is stored: at once, as in a long document, or with the next commit, as in a short one.
SAVE_AFTER_SECONDS = (0.0, 600.0)
LOOKS_MAX = 500


@dataclass
class Life:
    """How long this process lives: until the n-th moment of a step, or for ever."""

    step: str | None = None
    number: int = 0
    is_dead: bool = False
    seen: Counter[str] = field(default_factory=Counter)
    at: Callable[[], str] = lambda: "claiming"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def tick(self) -> None:
        """One moment at which a process can die; the dead do nothing."""
        with self.lock:
            step = self.at()
            self.seen[step] += 1
            if step == self.step and self.seen[step] == self.number:
                self.is_dead = True
            if self.is_dead:
                raise Crash

    def begin(self, step: str | None = None, number: int = 0) -> None:
        """A new process."""
        self.step, self.number, self.is_dead = step, number, False
        self.seen.clear()


@dataclass
class Seen:
    """What is there in the end, without the ids that differ from document to document."""

    chunks: list[tuple[int, str, str | None]]
    connections: list[tuple[int, str, str, float]]
    pages: int
    texts: int
    parts: list[tuple[str | None, str, str | None]]
    """Of a container: the names in it, their statuses and their texts."""


@dataclass
class World:
    """A workplace at emulators, with one document that stays."""

    workplace: Workplace
    analyzer: DocumentIntelligence
    openai: OpenAI
    life: Life
    kept: set[str] = field(default_factory=set)
    context: StageContext | None = None
    save_after_seconds: float = 0.0

    def step(self) -> str:
        current = self.context.current if self.context else None
        return current.doing if current else "claiming"

    def work_off(self) -> None:
        """One process that works until there is nothing more to do."""
        for _ in range(LOOKS_MAX):
            self.context = None
            lease = self._claim()
            if lease is None:
                return
            self.context = self.workplace.context(
                lease, retry_pause_seconds=0.0, save_after_seconds=self.save_after_seconds
            )
            try:
                HANDLERS[lease.stage](self.context)
            except Snoozed:
                self.context.save_at_end()
                with transaction(lease.org_id):
                    self.workplace.queue.snooze(lease, 0, self.context.checkpoint)
        raise AssertionError("the work does not end")

    def _claim(self) -> Lease | None:
        self.workplace.queue.wake_delayed()
        return next(iter(self.workplace.queue.claim("worker")), None)

    def take_over(self) -> None:
        """The dead worker's jobs go back."""
        with transaction(everywhere=True) as session:
            self.workplace.queue.reset_stale(-60, JobError("worker_died", "the worker died"))
            session.execute(update(Job).where(Job.status == "PENDING").values(available_at=now(), wakes_at=None))

    def upload(self, data: bytes) -> UUID:
        self.analyzer.reset()
        self.openai.reset()
        self.openai.delay_seconds = 0.0
        name = "report.pdf" if data.startswith(b"%PDF") else "notes.zip"
        document_id = self.workplace.upload(data, name).document.id
        with transaction(self.workplace.org_id) as session:
            session.execute(update(Job).where(Job.status == "PENDING").values(max_attempts=50))
        return document_id

    def look(self, document_id: UUID) -> Seen:
        org_id = self.workplace.org_id
        own, other = aliased(Chunk), aliased(Chunk)
        pairs = select(own.ordinal, other.text_sha256, Connection.kind, Connection.score).select_from(Connection)
        pairs = pairs.join(own, own.id == Connection.source_chunk_id).join(
            other, other.id == Connection.target_chunk_id
        )
        chunks = select(Chunk.ordinal, Chunk.text_sha256, Chunk.embedding_model)
        parts = select(Document.path_in_parent, Document.status, Chunk.text_sha256)
        parts = parts.outerjoin(Chunk, Chunk.document_id == Document.id).where(Document.parent_id == document_id)
        with reading(org_id) as session:
            return Seen(
                chunks=sorted((a, b, c) for a, b, c in session.execute(chunks.where(Chunk.document_id == document_id))),
                connections=sorted(
                    (a, b, c, d) for a, b, c, d in session.execute(pairs.where(own.document_id == document_id))
                ),
                pages=self.analyzer.units(),
                texts=self.openai.units(),
                parts=sorted((a, b, c) for a, b, c in session.execute(parts)),
            )

    def forget(self, document_id: UUID) -> None:
        """As if it never had been there, the caches included."""
        workplace = self.workplace
        for folders in deletion.delete_parts(workplace.queue, workplace.org_id, document_id):
            for folder in folders:
                workplace.providers.blobs.delete_prefix(folder)
        for folder in deletion.delete_document(workplace.queue, workplace.org_id, document_id) or []:
            workplace.providers.blobs.delete_prefix(folder)
        with transaction(workplace.org_id) as session:
            session.execute(delete(CachedEmbedding).where(CachedEmbedding.text_sha256.not_in(self.kept)))

    def violations(self) -> int:
        """Rows whose other end is missing, whatever the database was told to check."""
        lost = "SELECT count(*) FROM connections c WHERE NOT EXISTS (SELECT 1 FROM chunks WHERE id = c.{}_chunk_id)"
        with reading(everywhere=True) as session:
            return sum(session.scalar(text(lost.format(end))) or 0 for end in ("source", "target"))


@contextmanager
def world(variables: Mapping[str, str]) -> Iterator[World]:
    """A world on the database of these variables, whose commits can kill."""
    with tempfile.TemporaryDirectory() as folder:
        settings = settings_for(Path(folder), **{key: value for key, value in variables.items() if key != "DATA_DIR"})
        app = make_bare_app(settings)
        analyzer, openai = DocumentIntelligence(), OpenAI()
        analyzer.start()
        openai.start()
        local, unpacker = LocalExtractor(memory_mb=512), LocalUnpacker(UnpackLimits(100, 1 << 20, 1 << 20, 200))
        with app.app_context(), small_batches():
            upgrade()
            made = _made(make_workplace(settings, local), local, analyzer, openai)
            made.workplace.providers = replace(made.workplace.providers, unpacker=unpacker)
            with commits_kill(made.life):
                yield made
        unpacker.close()
        local.close()
        analyzer.stop()
        openai.stop()
        dispose(app)


@contextmanager
def small_batches() -> Iterator[None]:
    """Two files to a batch, and three that are fetched at once."""
    before = unpack.PARTS_PER_BATCH, unpack.LOAD_FILES
    unpack.PARTS_PER_BATCH, unpack.LOAD_FILES = 2, 3
    try:
        yield
    finally:
        unpack.PARTS_PER_BATCH, unpack.LOAD_FILES = before


def _made(workplace: Workplace, local: LocalExtractor, analyzer: DocumentIntelligence, openai: OpenAI) -> World:
    life = Life()
    made = World(workplace, analyzer, openai, life)
    life.at = made.step
    remote = azure_extractor(analyzer, local, window_pages=WINDOW, windows_at_once=WINDOWS_AT_ONCE)
    embedder = openai_embedder(openai, batch_size=BATCH, concurrency=CALLS_AT_ONCE)
    # Their interfaces stay as they are; what is called may be the last thing that happens.
    providers: dict[str, Any] = {
        "blobs": Dying(workplace.providers.blobs, life, frozenset({"put_bytes", "put_file"})),  # type: ignore[arg-type]
        "remote_extractor": Dying(remote, life, frozenset({"start", "poll"})),  # type: ignore[arg-type] # it passes all else on
        "embedder": Dying(embedder, life, frozenset({"embed"})),  # type: ignore[arg-type]
    }
    workplace.providers = replace(workplace.providers, **providers)
    return made


@contextmanager
def commits_kill(life: Life) -> Iterator[None]:
    """Each commit of a transaction that writes is two moments of this life: right before it, and right after it."""

    def moment(session: Session) -> None:
        scope = session.info.get("scope")
        if scope is not None and scope.writes:
            life.tick()

    for name in ("before_commit", "after_commit"):
        event.listen(Session, name, moment)
    try:
        yield
    finally:
        for name in ("before_commit", "after_commit"):
            event.remove(Session, name, moment)


@dataclass
class Tally:
    """What the points of one step have shown."""

    points: int = 0
    deaths: int = 0
    pages_again: int = 0
    texts_again: int = 0
    wrong: list[str] = field(default_factory=list)


Moments = Mapping[float, Counter[str]]


def undisturbed(made: World, data: bytes) -> tuple[Seen, Moments]:
    """The document that all others are compared with, and its moments for each way to save."""
    seen, moments = Seen([], [], 0, 0, []), {}
    for seconds in SAVE_AFTER_SECONDS:
        made.save_after_seconds = seconds
        document_id = made.upload(data)
        made.life.begin()
        made.work_off()
        seen, moments[seconds] = made.look(document_id), Counter(made.life.seen)
        made.forget(document_id)
    return seen, moments


def try_point(made: World, step: str, chance: random.Random, moments: Moments) -> tuple[int, Seen]:
    """Die at this step, mostly once, sometimes again; how often, and what is there in the end."""
    document_id = made.upload(_data_for(step))
    made.save_after_seconds = chance.choice([seconds for seconds, seen in moments.items() if seen[step]])
    deaths = 0
    for _ in range(DEATHS_MAX if chance.random() < 0.25 else 1):
        made.life.begin(step, chance.randint(1, moments[made.save_after_seconds][step]))
        try:
            made.work_off()
            break
        except Crash:
            deaths += 1
        finally:
            made.life.begin()
        made.take_over()
    made.work_off()
    seen = made.look(document_id)
    made.forget(document_id)
    return deaths, seen


def _data_for(step: str) -> bytes:
    """The document whose processing has this step."""
    return CONTAINER if step == UNPACKING else SECOND


def begin(made: World) -> None:
    """Process the document that stays."""
    made.upload(FIRST)
    made.work_off()
    with reading(made.workplace.org_id) as session:
        made.kept = set(session.scalars(select(CachedEmbedding.text_sha256)))


def run(made: World, points: int, seed: int, steps: tuple[str, ...] = STEPS) -> dict[str, Tally]:
    """So many points for each step."""
    begin(made)
    known = {data: undisturbed(made, data) for data in {_data_for(step) for step in steps}}
    for data, (expected, _) in known.items():
        assert expected.chunks, "there is nothing to lose"
        assert expected.parts if data == CONTAINER else expected.connections, "there is nothing to lose"
    tallies = {}
    for step in steps:
        expected, moments = known[_data_for(step)]
        tally = tallies[step] = Tally()
        for number in range(points):
            chance = random.Random(f"{seed}/{step}/{number}")
            try:
                deaths, seen = try_point(made, step, chance, moments)
            except IntegrityError as error:
                tally.wrong.append(f"point {number}: {type(error.orig).__name__}")
                made.life.begin()
                continue
            _count(tally, number, deaths, seen, expected)
    return tallies


def _count(tally: Tally, number: int, deaths: int, seen: Seen, expected: Seen) -> None:
    tally.points += 1
    tally.deaths += deaths
    again_pages, again_texts = seen.pages - expected.pages, seen.texts - expected.texts
    tally.pages_again += again_pages
    tally.texts_again += again_texts
    if seen.chunks != expected.chunks:
        tally.wrong.append(f"point {number}: {len(seen.chunks)} passages, {len(expected.chunks)} expected")
    if seen.connections != expected.connections:
        tally.wrong.append(f"point {number}: {len(seen.connections)} connections, {len(expected.connections)} expected")
    if seen.parts != expected.parts:
        tally.wrong.append(f"point {number}: {len(seen.parts)} parts, {len(expected.parts)} expected")
    if not 0 <= again_pages <= deaths * WINDOW * WINDOWS_AT_ONCE:
        tally.wrong.append(f"point {number}: {again_pages} pages were paid for again")
    if not 0 <= again_texts <= deaths * BATCH * CALLS_AT_ONCE:
        tally.wrong.append(f"point {number}: {again_texts} texts were paid for again")


def report(tallies: dict[str, Tally]) -> bool:
    """Print a line for each step; whether all is well."""
    print(f"{'step':<18}{'points':>8}{'deaths':>8}{'pages again':>13}{'texts again':>13}{'wrong':>7}")
    for step, tally in tallies.items():
        numbers = f"{tally.points:>8}{tally.deaths:>8}{tally.pages_again:>13}{tally.texts_again:>13}"
        print(f"{step:<18}{numbers}{len(tally.wrong):>7}")
        for line in tally.wrong[:5]:
            print(f"    {line}")
    return not any(tally.wrong for tally in tallies.values())


def main() -> int:
    """The exit code is 1 where anything was lost, doubled or paid for without need."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, default=200, help="for each step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--step", choices=STEPS, action="append", help="this one alone; may be said more than once")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    given = parser.parse_args()
    # What it imports warns on machines without a desktop, and to a test a warning is an error.
    from bench._databases import DATABASES  # noqa: PLC0415

    with DATABASES[given.database]() as variables, world(variables) as made:
        is_well = report(run(made, given.points, given.seed, tuple(given.step or STEPS)))
        violations = made.violations()
    print(f"rows without their other end: {violations}")
    return 0 if is_well and not violations else 1


if __name__ == "__main__":
    sys.exit(main())
