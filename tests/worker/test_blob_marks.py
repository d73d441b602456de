"""Whether workers on several machines share their files: each leaves a mark that the others look for."""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import update

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.web.people import People
from tests.worker.bench import Bench, finish
from webapp.app import create_app
from webapp.clock import after, new_id
from webapp.db import transaction
from webapp.documents.blob_layout import WORKER_MARKS
from webapp.jobs.model import Worker
from webapp.library import blob_marks
from webapp.providers.local.blob import LocalBlobStore
from webapp.runs.stages import PROCESS_DOCUMENT
from webapp.services import Services
from webapp.worker import chores
from webapp.worker.process import WorkerProcess
from webapp.worker.worker_table import Registration

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
_HOUR = 3600.0


@pytest.fixture
def own_app(database: DatabaseUnderTest, tmp_path: Path) -> Flask:
    return create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url))


def _store(folder: Path) -> LocalBlobStore:
    return LocalBlobStore(folder)


def _registered(seconds_ago: float = _HOUR) -> Registration:
    registration = Registration(threads=1, host="elsewhere")
    registration.register(None)
    with transaction(everywhere=True) as session:
        own = Worker.id == registration.id
        session.execute(update(Worker).where(own).values(started_at=after(-seconds_ago)))
    return registration


@pytest.mark.usefixtures("bare_app")
class TestMarks:
    def test_a_worker_with_the_same_files_is_none_to_speak_of(self, tmp_path: Path) -> None:
        blob_marks.leave(_store(tmp_path / "shared"), _registered().id)
        assert blob_marks.workers_elsewhere(_store(tmp_path / "shared"), 60) == []

    def test_a_worker_with_files_elsewhere_is_named(self, tmp_path: Path) -> None:
        registration = _registered()
        blob_marks.leave(_store(tmp_path / "theirs"), registration.id)
        (other,) = blob_marks.workers_elsewhere(_store(tmp_path / "ours"), 60)
        assert (other.id, other.host, other.pid) == (registration.id, "elsewhere", registration.pid)
        assert "The worker on elsewhere" in other.warning

    def test_a_copy_of_the_folder_is_no_shared_one(self, tmp_path: Path) -> None:
        """A worker that comes after the copy has its mark in one of them."""
        first, after_copy = _registered(), _registered()
        blob_marks.leave(_store(tmp_path / "theirs"), first.id)
        blob_marks.leave(_store(tmp_path / "ours"), first.id)
        blob_marks.leave(_store(tmp_path / "theirs"), after_copy.id)
        assert [each.id for each in blob_marks.workers_elsewhere(_store(tmp_path / "ours"), 60)] == [after_copy.id]

    def test_a_worker_that_is_gone_or_has_just_come_is_not_named(self, tmp_path: Path) -> None:
        _registered(seconds_ago=1)
        gone = _registered()
        with transaction(everywhere=True) as session:
            session.execute(update(Worker).where(Worker.id == gone.id).values(last_seen=after(-_HOUR)))
        assert blob_marks.workers_elsewhere(_store(tmp_path), 60) == []

    def test_marks_without_a_worker_are_removed(self, tmp_path: Path) -> None:
        blobs, alive = _store(tmp_path), _registered()
        blob_marks.leave(blobs, alive.id)
        blob_marks.leave(blobs, new_id())
        blobs.put_bytes("other/blob", b"not a mark")
        assert blob_marks.sweep(blobs) == 1
        assert [info.path for info in blobs.list()] == ["other/blob", f"{WORKER_MARKS}{alive.id}"]


def test_a_worker_leaves_its_mark_and_takes_it_away(own_app: Flask) -> None:
    with own_app.app_context():
        bench = Bench(own_app, own_app.extensions["docmill"])
        process = WorkerProcess(bench.services, bench.broken.append, handlers={PROCESS_DOCUMENT: finish})
        blobs = bench.services.providers.blobs
        process.start()
        assert len(list(blobs.list(WORKER_MARKS))) == 1
        process.drain()
        assert list(blobs.list(WORKER_MARKS)) == []
        assert bench.broken == []
    dispose(own_app)


def test_everybody_says_who_has_files_elsewhere(
    own_app: Flask, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with own_app.app_context():
        blob_marks.leave(_store(tmp_path / "theirs"), _registered().id)
        services: Services = own_app.extensions["docmill"]
        with caplog.at_level(logging.WARNING):
            assert chores.report_workers_elsewhere(services) == 1
        assert "The worker on elsewhere" in caplog.text
        shared = replace(services.providers, blobs=_store(tmp_path / "theirs"))
        assert chores.report_workers_elsewhere(replace(services, providers=shared)) == 0
    people = People(own_app)
    assert "The worker on elsewhere" in people.browser("operator", email="op@example.org").get("/ops").text
    assert "The worker on elsewhere" not in people.browser("ops", org="Theirs", email="x@example.org").get("/ops").text
    assert "warning: The worker on elsewhere" in own_app.test_cli_runner().invoke(args=["doctor"]).output
    dispose(own_app)
