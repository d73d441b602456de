"""gunicorn's worker class: a slow client occupies neither a thread nor the main loop.

The main loop reads requests as their bytes come, and hands one to a thread when it is whole. Only the body of an
upload is read by a thread (see `inflow`). The main loop also sends what a client has not taken in of a small answer,
and waits for clients to close: gunicorn itself would do nothing else meanwhile. So a slow client costs a place in the
poller, and has a deadline for each state that it can be in.
"""

import errno
import selectors
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any

from gunicorn.workers.gthread import STOP_KEEPALIVE_LINGER, ThreadWorker

from webapp.serving.capacity import large_at_once
from webapp.serving.connection import ClientConnection, PacedSocket, address_of
from webapp.serving.inflow import ENVIRON_KEY, ClientLimits
from webapp.serving.secret_paths import without_secret

_READ_BYTES = 1 << 16
# Read and thrown away while we wait for a client to close: cutting the connection could lose the answer.
_DRAIN_BYTES_MAX = 16 * 1024 * 1024
_UNREAD_BYTES_MAX = 64 * 1024
_LOOK_SECONDS = 0.25
_STOP_SECONDS = 5.0
_NO_MORE_FILES = {errno.EMFILE, errno.ENFILE}
_PASSING = {errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED, errno.EINTR}


class GunicornWorker(ThreadWorker):  # type: ignore[misc] # gunicorn has no types
    """gunicorn's threaded worker, with a time limit for everything that a client does."""

    wsgi: Any
    client_limits = ClientLimits()
    connections_per_address = 0
    """0 for no limit, as behind a proxy, from which all connections come."""

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        # In the order in which they came here; only the main loop touches these.
        self._waiting: dict[ClientConnection, None] = {}
        self._sending: dict[ClientConnection, None] = {}
        self._closing: dict[ClientConnection, None] = {}
        # Requests with a large body, when as many as may have a thread have one.
        self._queued: dict[ClientConnection, None] = {}
        self._large_in_threads = 0
        self.large_at_once = large_at_once(self.cfg.threads)
        self._by_address: Counter[str] = Counter()
        self._looks_again_at = 0.0
        self._answering = threading.local()

    @classmethod
    def check_config(cls, cfg: Any, log: Any) -> None:
        """Refuse TLS settings: the main loop could not read encrypted bytes."""
        if cfg.is_ssl:
            raise SystemExit("Docmill does not speak TLS itself: put a proxy in front (docs/proxy.md).")

    def run(self) -> None:
        """Serve until told to stop."""
        application = self.wsgi

        def serve(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
            environ[ENVIRON_KEY] = self._answering.connection.inflow
            answer: Iterable[bytes] = application(environ, start_response)
            return answer

        self.wsgi = serve
        super().run()

    def accept(self, listener: socket.socket) -> None:
        """Accept a connection."""
        try:
            plain, client = listener.accept()
        except OSError as error:
            if error.errno in _NO_MORE_FILES and self._drop_one([*self._closing, *self._sending, *self._waiting]):
                return
            if error.errno not in _PASSING | _NO_MORE_FILES:
                raise
            return
        accepted = PacedSocket(plain.family, plain.type, plain.proto, fileno=plain.detach())
        if self._is_one_too_many(address_of(client)):
            _refuse(accepted)
            return
        try:
            conn = ClientConnection(self.cfg, accepted, client, listener.getsockname(), self.client_limits)
        except OSError:
            # The client has gone already.
            accepted.close()
            return
        self.nr_conns += 1
        self._by_address[conn.address or ""] += 1
        self._wait(conn)
        while self.nr_conns >= self.worker_connections:
            # Close the connection that has waited longest; the new one has a chance to send its request first.
            others = (one for one in self._waiting if one is not conn)
            if not self._drop_one([*self._closing, *self._sending, *others, *self._queued]):
                break

    def handle(self, conn: ClientConnection) -> Any:
        """Read a request and answer it, in a thread."""
        self._answering.connection = conn
        try:
            conn.begin()
            return super().handle(conn)
        finally:
            del self._answering.connection

    def handle_error(self, req: Any, client: Any, addr: Any, exc: BaseException) -> None:
        """Log what nobody foresaw, with the path of the request but without a secret in it."""
        if req is not None and getattr(req, "uri", None):
            req.uri = without_secret(req.uri)
        super().handle_error(req, client, addr, exc)

    def finish_request(self, conn: ClientConnection, fs: Any) -> None:
        """Its thread is done with it; back in the main loop."""
        if conn.counts_as_large:
            conn.counts_as_large = False
            self._large_in_threads -= 1
            self._let_large_ones_in()
        try:
            conn.is_kept = not fs.cancelled() and bool(fs.result())
        except Exception:  # noqa: BLE001 - whatever it was, gunicorn has logged it, and the connection is of no more use
            conn.is_kept = False
        if not conn.sock.unsent:
            self._go_on(conn)
            return
        conn.begin_rest()
        self._sending[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_WRITE, partial(self._on_writable, conn))

    def _on_writable(self, conn: ClientConnection, sock: socket.socket) -> None:
        if conn not in self._sending:
            return
        try:
            conn.sent_bytes += conn.sock.send_on()
        except OSError:
            self._drop(conn)
            return
        if not conn.sock.unsent:
            self._forget(conn)
            self._go_on(conn)

    def _go_on(self, conn: ClientConnection) -> None:
        """Its answer is out."""
        if not conn.is_kept:
            self._linger(conn)
            return
        try:
            conn.go_on()
        except OSError:
            self._drop(conn)
            return
        if not self.alive:
            conn.deadline = min(conn.deadline, time.monotonic() + STOP_KEEPALIVE_LINGER)
        self._wait(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """Close all connections at the very end; until then `murder_pending` closes the late ones."""
        if force:
            for conn in [*self._waiting, *self._queued, *self._sending, *self._closing]:
                self._drop(conn)

    def murder_pending(self) -> None:
        """End what took too long; the main loop calls this at least once a second."""
        now = time.monotonic()
        if now < self._looks_again_at:
            return
        self._looks_again_at = now + _LOOK_SECONDS
        for conn in [conn for conn in self._waiting if conn.is_late(now)]:
            self._give_up(conn)
        for conn in [conn for conn in self._queued if now > conn.deadline]:
            self._answer(
                conn,
                503,
                "Service Unavailable",
                "The server is receiving as many uploads as it can. Try again in a moment.",
            )
        slow = [conn for conn in self._sending if conn.is_reading_too_slowly(now)]
        for conn in [*slow, *(conn for conn in self._closing if now > conn.deadline)]:
            self._drop(conn)

    def _cap_keepalive(self, deadline: float) -> None:
        """The process is asked to leave: what was begun may still be sent, within some seconds."""
        for conn in [*self._waiting, *self._sending]:
            conn.deadline = min(conn.deadline, deadline if conn.is_idle else time.monotonic() + _STOP_SECONDS)

    def _keepalive_after(self, conn: ClientConnection, keepalive: Any) -> bool:
        """Whether the connection can be reused: not where some of the body has not come."""
        if not keepalive:
            return False
        conn.inflow.stop()
        is_read: bool = conn.parser.finish_body(max_bytes=_UNREAD_BYTES_MAX)
        return is_read and not conn.inflow.missed_some

    def _wait(self, conn: ClientConnection) -> None:
        """Wait for the rest of the next request."""
        self._waiting[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_readable, conn))
        self._look_at(conn)

    def _on_readable(self, conn: ClientConnection, sock: socket.socket) -> None:
        # Another event of the same round may have ended it.
        data = _read(sock) if conn in self._waiting else None
        if data:
            conn.feed(data)
            self._look_at(conn)
        elif data is not None:
            self._drop(conn)

    def _look_at(self, conn: ClientConnection) -> None:
        """Hand the request to a thread if it is ready."""
        if conn.arrival.is_too_large:
            self._answer(conn, 431, "Request Header Fields Too Large", "The head of the request is too large.")
        elif conn.arrival.is_ready:
            self._forget(conn)
            self._hand_over(conn)
        elif conn.arrival.expects_continue:
            conn.arrival.expects_continue = False
            _say(conn.sock, b"HTTP/1.1 100 Continue\r\n\r\n")

    def _hand_over(self, conn: ClientConnection) -> None:
        if conn.arrival.is_whole:
            self.enqueue_req(conn)
            return
        conn.deadline = time.monotonic() + self.client_limits.body_seconds
        self._queued[conn] = None
        self._let_large_ones_in()

    def _let_large_ones_in(self) -> None:
        while self._queued and self._large_in_threads < self.large_at_once:
            conn = next(iter(self._queued))
            self._forget(conn)
            conn.counts_as_large = True
            self._large_in_threads += 1
            self.enqueue_req(conn)

    def _give_up(self, conn: ClientConnection) -> None:
        if conn.is_idle:
            self._drop(conn)
        else:
            self._answer(conn, 408, "Request Timeout", "The request did not come in time.")

    def _answer(self, conn: ClientConnection, status: int, reason: str, sentence: str) -> None:
        _say(conn.sock, _plain(status, reason, sentence))
        self._forget(conn)
        self._linger(conn)

    def _linger(self, conn: ClientConnection) -> None:
        """Close after the client has, or soon; at once could cut off an answer that it is still reading."""
        try:
            conn.sock.setblocking(False)
            conn.sock.shutdown(socket.SHUT_WR)
        except OSError:
            self._drop(conn)
            return
        conn.deadline = time.monotonic() + self.client_limits.close_seconds
        self._closing[conn] = None
        self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_leaving, conn))

    def _on_leaving(self, conn: ClientConnection, sock: socket.socket) -> None:
        data = _read(sock) if conn in self._closing else None
        if data is None:
            return
        conn.drained_bytes += len(data)
        if not data or conn.drained_bytes > _DRAIN_BYTES_MAX:
            self._drop(conn)

    def _is_one_too_many(self, address: str | None) -> bool:
        """Whether an address has its maximum of connections, and none could be dropped."""
        if not self.connections_per_address or address is None:
            return False
        if self._by_address[address] < self.connections_per_address:
            return False
        same = [conn for conn in [*self._closing, *self._sending, *self._waiting] if conn.address == address]
        # First those that nobody misses: what waits between two requests may be closed at any time. Then the oldest.
        missed = {conn for conn in [*self._sending, *self._waiting] if not conn.is_between_requests}
        return not self._drop_one(sorted(same, key=missed.__contains__))

    def _drop_one(self, conns: list[ClientConnection]) -> bool:
        if not conns:
            return False
        self._drop(conns[0])
        return True

    def _drop(self, conn: ClientConnection) -> None:
        self._forget(conn)
        self.nr_conns -= 1
        self._by_address[conn.address or ""] -= 1
        if self._by_address[conn.address or ""] <= 0:
            del self._by_address[conn.address or ""]
        conn.close()

    def _forget(self, conn: ClientConnection) -> None:
        self._waiting.pop(conn, None)
        self._queued.pop(conn, None)
        self._sending.pop(conn, None)
        self._closing.pop(conn, None)
        with suppress(KeyError, ValueError, OSError):
            self.poller.unregister(conn.sock)


def _read(sock: socket.socket) -> bytes | None:
    """The bytes that came; empty where the client has closed, None where there is nothing to read."""
    try:
        return sock.recv(_READ_BYTES)
    except (BlockingIOError, InterruptedError):
        return None
    except OSError:
        return b""


def _say(sock: socket.socket, words: bytes) -> None:
    """Send a short answer; a socket that does not take it at once is given up."""
    with suppress(OSError):
        sock.send(words)


def _refuse(sock: socket.socket) -> None:
    """Refuse a connection cheaply, without waiting for the client to close."""
    with sock, suppress(OSError):
        sock.setblocking(False)
        sock.send(_plain(429, "Too Many Requests", "Too many connections from your address. Try again in a moment."))
        sock.shutdown(socket.SHUT_WR)
        sock.recv(_READ_BYTES)


def _plain(status: int, reason: str, sentence: str) -> bytes:
    body = f"{sentence}\n"
    head = (
        f"HTTP/1.1 {status} {reason}",
        "Content-Type: text/plain; charset=utf-8",
        f"Content-Length: {len(body)}",
        "Retry-After: 5",
        "ClientConnection: close",
    )
    return "\r\n".join([*head, "", body]).encode()
