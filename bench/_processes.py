"""Worker processes of the measured queues, and databases for each of them."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit, urlunsplit

import psycopg

_ROOT = Path(__file__).resolve().parent.parent
PATIENCE_SECONDS = 120.0
_LOOK_EVERY_SECONDS = 0.01


@contextmanager
def database(owner_url: str, name: str) -> Iterator[str]:
    """A database of its own on the same server, gone afterwards."""
    parts = urlsplit(owner_url)
    with psycopg.connect(owner_url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {name}")
        try:
            yield urlunsplit(parts._replace(path=f"/{name}"))
        finally:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")


class Workers:
    """So many worker processes of a queue; they are ready when this exists, and work after `go`."""

    def __init__(self, name: str, url: str, number: int, **environment: str) -> None:
        command = [sys.executable, "-m", "bench._peers.worker", name, url]
        self.processes = [
            subprocess.Popen(
                command, cwd=_ROOT, env={**os.environ, **environment}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            )
            for _ in range(number)
        ]
        for process in self.processes:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"

    def go(self) -> float:
        """Let them begin; the moment."""
        began_at = time.perf_counter()
        for process in self.processes:
            assert process.stdin is not None
            process.stdin.write(b"\n")
            process.stdin.flush()
        return began_at

    def lines(self, number: int, of: int = 0) -> list[bytes]:
        """What a process says about so many jobs."""
        out = self.processes[of].stdout
        assert out is not None
        return [out.readline() for _ in range(number)]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for process in self.processes:
            process.kill()
            process.communicate()


def wait_until(is_so: Callable[[], bool]) -> float:
    """Until it is so; the moment."""
    deadline, pause = time.perf_counter() + PATIENCE_SECONDS, threading.Event()
    while not is_so():
        assert time.perf_counter() < deadline, "it took too long"
        pause.wait(_LOOK_EVERY_SECONDS)
    return time.perf_counter()


def wait_until_done(url: str, unfinished: str) -> float:
    """Until the database shows no unfinished job; the moment."""
    with psycopg.connect(url, autocommit=True) as connection:
        return wait_until(lambda: connection.execute(unfinished).fetchone() is None)
