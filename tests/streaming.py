"""A streaming replica of the tests' PostgreSQL: it can be paused, stopped, frozen, and started again."""

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psutil
import psycopg

from tests.emulators.ports import free_port
from tests.postgres import Server
from tests.postgres_keeper import SUPERUSER, _answers, _identity, _launch, _programs, _stop


@dataclass
class StreamingReplica:
    """One that runs, at the same passwords as its primary."""

    folder: Path
    programs: Path
    identity: dict[str, Any]
    passwords: dict[str, str] = field(repr=False)
    port: int = field(default_factory=free_port)
    process: "subprocess.Popen[bytes] | None" = None

    def url(self, primary_url: str) -> str:
        """The address of a database of the primary's, in the replica."""
        parts = urlsplit(primary_url)
        return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.port}", f":{self.port}")))

    def start(self) -> None:
        process = _launch(self.folder, self.programs, self.identity, self.folder / "data", self.port)
        assert _answers(process, self.port, self.passwords), (self.folder / "log").read_text()[-2000:]
        self.process = process

    def stop(self) -> None:
        """As a machine that loses power."""
        if self.process is not None:
            self._signal(signal.SIGKILL)
            self.process.wait()
            self.process = None

    def freeze(self) -> None:
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def pause(self) -> None:
        """It goes on to serve, and falls behind."""
        self._execute("SELECT pg_wal_replay_pause()")

    def resume(self) -> None:
        self._execute("SELECT pg_wal_replay_resume()")

    def _signal(self, number: int) -> None:
        assert self.process is not None
        postmaster = psutil.Process(self.process.pid)
        for each in (postmaster, *postmaster.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(number)

    def _execute(self, statement: str) -> None:
        url = f"postgresql://{SUPERUSER}:{self.passwords[SUPERUSER]}@127.0.0.1:{self.port}/postgres"
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(statement.encode())


@contextlib.contextmanager
def streaming_replica(server: Server) -> Iterator[StreamingReplica]:
    """A copy of the whole server that follows it until the end of the block."""
    identity, folder = _identity(), Path(tempfile.mkdtemp(prefix="docmill-replica-"))
    try:
        folder.chmod(0o711)
        programs = _programs(folder, identity)
        _copy(server, programs, folder / "data", identity)
        replica = StreamingReplica(folder, programs, identity, server.passwords)
        replica.start()
        try:
            yield replica
        finally:
            if replica.process is not None:
                replica.thaw()
                _stop(replica.process)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _copy(server: Server, programs: Path, data: Path, identity: dict[str, Any]) -> None:
    data.mkdir(mode=0o700)
    if identity:
        os.chown(data, identity["user"], identity["group"])
    command = [f"{programs}/pg_basebackup", "--pgdata", str(data), "--write-recovery-conf", "--wal-method=stream"]
    command += [
        "--checkpoint=fast",
        "--no-sync",
        "--host=127.0.0.1",
        f"--port={server.port}",
        f"--username={SUPERUSER}",
    ]
    environment = {"PGPASSWORD": server.passwords[SUPERUSER], "HOME": str(data), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd="/", env=environment, timeout=120, **identity
    )
    assert done.returncode == 0, done.stderr
