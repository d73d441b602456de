"""A PgBouncer of the test's own in front of the database under test."""

import contextlib
import os
import pwd
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg

from tests.emulators.ports import free_port
from tests.worker.bench import wait_for


@dataclass(frozen=True)
class Pooler:
    """Where it listens, and whether it shares out transactions or whole sessions."""

    url: str
    mode: str


@contextlib.contextmanager
def pooler(url: str, mode: str, folder: Path) -> Iterator[Pooler]:
    """Run one until the end of the block."""
    parts, port = urlsplit(url), free_port()
    name = parts.path.lstrip("/")
    (folder / "users.txt").write_text(f'"{parts.username}" "{parts.password}"\n')
    (folder / "pooler.ini").write_text(
        f"[databases]\n{name} = host=127.0.0.1 port={parts.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nunix_socket_dir =\n"
        f"auth_type = plain\nauth_file = {folder / 'users.txt'}\npool_mode = {mode}\n"
        "default_pool_size = 20\nignore_startup_parameters = options\n"
    )
    with _running(folder):
        pooled = Pooler(f"postgresql://{parts.username}:{parts.password}@127.0.0.1:{port}/{name}", mode)
        wait_for(lambda: _answers(pooled.url), "for pgbouncer")
        yield pooled


@contextlib.contextmanager
def _running(folder: Path) -> Iterator[None]:
    # It refuses to run as root, and then has to reach its files.
    command = ["pgbouncer", "-q", str(folder / "pooler.ini")]
    if os.geteuid() == 0:
        command[1:1] = ["-u", "nobody"]
        _open_to(folder, pwd.getpwnam("nobody").pw_uid)
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def _open_to(folder: Path, user: int) -> None:
    for path in (folder / "users.txt", folder / "pooler.ini"):
        os.chown(path, user, -1)
    for parent in (folder, *folder.parents):
        if parent.stat().st_uid == os.geteuid() and parent != Path("/") and "pytest" in str(parent):
            parent.chmod(parent.stat().st_mode | 0o011)


def _answers(url: str) -> bool:
    with contextlib.suppress(psycopg.OperationalError), psycopg.connect(url, connect_timeout=2):
        return True
    return False
