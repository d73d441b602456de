"""Reads the rest of a request from a connection, with time limits.

A thread gets whole requests, except for the bodies of uploads. Until the sender is authorised, its body has a deadline;
after that it may take long, as long as it keeps a minimum pace.
"""

import math
import socket
import struct
import time
from dataclasses import dataclass

from gunicorn.http.unreader import SocketUnreader

ENVIRON_KEY = "docmill.inflow"
# More than gunicorn's 8 kB: after each read a thread has to wait until it may run again.
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class ClientLimits:
    """How long a client may take."""

    idle_seconds: float = 30.0
    """Between two requests."""
    head_seconds: float = 20.0
    body_seconds: float = 60.0
    silence_seconds: int = 30
    """Without a byte, while a thread reads or writes."""
    close_seconds: float = 2.0
    """To read the answer and close, before the connection is cut."""
    bytes_per_second_min: float = 1000.0
    """Slower uploads and downloads are cut off."""
    pace_seconds: float = 60.0
    """Over how long their pace is measured."""


class Inflow(SocketUnreader):  # type: ignore[misc] # gunicorn has no types
    """Reads from a socket within limits; beyond them it behaves as if the sender had closed."""

    def __init__(self, sock: socket.socket, client_limits: ClientLimits) -> None:
        super().__init__(sock, max_chunk=_CHUNK_BYTES)
        self.missed_some = False
        """Whether bytes were asked for that have not come."""
        self.is_whole = True
        """Whether all of the request had come when a thread took it."""
        self._limits = client_limits
        self._deadline: float | None = None
        self._timeout_seconds: float | None = None
        self._has_ended = False
        self._waited_seconds = 0.0
        self._came_bytes = 0

    def begin(self, received: bytes, seconds: float, *, is_whole: bool) -> None:
        """Begin a request with these bytes; the rest has to come within so many seconds."""
        self.unread(received)
        self.is_whole = is_whole
        self._deadline = time.monotonic() + seconds
        self._has_ended = self.missed_some = False
        self._waited_seconds, self._came_bytes = 0.0, 0

    def lift_deadline(self) -> None:
        """Replace the deadline by limits of silence and pace."""
        self._deadline = None

    def stop(self) -> None:
        """Read nothing more from the socket."""
        self._has_ended = True

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next bytes from the socket; none where they did not come in time."""
        began = time.monotonic()
        seconds = float(self._limits.silence_seconds)
        if self._deadline is not None:
            seconds = min(seconds, self._deadline - began)
        if self._has_ended or seconds <= 0:
            self._has_ended = self.missed_some = True
            return b""
        self._wait_at_most(seconds)
        try:
            data: bytes = super().chunk(size_hint)
        except BlockingIOError:
            data = b""
        self._measure(len(data), time.monotonic() - began)
        if not data:
            self._has_ended = self.missed_some = True
        return data

    def _wait_at_most(self, seconds: float) -> None:
        """Set the kernel's limit for a read: Python's own costs several system calls each time it is set."""
        rounded = math.ceil(seconds * 10) / 10
        if rounded != self._timeout_seconds:
            self._timeout_seconds = rounded
            whole = int(rounded)
            timeval = struct.pack("@ll", whole, round((rounded - whole) * 1_000_000))
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, timeval)

    def _measure(self, came: int, seconds: float) -> None:
        """Measure the sender's pace; only time spent waiting for it counts."""
        self._came_bytes += came
        self._waited_seconds += seconds
        if self._waited_seconds < self._limits.pace_seconds:
            return
        if self._came_bytes < self._limits.bytes_per_second_min * self._waited_seconds:
            self._has_ended = True
        self._waited_seconds, self._came_bytes = 0.0, 0
