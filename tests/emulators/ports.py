"""Ports of this machine: a free one, and the moment at which somebody listens on it."""

import socket
import threading
import time
from collections.abc import Callable

PAUSE_SECONDS = 0.05


def free_port() -> int:
    """A port that nobody uses now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
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
