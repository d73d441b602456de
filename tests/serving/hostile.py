"""Clients that mean harm by being slow, in a process of their own, and ordinary ones whose answers are timed.

`python -m tests.serving.hostile KIND PORT NUMBER TOKEN` keeps so many connections of a kind open until its standard
input ends, and replaces each that the server closes.
"""

import contextlib
import heapq
import http.client
import itertools
import select
import selectors
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field

from tests.postgres import ROOT

_UPLOAD = "Content-Type: multipart/form-data; boundary=b\r\n"
_FILE = '--b\r\nContent-Disposition: form-data; name="file"; filename="slow.txt"\r\n\r\n'


@dataclass(frozen=True)
class Kind:
    """What such a client sends at once, and then each second."""

    first: str
    each_second: str = ""
    renew_seconds: float = 60.0
    """When it begins anew, although nobody has closed its connection."""
    takes_in: bool = True
    """Whether its kernel takes in more than a few bytes."""
    opens_over_seconds: float = 1.0
    """How long all of them take to begin: a crowd that acts at once is a flood of requests, which is another matter."""

    def opening(self, token: str) -> bytes:
        return self.first.replace("\n", "\r\n").replace("\r\r", "\r").replace("TOKEN", token).encode()


KINDS = {
    # One after the other on one connection, until the kernels on both sides take no more.
    "many answers unread": Kind(
        14 * "GET /static/js/upload.js HTTP/1.1\nHost: localhost\n\n",
        renew_seconds=30.0,
        takes_in=False,
        opens_over_seconds=5.0,
    ),
    # It reads nothing and does not close: the server is done with it after two seconds.
    "slow close": Kind("GET /healthz HTTP/1.1\nHost: localhost\nConnection: close\n\n", renew_seconds=2.5),
    "half a head": Kind("GET / HTTP/1.1\nHost: localhost\nX-Slow: ", each_second="x"),
    "half a form": Kind(
        "POST /sign-in HTTP/1.1\nHost: localhost\nContent-Type: application/x-www-form-urlencoded\n"
        "Content-Length: 1000\n\nemail=",
        each_second="x",
    ),
    "form without end": Kind(
        "POST /sign-in HTTP/1.1\nHost: localhost\nContent-Type: application/x-www-form-urlencoded\n"
        "Transfer-Encoding: chunked\n\n",
        each_second="1\r\nx\r\n",
    ),
    # Who reads it can't know how little of it will come.
    "large form without body": Kind(
        "POST /sign-in HTTP/1.1\nHost: localhost\nContent-Type: application/x-www-form-urlencoded\n"
        "Transfer-Encoding: chunked\n\nFFFFFFF\nemail=",
        renew_seconds=5.0,
    ),
    "upload without body": Kind(
        "POST /documents HTTP/1.1\nHost: localhost\nContent-Length: 1000\n\n", renew_seconds=5.0
    ),
    "large upload without body": Kind(
        "POST /documents HTTP/1.1\nHost: localhost\nContent-Length: 10000000\n\n", renew_seconds=2.5
    ),
    "member's slow upload": Kind(
        "POST /documents HTTP/1.1\nHost: localhost\nAuthorization: Bearer TOKEN\nAccept: application/json\n"
        f"{_UPLOAD}Content-Length: 10000000\n\n{_FILE}",
        each_second="x",
    ),
}


@dataclass(order=True)
class _Client:
    due_at: float
    number: int
    renew_at: float = field(compare=False, default=0.0)
    sock: socket.socket | None = field(compare=False, default=None)


class _Crowd:
    """All clients of one kind, in one loop."""

    def __init__(self, kind: Kind, port: int, number: int, token: str) -> None:
        self._kind, self._port, self._opening = kind, port, kind.opening(token)
        self._selector = selectors.DefaultSelector()
        begins_at, gap = time.monotonic(), kind.opens_over_seconds / number
        self._timers = [_Client(begins_at + index * gap, index) for index in range(number)]
        self.opened = 0

    def turn(self) -> None:
        """Do what is due, and look who was closed."""
        for key, _ in self._selector.select(0.02):
            client: _Client = key.data
            # The kind that does not close reads nothing either.
            if self._kind.renew_seconds >= 60.0 and client.sock is not None:
                with suppress(BlockingIOError):
                    if not _read(client.sock):
                        self._close(client)
        now = time.monotonic()
        while self._timers[0].due_at <= now:
            client = heapq.heappop(self._timers)
            self._act(client, now)
            heapq.heappush(self._timers, client)

    def _act(self, client: _Client, now: float) -> None:
        if client.sock is not None and now >= client.renew_at:
            self._close(client)
        try:
            if client.sock is None:
                self._open(client, now)
            elif self._kind.each_second:
                client.sock.send(self._kind.each_second.encode())
        except BlockingIOError:
            pass
        except OSError:
            self._close(client)
        client.due_at = now + 1.0

    def _open(self, client: _Client, now: float) -> None:
        client.sock = socket.socket()
        client.sock.settimeout(10)
        if not self._kind.takes_in:
            client.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            # As short as no line's: for longer ones the server's kernel takes megabytes.
            client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        client.sock.connect(("127.0.0.1", self._port))
        client.sock.setblocking(False)
        client.sock.send(self._opening)
        client.renew_at = now + self._kind.renew_seconds
        self.opened += 1
        if self._kind.renew_seconds >= 60.0:
            self._selector.register(client.sock, selectors.EVENT_READ, client)

    def _close(self, client: _Client) -> None:
        if client.sock is not None:
            with suppress(KeyError, ValueError):
                self._selector.unregister(client.sock)
            client.sock.close()
            client.sock = None


def _read(sock: socket.socket) -> bytes:
    try:
        return sock.recv(65536)
    except ConnectionError:
        return b""


def main() -> None:
    """The process of the hostile ones."""
    name, port, number, token = sys.argv[1:]
    crowd = _Crowd(KINDS[name], int(port), int(number), token)
    is_told = False
    while not select.select([sys.stdin], [], [], 0)[0]:
        crowd.turn()
        if not is_told and crowd.opened >= int(number):
            is_told = True
            sys.stdout.write("ready\n")
            sys.stdout.flush()


@contextmanager
def besieged(kind: str, port: int, number: int, token: str) -> Iterator[None]:
    """While so many hostile clients are connected."""
    command = [sys.executable, "-m", "tests.serving.hostile", kind, str(port), str(number), token]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == b"ready\n"
            yield
        finally:
            process.stdin.close()
            process.stdout.read()


PAUSE_SECONDS = 0.1
# All come from one address and bring one token here: limits of these would do the server's work.
NO_LIMITS = {
    "CONNECTIONS_PER_ADDRESS": "0",
    **dict.fromkeys(("RATE_REQUESTS", "RATE_POLLS", "RATE_UPLOADS", "RATE_SEARCHES", "RATE_LINKS"), "0"),
}
# A person opens pages, and mostly on a connection that is there.
PATHS = ("/", "/documents", "/account", "/search?q=wheat", "/static/css/tokens.css")


def waits(port: int, token: str, users: int = 10, requests: int = 20) -> list[float]:
    """The seconds that ordinary users wait for their pages, the longest last."""
    with ThreadPoolExecutor(users) as pool:
        found = pool.map(lambda number: _visit(port, token, number, requests), range(users))
        return sorted(itertools.chain.from_iterable(found))


def _visit(port: int, token: str, number: int, requests: int) -> list[float]:
    """One user: pages with pauses in between, a new connection now and then."""
    seconds = []
    for visit in range(0, requests, 8):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=60)) as connection:
            for step in range(visit, min(visit + 8, requests)):
                began = time.perf_counter()
                headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
                connection.request("GET", PATHS[(step + number) % len(PATHS)], headers=headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status in {200, 403}, answer.status
                seconds.append(time.perf_counter() - began)
                time.sleep(PAUSE_SECONDS)
    return seconds


def p99(seconds: list[float]) -> float:
    """In milliseconds."""
    return seconds[int(len(seconds) * 0.99)] * 1000


if __name__ == "__main__":
    main()
