"""A database that is full, busy or at its limits, before real processes: they say so, wait, and go on by themselves."""

import json
import resource
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import DatabaseUnderTest
from tests.journeys.place import Place, running_place
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]
on_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
on_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)

# Long enough to be caught in the middle of its embedding.
PARAGRAPHS = 200
SAID_TO_PEOPLE = {
    "database_full": "There is no room left",
    "database_busy": "Docmill is very busy right now",
    "database_away": "The database does not answer right now",
}


@pytest.fixture
def place(database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Place]:
    with running_place(database, tmp_path, HEARTBEAT_SECONDS="1", WEB_THREADS="24", RUN_TIMEOUT_SECONDS="600") as place:
        yield place


@pytest.fixture
def superuser(database: DatabaseUnderTest) -> Iterator["psycopg.Connection[Any]"]:
    with psycopg.connect(str(database.superuser_url), autocommit=True) as connection:
        yield connection


def _at_work(place: Place, number: int) -> str:
    """A document in the middle of its processing."""
    document_id = place.upload(f"long {number}.md", prose(PARAGRAPHS, start=1000 * number))
    wait_for(lambda: place.site.get(f"/documents/{document_id}/status")["stage"] == "embedding")
    return document_id


def _says_so(place: Place, name: str, data: bytes, reasons: set[str]) -> None:
    """A program is told by a reason, a person by a sentence, and both when to come back."""
    status, answer = place.refused_upload(name, data)
    problem = json.loads(answer)
    assert status == problem["status"] == 503
    assert problem["reason"] in reasons
    status, page = place.refused_upload(name, data, accept="text/html")
    assert status == 503
    assert any(SAID_TO_PEOPLE[reason] in page for reason in reasons)


def _lost_nothing(place: Place, document_id: str, name: str, data: bytes) -> None:
    """What was at work ends well, and what was refused is taken in now, once."""
    again = place.upload(name, data)
    for each in (document_id, again):
        place.site.wait_for_status(each, "READY")
    assert [document["id"] for document in place.named(name)] == [again]
    failed = place.site.get("/ops/jobs?status=failed")["jobs"]
    completed = place.site.get("/ops/jobs?status=completed")["jobs"]
    assert failed == []
    assert {job["attempts"] for job in completed} == {0}, "the database is no fault of a document"


@contextmanager
def _refusing(superuser: "psycopg.Connection[Any]", state: str) -> Iterator[None]:
    """Whatever is written ends with this SQLSTATE."""
    tables = ("documents", "processing_runs", "document_processing_jobs", "run_events")
    superuser.execute(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
        f" $$ BEGIN RAISE EXCEPTION 'as the test says' USING ERRCODE = '{state}'; END $$".encode()
    )
    for table in tables:
        superuser.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON {table} EXECUTE FUNCTION refuse()".encode()
        )
    try:
        yield
    finally:
        _drop_refusing(superuser)


def _drop_refusing(superuser: "psycopg.Connection[Any]") -> None:
    """Those who are at work lock the same tables in another order, so this may be the victim of a deadlock."""
    for _ in range(10):
        with suppress(psycopg.errors.DeadlockDetected):
            superuser.execute("DROP FUNCTION IF EXISTS refuse CASCADE")
            return
    raise AssertionError("the triggers of the test could not be removed")


@on_postgresql
def test_a_full_disk_a_deadlock_and_a_failed_serialization(place: Place, superuser: "psycopg.Connection[Any]") -> None:
    faults = {"53100": "database_full", "40P01": "database_busy", "40001": "database_busy"}
    for number, (state, reason) in enumerate(faults.items()):
        name, data = f"short {state}.md", prose(1, start=77_000 + 100 * number)
        document_id, said = _at_work(place, number), place.log.count("waits for the database")
        with _refusing(superuser, state):
            _says_so(place, name, data, {reason})
            assert place.site.get("/documents")["counts"]["PROCESSING"] == 1, "reading goes on"
            wait_for(_has_said_more(place, said))
        _lost_nothing(place, document_id, name, data)


def _has_said_more(place: Place, said: int) -> Callable[[], bool]:
    return lambda: place.log.count("waits for the database") > said


@on_postgresql
def test_a_true_deadlock_of_which_the_worker_is_the_victim(place: Place, database: DatabaseUnderTest) -> None:
    """It locks a job and then its document; another session does so in the opposite order."""
    # The server looks for a deadlock once, a second into a wait. The other session may be too late for that.
    for number in range(10):
        _deadlock(place, database, f"contested {number}.md", prose(1, start=1_000 * number))
        if _is_victim(place):
            break
    assert _is_victim(place)
    assert place.site.get("/ops/jobs?status=failed")["jobs"] == []
    attempts = {job["attempts"] for job in place.site.get("/ops/jobs?status=completed")["jobs"]}
    assert attempts == {0}, "the database is no fault of a document"


def _deadlock(place: Place, database: DatabaseUnderTest, name: str, data: bytes) -> None:
    """Lock the rows of a new document in the opposite order while a worker is about to work on it."""
    place.site.post("/ops/pause")
    document_id = place.upload(name, data)
    with psycopg.connect(str(database.superuser_url)) as other:
        # So that the worker's session finds out first.
        other.execute("SET deadlock_timeout = '1h'")
        other.execute("SELECT 1 FROM documents WHERE id = %s FOR UPDATE", [document_id])
        place.site.post("/ops/resume")
        with psycopg.connect(str(database.superuser_url), autocommit=True) as superuser:
            wait_for(lambda: _waits_for(superuser, other.info.backend_pid))
        other.execute("SELECT 1 FROM document_processing_jobs WHERE document_id = %s FOR UPDATE", [document_id])
    place.site.wait_for_status(document_id, "READY")


def _is_victim(place: Place) -> bool:
    return "DeadlockDetected" in place.log or "cannot look for work: OperationalError" in place.log


def _waits_for(superuser: "psycopg.Connection[Any]", pid: int) -> bool:
    """Whether a session waits for a lock of this one's."""
    waiting = "SELECT 1 FROM pg_stat_activity WHERE %s = ANY(pg_blocking_pids(pid))"
    return superuser.execute(waiting, [pid]).fetchone() is not None


@on_postgresql
def test_a_pool_without_a_free_connection(place: Place, database: DatabaseUnderTest) -> None:
    """All that the web process may have wait for one lock: who comes after them is told so, not left hanging."""
    document_id = _at_work(place, 1)
    place.site.patience_seconds = 60
    with ThreadPoolExecutor(24) as people:
        with psycopg.connect(str(database.superuser_url)) as other:
            other.execute("LOCK TABLE documents IN ACCESS EXCLUSIVE MODE")
            answers = [people.submit(place.site._send, "GET", "/documents") for _ in range(24)]
            first = next(as_completed(answers)).result()
        statuses = sorted({one.result()[0] for one in answers})
    assert (first[0], json.loads(first[1])["reason"]) == (503, "database_busy")
    assert statuses == [200, 503]
    _lost_nothing(place, document_id, "after.md", prose(1, start=50))


@on_postgresql
def test_no_connection_is_to_be_had_at_all(
    place: Place, database: DatabaseUnderTest, superuser: "psycopg.Connection[Any]"
) -> None:
    document_id, name = _at_work(place, 1), database.url.rsplit("/", 1)[1]
    with psycopg.connect(str(database.superuser_url), dbname="postgres", autocommit=True) as outside:
        outside.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 0".encode())
        try:
            superuser.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
            _says_so(place, "after.md", prose(1, start=50), {"database_busy", "database_away"})
        finally:
            outside.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1".encode())
    _lost_nothing(place, document_id, "after.md", prose(1, start=50))


# Embedded.


@contextmanager
def _no_space(pid: int) -> Iterator[None]:
    """No byte of any file can be written by this process any more."""
    before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_FSIZE, before)


def _host_pid(database: DatabaseUnderTest) -> int:
    with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"))) as connection:
        return int(connection.execute("SELECT pid FROM workers").fetchone()[0])


@on_sqlite
def test_a_full_disk_under_sqlite(place: Place, database: DatabaseUnderTest) -> None:
    document_id, name, data = _at_work(place, 1), "after.md", prose(1, start=50)
    host = _host_pid(database)
    with _no_space(host):
        for accept in ("application/json", "text/html"):
            status, answer = place.refused_upload(name, data, accept)
            assert status in {503, 507}
            assert "There is no room left" in answer
        assert place.site.get("/documents")["counts"]["PROCESSING"] == 1, "reading goes on"
    _lost_nothing(place, document_id, name, data)
    assert _host_pid(database) == host, "the same process"


@on_sqlite
def test_somebody_else_writes_to_sqlite_for_long(place: Place, database: DatabaseUnderTest) -> None:
    document_id, name, data = _at_work(place, 1), "after.md", prose(1, start=50)
    place.site.patience_seconds = 60
    with closing(sqlite3.connect(database.url.removeprefix("sqlite:///"), isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        _says_so(place, name, data, {"database_busy"})
        other.execute("ROLLBACK")
    _lost_nothing(place, document_id, name, data)
