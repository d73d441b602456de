"""A PostgreSQL of the chaos run's own: it can be crashed and started again on the same port."""

import contextlib
import os
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
from psycopg import sql

from tests import postgres_keeper as keeper
from tests.emulators.ports import free_port
from tests.postgres import Server

# What was acknowledged must outlive a crash of the server, so nothing may be acknowledged early.
_DURABLE = {"synchronous_commit": "on", "log_min_messages": "fatal"}
DATABASE = "chaos"


class RestartableServer:
    """Starts with its roles and an empty database."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._identity = keeper._identity()
        self._programs = keeper._programs(folder, self._identity)
        self._passwords = {role: secrets.token_hex(16) for role in (keeper.OWNER, keeper.RUNTIME, keeper.SUPERUSER)}
        self._data = keeper._initialise(folder, self._programs, self._identity, self._passwords[keeper.SUPERUSER])
        self.port = free_port()
        self._process = self._launch()
        keeper._prepare(self.port, self._passwords)
        self.server = Server(self.port, self._passwords)
        self.server.create_database(DATABASE)
        self._roles = 0

    @property
    def superuser_url(self) -> str:
        return self.server.url(keeper.SUPERUSER, DATABASE)

    @property
    def owner_url(self) -> str:
        return self.server.url(keeper.OWNER, DATABASE)

    @property
    def runtime_url(self) -> str:
        return self.server.url(keeper.RUNTIME, DATABASE)

    def new_role(self) -> str:
        """A role with the rights of the runtime role, for one process alone: so it is known who wrote what."""
        self._roles += 1
        name, password = f"process_{self._roles}", secrets.token_hex(8)
        statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} IN ROLE {}")
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            connection.execute(statement.format(sql.Identifier(name), password, sql.Identifier(keeper.RUNTIME)))
        return f"{name}:{password}"

    def crash(self) -> None:
        """Immediate shutdown, as by a power cut of the database alone; then start again as at first."""
        self.stop_hard()
        self.start()

    def stop_hard(self) -> None:
        """Immediate shutdown; nothing answers until `start`."""
        self._process.send_signal(signal.SIGQUIT)
        self._process.wait(30)

    def start(self) -> None:
        """Start again after `stop_hard`; recovers from the log as after a power cut."""
        (self._data / "postgresql.auto.conf").write_text("")
        self._process = self._launch()

    def kill_backend(self, chosen: float) -> None:
        """kill -9 one session's process: the server throws all of them out and recovers."""
        with psycopg.connect(self.superuser_url, autocommit=True) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
                " ORDER BY pid"
            ).fetchall()
            if found:
                os.kill(found[int(chosen * len(found))][0], signal.SIGKILL)

    def stop(self) -> None:
        keeper._stop(self._process)

    def _launch(self) -> "subprocess.Popen[bytes]":
        process = keeper._launch(self._folder, self._programs, self._identity, self._data, self.port, **_DURABLE)
        if not keeper._answers(process, self.port, self._passwords):
            raise keeper.NotStarted((self._folder / "log").read_text(errors="replace")[-2000:])
        return process


@contextlib.contextmanager
def restartable() -> Iterator[RestartableServer]:
    """One until the end of the block."""
    folder = Path(tempfile.mkdtemp(prefix="docmill-chaos-postgres-"))
    folder.chmod(0o711)
    server = RestartableServer(folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
