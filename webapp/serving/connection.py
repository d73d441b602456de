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
from webapp.serving.inflow import ClientLimits, Inflow

_BLOCK_BYTES = 1 << 18


class PacedSocket(socket.socket):
    """A socket that fails when its reader is too slow, since a thread writes to it."""

    client_limits = ClientLimits()
    _waited_seconds = 0.0
    _sent_bytes = 0

    def sendall(self, data: Any, flags: int = 0) -> None:
        """Send all of the data, at the pace that is asked for."""
        rest = memoryview(data).cast("B")
        while rest:
            began = time.monotonic()
            try:
                sent = self.send(rest[:_BLOCK_BYTES], flags)
            except BlockingIOError as error:
                raise _too_slow() from error
            self._measure(sent, time.monotonic() - began)
            rest = rest[sent:]

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """Send a file, at the pace that is asked for."""
        end = os.fstat(file.fileno()).st_size if count is None else offset + count
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
        self._limits = client_limits
        sock.client_limits = client_limits
        # A limit of the kernel, since gunicorn removes a time limit of the socket object.
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
