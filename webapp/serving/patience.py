"""Nobody keeps a thread of the server by sending nothing, or next to nothing.

A thread reads one request at a time, so whoever opens a few dozen connections and never finishes a
sentence could silence the whole site. Silence ends a connection; headers, and what is sent with
anything but an upload, have to be there in time. An upload may take as long as its line is slow.
"""

import socket
import struct
import time
from contextlib import suppress
from typing import Any

from gunicorn.workers.gthread import ThreadWorker

UPLOADS = ("POST", "/documents")


class PatientWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """gunicorn's worker with threads, whose patience has an end."""

    silence_seconds = 30
    headers_seconds = 20.0
    body_seconds = 60.0

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        # Until when a connection is listened to. Threads write it, the main loop looks.
        self._deadlines: dict[Any, float] = {}

    def enqueue_req(self, conn: Any) -> None:
        """A connection has something to say, or is new."""
        # Kept by the kernel: gunicorn takes a socket's own time limit away again.
        limit = struct.pack("@ll", self.silence_seconds, 0)
        with suppress(OSError):
            conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)
            conn.sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limit)
        super().enqueue_req(conn)

    def handle(self, conn: Any) -> Any:
        """Read a request and answer it, in a thread."""
        self._deadlines[conn] = time.monotonic() + self.headers_seconds
        try:
            return super().handle(conn)
        finally:
            self._deadlines.pop(conn, None)

    def handle_request(self, req: Any, conn: Any) -> Any:
        """Its headers are there; what else belongs to it is still to come."""
        if (req.method, req.path) == UPLOADS:
            self._deadlines.pop(conn, None)
        else:
            self._deadlines[conn] = time.monotonic() + self.body_seconds
        return super().handle_request(req, conn)

    def murder_pending(self) -> None:
        """Called by the main loop at least once a second."""
        super().murder_pending()
        now = time.monotonic()
        for conn, deadline in self._deadlines.copy().items():
            if now > deadline:
                # A thread that still reads finds the end; one that already answers is not disturbed.
                with suppress(OSError):
                    conn.sock.shutdown(socket.SHUT_RD)
