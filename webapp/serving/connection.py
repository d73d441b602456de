"""A client's connection: its socket, what has come of its next request, and the deadline of its present state."""

import errno
import os
import socket
import struct
import time
from functools import lru_cache
from ipaddress import IPv6Address, ip_network
from typing import Any

from gunicorn.workers.gthread import TConn

from webapp.serving.arrival import Arrival
from webapp.serving.capacity import SMALL_ANSWER_BYTES
from webapp.serving.inflow import ClientLimits, Inflow

_BLOCK_BYTES = 1 << 18


class PacedSocket(socket.socket):
    """A socket that a thread writes to, and that has time for a slow reader only where an answer is large.

    What the kernel does not take at once of a small answer stays in `unsent`: the main loop sends it.
    """

    client_limits = ClientLimits()
    unsent = memoryview(b"")
    _waited_seconds = 0.0
    _sent_bytes = 0

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send it, however often the kernel takes a part, or keep what is left where that is not much."""
        rest = memoryview(data).cast("B")
        if not self.unsent:
            rest = rest[self._send_now(rest) :]
        if len(self.unsent) + len(rest) <= SMALL_ANSWER_BYTES:
            self.unsent = memoryview(bytes(self.unsent) + bytes(rest))
            return
        self._send_unsent()
        self._send_patiently(rest)

    def send_on(self) -> int:
        """Send what the kernel takes now of what was left; how many bytes that were."""
        sent = self._send_now(self.unsent)
        self.unsent = self.unsent[sent:]
        return sent

    def _send_now(self, data: memoryview) -> int:
        try:
            return self.send(data, socket.MSG_DONTWAIT) if data else 0
        except BlockingIOError:
            return 0

    def _send_unsent(self) -> None:
        # First forgotten: where this fails nobody is to go on with it.
        left, self.unsent = self.unsent, memoryview(b"")
        self._send_patiently(left)

    def _send_patiently(self, rest: memoryview) -> None:
        while rest:
            began = time.monotonic()
            try:
                sent = self.send(rest[:_BLOCK_BYTES])
            except BlockingIOError as error:
                raise _too_slow() from error
            self._measure(sent, time.monotonic() - began)
            rest = rest[sent:]

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """Send a file, at the pace that is asked for."""
        end = os.fstat(file.fileno()).st_size if count is None else offset + count
        if len(self.unsent) + end - offset <= SMALL_ANSWER_BYTES:
            data = os.pread(file.fileno(), max(0, end - offset), offset)
            self.sendall(data)
            file.seek(offset + len(data))
            return len(data)
        self._send_unsent()
        total = 0
        while offset + total < end:
            began = time.monotonic()
            block = min(_BLOCK_BYTES, end - offset - total)
            try:
                sent = os.sendfile(self.fileno(), file.fileno(), offset + total, block)
            except BlockingIOError as error:
                raise _too_slow() from error
            if sent == 0:
                break
            self._measure(sent, time.monotonic() - began)
            total += sent
        file.seek(offset + total)
        return total

    def _measure(self, sent: int, seconds: float) -> None:
        self._sent_bytes += sent
        self._waited_seconds += seconds
        if self._waited_seconds < self.client_limits.pace_seconds:
            return
        if self._sent_bytes < self.client_limits.bytes_per_second_min * self._waited_seconds:
            raise _too_slow()
        self._waited_seconds, self._sent_bytes = 0.0, 0


def _too_slow() -> BrokenPipeError:
    """The error of a closed connection, about which gunicorn logs nothing."""
    return BrokenPipeError(errno.EPIPE, "the other end reads too slowly")


class ClientConnection(TConn):  # type: ignore[misc] # gunicorn has no types
    """A connection: it waits in the main loop, is answered by a thread, or is being closed."""

    sock: PacedSocket
    inflow: Inflow

    def __init__(self, cfg: Any, sock: PacedSocket, client: Any, server: Any, client_limits: ClientLimits) -> None:
        super().__init__(cfg, sock, client, server)
        self.address = address_of(client)
        self.arrival = Arrival()
        self.deadline = time.monotonic() + client_limits.head_seconds
        self.looked_at_bytes = 0
        self.drained_bytes = 0
        self.counts_as_large = False
        self.is_kept = False
        """Whether another request may follow."""
        self.sent_bytes = 0
        """How much of the rest of its answer went out since somebody looked at its pace."""
        self._limits = client_limits
        sock.client_limits = client_limits
        # Kept by the kernel, since gunicorn takes a socket's own time limit away again.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("@ll", client_limits.silence_seconds, 0))

    @property
    def is_idle(self) -> bool:
        """Whether no byte of its next request has come."""
        return len(self.arrival) == 0

    @property
    def is_between_requests(self) -> bool:
        """Whether it has served a request before and waits for the next one."""
        return bool(self.initialized) and self.is_idle

    def feed(self, data: bytes) -> None:
        """Add bytes of the next request."""
        was_idle, had_head = self.is_idle, self.arrival.has_head
        self.arrival.feed(data)
        if self.arrival.has_head and not had_head:
            self._allow(self._limits.body_seconds)
        elif was_idle:
            self._allow(self._limits.head_seconds)

    def is_late(self, now: float) -> bool:
        """Whether its deadline is over; a body that keeps its pace has longer."""
        if now <= self.deadline:
            return False
        came = len(self.arrival) - self.looked_at_bytes
        if self.arrival.has_head and came >= self._limits.bytes_per_second_min * self._limits.body_seconds:
            self._allow(self._limits.body_seconds)
            return False
        return True

    def begin_rest(self) -> None:
        """Its thread has written all of the answer; the kernel has not taken all of it yet."""
        self.sock.setblocking(False)
        self.sent_bytes = 0
        self.deadline = time.monotonic() + self._limits.pace_seconds

    def is_reading_too_slowly(self, now: float) -> bool:
        """Whether it has taken in too little of the rest of its answer."""
        if now <= self.deadline:
            return False
        if self.sent_bytes <= self._limits.bytes_per_second_min * self._limits.pace_seconds:
            return True
        self.begin_rest()
        return False

    def begin(self) -> None:
        """Give the request to a thread: gunicorn's parser reads what has come, then the rest from the socket."""
        self.sock.setblocking(True)
        is_first = not self.initialized
        self.init()
        if is_first:
            self.inflow = self.parser.unreader = Inflow(self.sock, self._limits)
        self.inflow.begin(self.arrival.take(), self._limits.body_seconds, is_whole=self.arrival.is_whole)

    def go_on(self) -> None:
        """Begin the next request with the bytes that came after this one."""
        self.sock.setblocking(False)
        self.arrival = Arrival(self.inflow.take_buffered())
        self._allow(self._limits.idle_seconds if self.is_idle else self._limits.head_seconds)

    def _allow(self, seconds: float) -> None:
        self.deadline = time.monotonic() + seconds
        self.looked_at_bytes = len(self.arrival)


def address_of(client: Any) -> str | None:
    """The client's address, by which connections are counted; None for a Unix socket."""
    if not isinstance(client, tuple):
        return None
    return _network_of(client[0]) if ":" in client[0] else str(client[0])


@lru_cache(10_000)
def _network_of(address: str) -> str:
    """The /64 network of an IPv6 address, which one household has."""
    found = IPv6Address(address.partition("%")[0])
    return str(found.ipv4_mapped or ip_network((found, 64), strict=False))
