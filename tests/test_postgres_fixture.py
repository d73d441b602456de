"""The embedded PostgreSQL is what the tests of security and of queues take it for."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests.postgres import ROOT, DatabaseUrls, Server, server
from tests.postgres_keeper import RUNTIME

PROGRAM = """
import sys
from tests.postgres import server
with server() as running:
    print(running.port, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Server]:
    with server() as running:
        yield running


@pytest.fixture
def urls(postgres: Server) -> Iterator[DatabaseUrls]:
    name = f"fixture_{uuid.uuid4().hex}"
    yield postgres.create_database(name)
    postgres.drop_database(name)


@pytest.fixture
def secured(urls: DatabaseUrls) -> DatabaseUrls:
    """A table of two orgs' rows, guarded the way our own tables are."""
    with psycopg.connect(urls.owner_url) as connection:
        connection.execute("CREATE TABLE notes (org text, body text)")
        connection.execute("ALTER TABLE notes ENABLE ROW LEVEL SECURITY")
        connection.execute("ALTER TABLE notes FORCE ROW LEVEL SECURITY")
        connection.execute(f"GRANT SELECT ON notes TO {RUNTIME}")
        connection.execute("CREATE POLICY own ON notes USING (org = current_setting('app.org_id', true))")
    with psycopg.connect(urls.superuser_url) as connection:
        connection.execute("INSERT INTO notes VALUES ('ours', 'a'), ('theirs', 'b')")
    return urls


def _value(url: str, query: str) -> object:
    with psycopg.connect(url) as connection:
        row = connection.execute(query.encode()).fetchone()
        return row[0] if row else None


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited for 20 seconds"
        threading.Event().wait(0.01)


def test_neither_role_may_pass_by_row_level_security(urls: DatabaseUrls) -> None:
    query = "SELECT rolsuper OR rolbypassrls OR rolcreaterole FROM pg_roles WHERE rolname = current_user"
    assert _value(urls.owner_url, query) is False
    assert _value(urls.runtime_url, query) is False


def test_the_owner_owns_the_database_and_the_runtime_role_nothing(urls: DatabaseUrls) -> None:
    query = "SELECT pg_get_userbyid(datdba) = current_user FROM pg_database WHERE datname = current_database()"
    assert _value(urls.owner_url, query) is True
    assert _value(urls.runtime_url, query) is False


@pytest.mark.parametrize(
    "statement", ["SELECT * FROM things", "ALTER TABLE things ADD x int", "CREATE TABLE mine (id int)"]
)
def test_the_runtime_role_may_do_nothing_that_was_not_granted(urls: DatabaseUrls, statement: str) -> None:
    with psycopg.connect(urls.owner_url) as connection:
        connection.execute("CREATE TABLE things (name text)")
    with psycopg.connect(urls.runtime_url) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())


def test_the_runtime_role_sees_only_its_org(secured: DatabaseUrls) -> None:
    with psycopg.connect(secured.runtime_url) as connection:
        assert connection.execute("SELECT body FROM notes").fetchall() == []
        connection.execute("SELECT set_config('app.org_id', 'ours', true)")
        assert connection.execute("SELECT body FROM notes").fetchall() == [("a",)]


def test_forced_security_holds_for_the_owner_too(secured: DatabaseUrls) -> None:
    assert _value(secured.owner_url, "SELECT count(*) FROM notes") == 0
    assert _value(secured.superuser_url, "SELECT count(*) FROM notes") == 2


def test_it_is_postgresql_18_with_vectors(urls: DatabaseUrls) -> None:
    assert str(_value(urls.runtime_url, "SHOW server_version")).startswith("18")
    assert _value(urls.runtime_url, "SELECT '[0,3]'::vector <-> '[4,0]'::vector") == 5.0


def test_a_copy_has_what_its_template_had(postgres: Server, secured: DatabaseUrls) -> None:
    name = f"copy_{uuid.uuid4().hex}"
    copy = postgres.create_database(name, template=str(_value(secured.owner_url, "SELECT current_database()")))
    try:
        assert _value(copy.superuser_url, "SELECT count(*) FROM notes") == 2
        assert _value(copy.runtime_url, "SELECT count(*) FROM notes") == 0
    finally:
        postgres.drop_database(name)


@pytest.mark.slow
def test_two_other_processes_hear_each_other(urls: DatabaseUrls) -> None:
    listen = "import psycopg, sys; c = psycopg.connect(sys.argv[1], autocommit=True); c.execute('LISTEN bell'); "
    listen += "print('listening', flush=True); print(next(c.notifies(timeout=20)).payload)"
    ring = "import psycopg, sys; psycopg.connect(sys.argv[1], autocommit=True).execute(\"NOTIFY bell, 'ding'\")"
    command = [sys.executable, "-W", "ignore", "-c"]
    with subprocess.Popen([*command, listen, urls.runtime_url], stdout=subprocess.PIPE, text=True) as listener:
        assert listener.stdout is not None
        assert listener.stdout.readline() == "listening\n"
        subprocess.run([*command, ring, urls.owner_url], check=True)
        assert listener.stdout.readline() == "ding\n"


def test_a_database_in_use_can_be_dropped(postgres: Server) -> None:
    urls = postgres.create_database("in_use")
    with psycopg.connect(urls.owner_url):
        postgres.drop_database("in_use")
    postgres.drop_database("in_use")


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """Unlike tmp_path, one that PostgreSQL's own system user may pass through."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        yield Path(name)


def _user(public_folder: Path, run: str) -> "subprocess.Popen[str]":
    environment = {**os.environ, "TMPDIR": str(public_folder), "PYTEST_XDIST_TESTRUNUID": run}
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True
    )


def _port(user: "subprocess.Popen[str]") -> int:
    assert user.stdout is not None
    return int(user.stdout.readline())


@pytest.mark.slow
def test_users_of_one_run_share_a_server_until_the_last_is_killed(public_folder: Path) -> None:
    with (
        _user(public_folder, "one") as first,
        _user(public_folder, "one") as second,
        _user(public_folder, "two") as other,
    ):
        assert _port(first) == _port(second) != _port(other)
        folder = public_folder / "docmill-postgres-one"
        postmaster = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        first.kill()
        first.wait()
        second_url = Server(**json.loads((folder / "server.json").read_text())).url("postgres", "postgres")
        assert _value(second_url, "SELECT 1") == 1
        second.send_signal(signal.SIGKILL)
        _wait_until_gone(folder, postmaster)
        other.kill()
        _wait_for(lambda: not (public_folder / "docmill-postgres-two").exists())


def _wait_until_gone(folder: Path, pid: int) -> None:
    _wait_for(lambda: not folder.exists())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
