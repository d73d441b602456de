"""What monitors ask."""

import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import text

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.web.databases import both_databases
from tests.web.people import JSON, People
from tests.web.work import failed, queued
from webapp import db
from webapp.app import create_app
from webapp.config import Settings
from webapp.db import transaction
from webapp.web.ops import health
from webapp.web.ops.health import READY_SECONDS, Readiness


def test_alive_asks_nobody(tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path, DATABASE_URL="postgresql://nobody:hunter2@127.0.0.1:1/none"))
    assert app.test_client().get("/healthz").json == {"status": "ok"}
    dispose(app)


@both_databases
def test_ready_when_all_parts_serve(app: Flask) -> None:
    answer = app.test_client().get("/readyz")
    assert answer.status_code == 200
    assert answer.json == {"status": "ready", "checks": {"database": "ok", "schema": "ok", "blobs": "ok"}}


def test_without_a_database_it_is_alive_but_not_ready_and_says_no_secret(tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path, DATABASE_URL="postgresql://nobody:hunter2@127.0.0.1:1/none"))
    answer = app.test_client().get("/readyz", headers=JSON)
    assert (answer.status_code, answer.mimetype) == (503, "application/problem+json")
    assert answer.json is not None
    assert answer.json["failed"] == {"database": "The database does not answer."}
    assert answer.headers["Retry-After"]
    assert "hunter2" not in answer.text
    assert "127.0.0.1" not in answer.text
    dispose(app)


def test_without_a_database_pages_are_503(tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path, DATABASE_URL="postgresql://nobody:hunter2@127.0.0.1:1/none"))
    client = app.test_client()
    client.set_cookie("docmill_session", "x")
    for headers in ({"Accept": "text/html"}, JSON, {"HX-Request": "true"}):
        answer = client.get("/", headers=headers)
        assert answer.status_code == 503
        assert answer.headers["Retry-After"] == "5"
        assert "hunter2" not in answer.text
    dispose(app)


def test_not_ready_before_the_tables_are_there(tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path, DATABASE_URL=f"sqlite:///{tmp_path}/empty.sqlite3"))
    answer = app.test_client().get("/readyz")
    dispose(app)
    assert answer.status_code == 503
    assert answer.json is not None
    assert "db upgrade" in answer.json["failed"]["schema"]


def test_not_ready_while_the_tables_are_being_made(sqlite_database: DatabaseUnderTest, tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=sqlite_database.url))
    with app.app_context(), transaction(everywhere=True) as session:
        session.execute(text("DELETE FROM alembic_version"))
    assert app.test_client().get("/readyz").status_code == 503
    dispose(app)


def test_not_ready_where_files_cannot_be_stored(app: Flask, settings: Settings) -> None:
    shutil.rmtree(settings.data_dir / "blobs", ignore_errors=True)
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    (settings.data_dir / "blobs").write_text("a file where a folder belongs")
    answer = app.test_client().get("/readyz")
    assert answer.status_code == 503
    assert answer.json is not None
    assert answer.json["failed"] == {"blobs": "Files cannot be stored."}
    assert str(settings.data_dir) not in answer.text


def test_what_serves_is_found_out_at_most_every_two_seconds(app: Flask, settings: Settings) -> None:
    moment = 1_000.0
    app.extensions["docmill_readiness"] = Readiness(lambda: moment)
    blobs = settings.data_dir / "blobs"
    client = app.test_client()
    assert client.get("/readyz").status_code == 200
    shutil.rmtree(blobs)
    blobs.write_text("a file where a folder belongs")
    moment += READY_SECONDS - 0.01
    assert client.get("/readyz").status_code == 200
    moment += 0.01
    assert client.get("/readyz").status_code == 503


def test_one_thread_alone_finds_out_what_serves(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    moment = 1_000.0
    readiness = app.extensions["docmill_readiness"] = Readiness(lambda: moment)
    with app.app_context():
        readiness.failed()
    moment += 10 * READY_SECONDS
    entered, leave, looks = threading.Event(), threading.Event(), []

    def hang() -> None:
        looks.append(threading.current_thread())
        entered.set()
        assert leave.wait(20)

    monkeypatch.setitem(health.CHECKS, "blobs", hang)
    client = app.test_client()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(client.get, "/readyz")
        assert entered.wait(20)
        # Answered at once by what was known before.
        assert app.test_client().get("/readyz").status_code == 200
        leave.set()
        assert first.result(20).status_code == 200
    assert len(looks) == 1


def test_migrations_are_read_once(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    with app.app_context():
        assert db.schema_is_current()
        monkeypatch.setattr(db, "ScriptDirectory", None)
        assert db.schema_is_current()


@pytest.mark.parametrize("role", [None, "member"])
def test_metrics_are_for_ops(people: People, role: str | None) -> None:
    client = people.program(role) if role else people.visitor()
    assert client.get("/metrics").status_code in {303, 403}


@both_databases
def test_metrics_count_the_asking_orgs_work(own_app: Flask) -> None:
    people = People(own_app)
    ops = people.program("ops")
    queued(own_app, ops.org_id)
    failed(own_app, ops.org_id)
    failed(own_app, people.org("Theirs"))
    ops.get("/documents")
    ops.get("/nowhere/<script>")
    answer = ops.get("/metrics")
    assert answer.mimetype == "text/plain"
    assert 'docmill_jobs{status="failed"} 1.0' in answer.text
    assert 'docmill_jobs{status="pending"} 1.0' in answer.text
    assert 'docmill_documents{status="failed"} 1.0' in answer.text
    process = f'process="{os.getpid()}"'
    served = f'endpoint="library.listing",method="GET",{process},status="200"'
    assert f"docmill_http_request_seconds_count{{{served}}} 1.0" in answer.text
    assert f'endpoint="none",method="other",{process},status="404"' in answer.text
    assert "<script" not in answer.text
