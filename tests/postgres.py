"""A real PostgreSQL for the tests: embedded, throw-away, one per test run.

    with server() as postgres:
        urls = postgres.create_database("jobs_gw0")
        ...  # urls.owner_url migrates, urls.runtime_url serves
        postgres.drop_database("jobs_gw0")

All the workers of one `pytest -n` share one server; a second run beside it has its own. The
server belongs to a keeper, a small process that stops it as soon as nobody holds the `users`
lock of its folder any more. The kernel lets go of that lock however a user ends, so nothing is
left behind, not even by `kill -9`.

Two roles stand for the two of a real installation, since as a superuser every test of row-level
security would pass for nothing: the owner migrates and owns the tables; the runtime role serves,
may do what the migrations grant it, and security applies to it.
"""

import contextlib
import fcntl
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import psycopg
from psycopg import sql

from tests.postgres_keeper import OWNER, RUNTIME, SUPERUSER, TEMPLATE, NotStarted

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class DatabaseUrls:
    """One database as each role reaches it: over TCP on loopback, from this process and from children."""

    owner_url: str
    runtime_url: str
    superuser_url: str


@dataclass(frozen=True)
class Server:
    """A running server."""

    port: int
    passwords: dict[str, str] = field(repr=False)

    def url(self, role: str, database: str) -> str:
        """A `postgresql://` URL that carries all that a client needs."""
        return f"postgresql://{role}:{self.passwords[role]}@127.0.0.1:{self.port}/{database}"

    def urls(self, database: str) -> DatabaseUrls:
        """The URLs of a database, whether it exists yet or not."""
        return DatabaseUrls(self.url(OWNER, database), self.url(RUNTIME, database), self.url(SUPERUSER, database))

    def create_database(self, name: str, template: str | None = None) -> DatabaseUrls:
        """A database of the owner's; `template` names one to copy, to which nobody may be connected."""
        statement = sql.SQL("CREATE DATABASE {} OWNER {} TEMPLATE {}")
        self._run(statement.format(sql.Identifier(name), sql.Identifier(OWNER), sql.Identifier(template or TEMPLATE)))
        return self.urls(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, with its open connections; nothing happens where there is none."""
        self._run(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))

    def _run(self, statement: sql.Composed) -> None:
        with psycopg.connect(self.url(SUPERUSER, "postgres"), autocommit=True) as connection:
            connection.execute(statement)


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """The server of this test run: the first to ask starts it, the last to leave ends it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    folder = _folder_of(run) if run else Path(tempfile.mkdtemp(prefix="docmill-postgres-"))
    users = _join(folder)
    keeper: IO[str] | None = None
    try:
        with _alone(folder):
            if not (folder / "server.json").exists():
                keeper = _start_keeper(folder)
        yield Server(**json.loads((folder / "server.json").read_text()))
    finally:
        users.close()
        if keeper is not None:
            _leave(keeper, is_shared=bool(run))


def _folder_of(run: str) -> Path:
    return Path(tempfile.gettempdir()) / f"docmill-postgres-{run}"


def _join(folder: Path) -> IO[bytes]:
    """Count as a user. It waits while a keeper clears up after earlier users, and then begins anew."""
    while True:
        folder.mkdir(mode=0o700, exist_ok=True)
        # PostgreSQL's own system user has to pass through to its data.
        folder.chmod(0o711)
        with contextlib.suppress(FileNotFoundError):
            users = (folder / "users").open("ab")
            fcntl.flock(users, fcntl.LOCK_SH)
            if _is_still(folder / "users", users):
                return users
            users.close()


def _is_still(path: Path, opened: IO[bytes]) -> bool:
    return path.exists() and os.path.samestat(path.stat(), os.fstat(opened.fileno()))


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with (folder / "start.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _start_keeper(folder: Path) -> IO[str]:
    """Returns the pipe that stays open as long as the keeper lives."""
    command = [sys.executable, "-m", "tests.postgres_keeper", str(folder)]
    keeper = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    keeper.wait()
    assert keeper.stdout is not None
    if keeper.stdout.readline() != "ready\n":
        keeper.stdout.close()
        raise NotStarted("the embedded PostgreSQL did not start; the reason is above")
    return keeper.stdout


def _leave(keeper: IO[str], *, is_shared: bool) -> None:
    # Others may go on using a shared server, so only a private one is waited for.
    if not is_shared:
        keeper.read()
    keeper.close()
