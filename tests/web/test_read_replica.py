"""A read replica serves the library and search, and nothing that must be current; without it, the primary does."""

import logging
import threading
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest
from flask import Flask
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from tests import postgres
from tests.applications import Client
from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.streaming import StreamingReplica, streaming_replica
from tests.web.people import People, Program
from tests.web.shelves import File, notes, read_json, shelve, use_hashed_words, work_off
from tests.worker.bench import wait_for
from webapp.app import create_app
from webapp.clock import monotonic
from webapp.db.replica import Replica

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("replica"),
    pytest.mark.parametrize("database", ["postgresql"], indirect=True),
]
LAG_SECONDS = 6.0


@pytest.fixture(scope="module")
def replica(postgres_server: postgres.Server, postgres_template: str) -> Iterator[StreamingReplica]:
    with streaming_replica(postgres_server) as running:
        yield running


@pytest.fixture
def own_app(database: DatabaseUnderTest, replica: StreamingReplica, tmp_path: Path) -> Iterator[Flask]:
    variables = {"DATABASE_URL": database.url, "DATABASE_READ_URL": replica.url(database.url)}
    app = create_app(settings_for(tmp_path / "data", READ_LAG_SECONDS=str(LAG_SECONDS), **variables))
    app.testing, app.test_client_class = True, Client
    yield app
    _replica_of(app).stop()
    dispose(app)


def _replica_of(app: Flask) -> Replica:
    found: Replica = app.extensions["docmill_replica"]
    return found


@pytest.fixture
def reader(own_app: Flask) -> Program:
    """Somebody who writes nothing, once the replica is known to be fresh."""
    program = People(own_app).program("viewer")
    wait_for(_replica_of(own_app).is_fresh, "for a fresh replica")
    return program


@pytest.fixture
def writer(own_app: Flask) -> Program:
    return People(own_app).program("member")


@pytest.fixture
def paused(replica: StreamingReplica) -> Iterator[StreamingReplica]:
    """Nothing reaches the replica any more."""
    replica.pause()
    yield replica
    replica.resume()


def names(program: Program) -> list[str]:
    return [each["filename"] for each in read_json(program.get("/documents"))["documents"]]


def until_replayed(app: Flask, program: Program, *files: File) -> None:
    wait_for(_replica_of(app).is_fresh, "for a fresh replica")
    wait_for(lambda: names(program) == [name for name, _ in files], "for the replica to follow")


def test_the_library_is_read_from_the_replica(
    own_app: Flask, reader: Program, writer: Program, paused: StreamingReplica
) -> None:
    shelve(writer, notes(1))
    assert _replica_of(own_app).is_fresh()
    assert names(reader) == []


def test_who_writes_reads_the_primary(reader: Program, writer: Program, paused: StreamingReplica) -> None:
    (document_id,) = shelve(writer, notes(1))
    assert names(writer) == [notes(1)[0]]
    assert writer.client.delete(f"/documents/{document_id}", headers=writer.headers).status_code < 300
    assert names(writer) == []


def test_a_person_who_writes_reads_the_primary(own_app: Flask, reader: Program, paused: StreamingReplica) -> None:
    ana = People(own_app).browser("member")
    boundary, body = encode_multipart({"file": [FileStorage(BytesIO(b"Rye."), "rye.md")]})
    headers = {**ana.headers, "X-CSRFToken": ana.csrf(), "Content-Type": f"multipart/form-data; boundary={boundary}"}
    assert ana.client.post("/documents", data=body, headers=headers).status_code == 303
    assert "rye.md" in ana.get("/").text


def test_what_must_be_current_is_read_from_the_primary(
    own_app: Flask, reader: Program, writer: Program, paused: StreamingReplica
) -> None:
    """A polled row, a document, the ops page and a new token, while the replica knows none of them."""
    (document_id,) = shelve(writer, notes(1))
    assert names(reader) == []
    for path in (f"/documents/{document_id}/status", f"/documents/{document_id}", f"/documents/{document_id}/original"):
        assert reader.get(path).status_code == 200
    fresh = People(own_app).program("ops")
    assert read_json(fresh.get("/ops"))["counts"]["PENDING"] == 1


def test_search_reads_the_replica(own_app: Flask, reader: Program, writer: Program, replica: StreamingReplica) -> None:
    use_hashed_words(own_app)
    replica.pause()
    try:
        shelve(writer, notes(1))
        work_off(own_app)
        query = "/search?q=rye"
        assert read_json(writer.get(query))["hits"]
        assert read_json(reader.get(query))["hits"] == []
    finally:
        replica.resume()
    wait_for(lambda: bool(read_json(reader.get(query))["hits"]), "for the replica to follow")


def test_one_that_is_too_far_behind_is_not_read(
    own_app: Flask, reader: Program, writer: Program, paused: StreamingReplica, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        shelve(writer, notes(1))
        began_at = monotonic()
        wait_for(lambda: names(reader) == [notes(1)[0]], "for the primary to serve", 3 * LAG_SECONDS)
        assert monotonic() - began_at < LAG_SECONDS + 2
        wait_for(lambda: "s behind; the primary serves" in caplog.text)
        paused.resume()
        wait_for(lambda: "serves again" in caplog.text, "for the replica to be read again")
    assert caplog.text.count("the primary serves") == 1


def test_one_that_is_gone_is_missed_by_nobody(
    own_app: Flask, reader: Program, writer: Program, replica: StreamingReplica, caplog: pytest.LogCaptureFixture
) -> None:
    shelve(writer, notes(1))
    until_replayed(own_app, reader, notes(1))
    replica.stop()
    with caplog.at_level(logging.INFO):
        for _ in range(20):
            assert names(reader) == [notes(1)[0]]
        wait_for(lambda: "does not answer" in caplog.text)
        replica.start()
        wait_for(lambda: "serves again" in caplog.text, "for the replica to be read again")
        wait_for(_replica_of(own_app).is_fresh)
    assert caplog.text.count("the primary serves") == 1


def test_one_that_freezes_keeps_nobody_for_long(
    own_app: Flask, reader: Program, writer: Program, replica: StreamingReplica
) -> None:
    shelve(writer, notes(1))
    until_replayed(own_app, reader, notes(1))
    replica.freeze()
    found: list[list[str]] = []
    try:
        began_at = monotonic()
        readers = [threading.Thread(target=lambda: found.append(names(reader))) for _ in range(4)]
        for thread in readers:
            thread.start()
        for thread in readers:
            thread.join(60)
        assert found == [[notes(1)[0]]] * 4
        assert monotonic() - began_at < 2 * LAG_SECONDS + 4
        began_at = monotonic()
        assert names(reader) == [notes(1)[0]]
        assert monotonic() - began_at < LAG_SECONDS
    finally:
        replica.thaw()
    wait_for(_replica_of(own_app).is_fresh, "for the replica to be read again")


def test_a_server_that_is_no_replica_is_not_read(
    database: DatabaseUnderTest, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    app = create_app(settings_for(tmp_path, DATABASE_URL=database.url, DATABASE_READ_URL=database.url))
    with caplog.at_level(logging.WARNING):
        assert names(People(app).program("viewer")) == []
        wait_for(lambda: "names a server that is no replica; the primary serves" in caplog.text)
        assert not _replica_of(app).is_fresh()
    _replica_of(app).stop()
    dispose(app)
