"""What a thread still reads from a connection, and for how long it waits for that.

A request comes to a thread whole, but for the body of an upload. Whoever is not known yet has a deadline for it. An
upload that was let in may take as long as its line is slow, but not as long as its sender likes.
"""

import math
import socket
import struct
import time
from dataclasses import dataclass

from gunicorn.http.unreader import SocketUnreader

ENVIRON_KEY = "docmill.inflow"
# gunicorn reads 8 kB at a time; each read lets another thread run, and then waits for its turn.
_CHUNK_BYTES = 1 << 16


@dataclass(frozen=True)
class Patience:
    """How long whoever is at the other end may take."""

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
    """Reads from a socket within limits; beyond them it looks as if the sender had gone."""

    def __init__(self, sock: socket.socket, patience: Patience) -> None:
        super().__init__(sock, max_chunk=_CHUNK_BYTES)
        self.missed_some = False
        """Whether somebody wanted bytes that have not come."""
        self.is_whole = True
        """Whether all of the request had come when a thread took it."""
        self._patience = patience
        self._deadline: float | None = None
        self._timeout_seconds: float | None = None
        self._has_ended = False
        self._waited_seconds = 0.0
        self._came_bytes = 0

    def begin(self, received: bytes, seconds: float, *, is_whole: bool) -> None:
        """A request begins with these bytes; the rest of it has to be there within so many seconds."""
        self.unread(received)
        self.is_whole = is_whole
        self._deadline = time.monotonic() + seconds
        self._has_ended = self.missed_some = False
        self._waited_seconds, self._came_bytes = 0.0, 0

    def lift_deadline(self) -> None:
        """From now on only silence, and a pace that no line is as slow as, end it."""
        self._deadline = None

    def stop(self) -> None:
        """Wait for nothing more."""
        self._has_ended = True

    def chunk(self, size_hint: int | None = None) -> bytes:
        """The next bytes from the socket; none where they did not come in time."""
        began = time.monotonic()
        seconds = float(self._patience.silence_seconds)
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
        """Only time spent waiting for the sender counts: a slow disk of ours is not its fault."""
        self._came_bytes += came
        self._waited_seconds += seconds
        if self._waited_seconds < self._patience.pace_seconds:
            return
        if self._came_bytes < self._patience.bytes_per_second_min * self._waited_seconds:
            self._has_ended = True
        self._waited_seconds, self._came_bytes = 0.0, 0
