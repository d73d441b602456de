"""kill -9 right before and right after every commit of a document's processing, and what a restart makes of it."""

import io
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import func, select, update

from tests import archives
from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.journeys import crasher
from tests.journeys.crasher import Crash
from tests.journeys.invariants import broken, let_a_day_pass
from tests.pipeline.workplace import prose
from tests.postgres import ROOT
from tests.preloaded import FORKSERVER
from tests.search.passages import new_org
from tests.worker.bench import wait_for
from webapp.app import create_app
from webapp.clock import after
from webapp.db import reading, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import RunTrigger
from webapp.jobs.model import Job as JobRow
from webapp.jobs.states import JobStatus
from webapp.library.intake import ingest, receive
from webapp.runs import lifecycle
from webapp.search.model import Chunk
from webapp.services import Services
from webapp.worker.process import WorkerProcess

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

QUICK = {
    "POLL_SECONDS": "0.05",
    "HEARTBEAT_SECONDS": "0.2",
    "WATCHDOG_SECONDS": "0.1",
    "WORKER_THREADS": "1",
    "MODELS_DIR": str(ROOT / ".cache" / "models"),
    "EMBEDDINGS_MODEL": "english",
}
# A document of a few passages has more steps than this has commits only where something is wrong.
COMMITS_MAX = 40
PARAGRAPHS = 6


@dataclass
class Site:
    """A database and a data folder, on which processes live and die."""

    data_dir: Path
    variables: dict[str, str]
    app: Flask
    org_id: UUID
    uploads: int = 0

    @property
    def services(self) -> Services:
        services: Services = self.app.extensions["docmill"]
        return services

    def upload(self) -> tuple[UUID, UUID]:
        """A new document, and its run."""
        self.uploads += 1
        return self.add(prose(PARAGRAPHS, start=1000 * self.uploads), f"{self.uploads}.md")

    def add(self, data: bytes, filename: str) -> tuple[UUID, UUID]:
        """A document of these bytes, and its run."""
        incoming = receive(self.services.providers.blobs.incoming(), io.BytesIO(data), len(data))
        ingested = ingest(self.services, self.org_id, incoming, filename)
        return ingested.document.id, ingested.run.id

    def live_and_die(self, crash: Crash, run_id: UUID) -> bool:
        """Whether a process that works on this run was killed before it had ended."""
        # The imports are there already, and no thread of ours is copied.
        process = FORKSERVER.Process(
            target=crasher.live, args=(self.data_dir, self.variables, crash, self.org_id, run_id)
        )
        process.start()
        process.join(60)
        assert process.exitcode in {0, -signal.SIGKILL}
        return process.exitcode != 0

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """This process does what there is to do, and stops in any case: or it would do so for the next tests."""
        process = WorkerProcess(self.services, lambda why: None)
        process.start()
        try:
            yield
        finally:
            process.drain()

    def silence(self, run_id: UUID) -> None:
        """As if two hours had passed since the last heartbeat."""
        with transaction(self.org_id) as session:
            held = update(JobRow).where(JobRow.run_id == run_id, JobRow.status == "PROCESSING")
            session.execute(held.values(heartbeat_at=after(-7300)))

    def reprocess(self, document_id: UUID) -> UUID:
        trigger = RunTrigger.REPROCESS
        return lifecycle.queue_run(self.services.queue, self.org_id, document_id, trigger, max_attempts=1)

    def one(self, kind: type[Any], row_id: UUID) -> Any:
        with reading(self.org_id) as session:
            return session.get_one(kind, row_id)

    def status(self, document_id: UUID) -> str:
        return str(self.one(Document, document_id).status)

    def is_at_rest(self) -> bool:
        """Nothing is left to do, for as long as nobody asks for anything."""
        counts = self.services.queue.counts()
        return counts[JobStatus.PENDING] == counts[JobStatus.PROCESSING] == 0

    def chunks(self, document_id: UUID) -> int:
        with reading(self.org_id) as session:
            counted = select(func.count()).select_from(Chunk).where(Chunk.document_id == document_id)
            return session.scalar(counted) or 0


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


def _site(database: DatabaseUnderTest, data_dir: Path, **more: str) -> Iterator[Site]:
    variables = {**QUICK, "DATABASE_URL": database.url, **more}
    app = create_app(settings_for(data_dir, **variables))
    with app.app_context():
        yield Site(data_dir, variables, app, new_org())
    dispose(app)


@pytest.fixture
def embedded(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Site]:
    """On SQLite, as it is used; the workers' tests die on PostgreSQL."""
    yield from _site(sqlite_database, tmp_path, EXECUTION="embedded")


@pytest.fixture
def workers(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Site]:
    yield from _site(postgresql_database, tmp_path)


each_commit = pytest.mark.parametrize("moment", ["before_commit", "after_commit"])
# A short document is claimed and published, and so is what follows it; a long one is stored step by step. Here each
# way of saving meets one of the two moments; `make crashes` tries many more of both.
BY_STEPS, AT_ONCE = (True, 5), (False, 2)
# The number of the first commit; from there on every other one.
FIRST = {"before_commit": 1, "after_commit": 2}


def each_way(before: tuple[bool, int], after: tuple[bool, int]) -> pytest.MarkDecorator:
    ways = [("before_commit", *before), ("after_commit", *after)]
    return pytest.mark.parametrize(("moment", "saves_at_once", "commits_min"), ways)


@each_way(before=AT_ONCE, after=BY_STEPS)
def test_embedded_a_restart_says_what_was_lost_and_reprocess_works(
    embedded: Site, moment: str, saves_at_once: bool, commits_min: int
) -> None:
    number, whole = FIRST[moment], _whole_document(embedded)
    while _dies_embedded(embedded, Crash(moment, number, saves_at_once), whole):
        number += 2
        assert number < COMMITS_MAX
    assert number > commits_min, "there are commits to die at"


def _dies_embedded(site: Site, crash: Crash, whole: int) -> bool:
    document_id, run_id = site.upload()
    was_killed = site.live_and_die(crash, run_id)
    ended_before = site.one(ProcessingRun, run_id).state
    with site.at_work():
        wait_for(lambda: site.status(document_id) != "PROCESSING")
        run = site.one(ProcessingRun, run_id)
        if ended_before == "RUNNING":
            assert (run.state, run.failure_type) == ("FAILED", "PROCESS_TERMINATED")
            site.reprocess(document_id)
            wait_for(lambda: site.status(document_id) == "READY")
        else:
            # Before its first commit the run was still in line, and after its last it had ended.
            assert run.state == "SUCCEEDED"
        wait_for(site.is_at_rest)
    assert site.chunks(document_id) == whole
    assert broken(site.app) == {}
    return was_killed


@each_way(before=BY_STEPS, after=AT_ONCE)
def test_workers_another_one_takes_over(workers: Site, moment: str, saves_at_once: bool, commits_min: int) -> None:
    number, whole = FIRST[moment], _whole_document(workers)
    while _dies_among_workers(workers, Crash(moment, number, saves_at_once), whole):
        number += 2
        assert number < COMMITS_MAX
    assert number > commits_min, "there are commits to die at"


def _dies_among_workers(site: Site, crash: Crash, whole: int) -> bool:
    document_id, run_id = site.upload()
    was_killed = site.live_and_die(crash, run_id)
    site.silence(run_id)
    with site.at_work():
        wait_for(lambda: site.status(document_id) == "READY")
        wait_for(site.is_at_rest)
    assert site.one(ProcessingRun, run_id).state == "SUCCEEDED"
    assert site.chunks(document_id) == whole
    assert broken(site.app) == {}
    return was_killed


def test_workers_a_document_gets_on_however_often_its_worker_dies(workers: Site) -> None:
    """None of them lives long enough to do the whole, and it gets done."""
    variables = {**workers.variables, "JOB_MAX_ATTEMPTS": "50"}
    patient = Site(workers.data_dir, variables, create_app(settings_for(workers.data_dir, **variables)), workers.org_id)
    document_id, run_id = patient.upload()
    deaths = 0
    while patient.live_and_die(Crash("after_commit", 7), run_id):
        patient.silence(run_id)
        deaths += 1
        assert deaths < COMMITS_MAX
    assert deaths >= 2
    assert patient.status(document_id) == "READY"
    assert broken(patient.app) == {}
    dispose(patient.app)


@each_commit
@pytest.mark.parametrize("number", [4, 5, 6], ids=["claiming", "adding parts", "handing on"])
def test_embedded_a_container_neither_loses_nor_doubles_parts(embedded: Site, moment: str, number: int) -> None:
    files = {f"notes/{one}.txt": f"Note {one} tells of harbours.".encode() for one in range(4)}
    document_id, run_id = embedded.add(archives.zipped(files), "notes.zip")
    assert embedded.live_and_die(Crash(moment, number, saves_at_once=False), run_id)
    with embedded.at_work():
        wait_for(lambda: embedded.status(document_id) != "PROCESSING")
        assert embedded.one(ProcessingRun, run_id).failure_type == "PROCESS_TERMINATED"
        embedded.reprocess(document_id)
        wait_for(lambda: embedded.status(document_id) == "READY")
        wait_for(embedded.is_at_rest)
    with reading(embedded.org_id) as session:
        parts = select(Document.path_in_parent, Document.status).where(Document.parent_id == document_id)
        found = session.execute(parts.order_by(Document.part_number)).all()
    assert [tuple(each) for each in found] == [(name, "READY") for name in files]
    let_a_day_pass(embedded.app)
    assert broken(embedded.app) == {}


def _whole_document(site: Site) -> int:
    """How many passages a document has that nothing happened to."""
    document_id, run_id = site.upload()
    assert not site.live_and_die(Crash("before_commit", 0), run_id)
    assert site.status(document_id) == "READY"
    assert site.chunks(document_id) > 1
    return site.chunks(document_id)
