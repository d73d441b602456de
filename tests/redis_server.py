"""A redis-server of the tests' own: on loopback, without files, on a port that nobody else has."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.emulators.ports import free_port

if TYPE_CHECKING:
    import redis

START_SECONDS = 20.0
NO_REDIS = "no redis-server: install it (Debian: apt-get install redis-server), or set REDIS_SERVER to its path"


def find_redis() -> str | None:
    """The program; None where there is none."""
    return shutil.which(os.environ.get("REDIS_SERVER", "redis-server"))


class RedisServer:
    """One that can be killed, frozen, and started again empty on the same port."""

    def __init__(self, *options: str, password: str | None = None, scheme: str = "redis", query: str = "") -> None:
        self.port = free_port()
        self._password = password
        self._scheme, self._query = scheme, query
        self._folder = tempfile.mkdtemp(prefix="docmill-redis-")
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        secret = f":{self._password}@" if self._password else ""
        return f"{self._scheme}://{secret}127.0.0.1:{self.port}/0{self._query}"

    @property
    def client(self) -> "redis.Redis":
        """For looking into it, and for changing it by hand."""
        import redis  # noqa: PLC0415 - not every test run needs it

        return redis.from_url(self.url, decode_responses=True, socket_timeout=5)

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self) -> None:
        program = find_redis()
        assert program is not None, NO_REDIS
        port = ["--port", "0", "--tls-port", str(self.port)] if self._scheme == "rediss" else ["--port", str(self.port)]
        secret = ["--requirepass", self._password] if self._password else []
        files = ["--save", "", "--appendonly", "no", "--dir", self._folder, "--logfile", "redis.log"]
        self._process = subprocess.Popen(
            [program, *port, "--bind", "127.0.0.1", *files, *secret, *self._options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        deadline = time.monotonic() + START_SECONDS
        while not self._listens():
            assert time.monotonic() < deadline, "redis-server does not start"
            time.sleep(0.02)

    def kill(self) -> None:
        """kill -9: whatever it had is gone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(20)

    def freeze(self, *, is_on: bool) -> None:
        """It accepts connections and answers nothing."""
        assert self._process is not None
        if not self.is_alive:
            return
        self._process.send_signal(signal.SIGSTOP if is_on else signal.SIGCONT)

    def stop(self) -> None:
        if self.is_alive:
            self.freeze(is_on=False)
            self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _listens(self) -> bool:
        assert self.is_alive, (Path(self._folder) / "redis.log").read_text()
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
            return True
        return False


@contextlib.contextmanager
def running_redis(*options: str, password: str | None = None) -> Iterator[RedisServer]:
    """One until the end of the block."""
    server = RedisServer(*options, password=password)
    try:
        yield server
    finally:
        server.stop()


def need_redis(items: list[pytest.Item]) -> None:
    """Skip these tests where there is no redis-server; with REQUIRE_REDIS=1 that is a failure."""
    if not items or find_redis():
        return
    if os.environ.get("REQUIRE_REDIS") == "1":
        raise pytest.UsageError(f"REQUIRE_REDIS=1, but there is {NO_REDIS}")
    for item in items:
        item.add_marker(pytest.mark.skip(reason=NO_REDIS))
