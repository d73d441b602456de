"""Ports of this machine: a free one, and the moment at which somebody listens on it."""

import contextlib
import secrets
import socket
import threading
import time
from collections.abc import Callable

PAUSE_SECONDS = 0.05
# Below those that Linux gives to connections.
PORTS = range(20_000, 32_000)


def free_port() -> int:
    """A port that nobody uses now, and that the system gives to nobody who asks for any.

    Of the system's own ports, another process is given the one that was found free before its server listens there.
    """
    while True:
        port = secrets.choice(PORTS)
        with contextlib.suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def wait_for_port(port: int, seconds: float, is_alive: Callable[[], bool]) -> None:
    """Return when somebody listens; AssertionError when the time is up or the process has ended."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while is_alive() and time.monotonic() < deadline:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            pause.wait(PAUSE_SECONDS)
    raise AssertionError(f"nobody listens on port {port}")
