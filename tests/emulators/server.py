"""What all emulators share: a real HTTP server that counts, keeps a ledger, and misbehaves when it is told to.

Tests use it in their own process; by `python -m tests.emulators.…` it runs by itself, and the
same is reached under /control: GET ledger, POST reset, POST misbehave.
"""

import json
import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

CONTROL = "/control/"
HANG_SECONDS = 30.0
KEY = "key-of-the-emulator"


@dataclass
class Fault:
    """How the next requests of a kind (`on`) go wrong.

    status: answer `code` · hang: no answer for `seconds` · lost: the work is done, and no answer
    comes · cut: half the answer · malformed: no JSON · late: the answer after `seconds`. An
    emulator knows more kinds of its own.
    """

    kind: str
    on: str
    times: int = 1
    code: int = 500
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = HANG_SECONDS


@dataclass(frozen=True)
class Paid:
    """One line of the bill: what was asked for (`key`), and how much of it."""

    operation: str
    key: str
    units: int


@dataclass(frozen=True)
class Request:
    """A request that was read to its end."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Reply:
    """An answer; `body` is sent as JSON."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)


class Emulator:
    """A server on loopback. Subclasses say what a request is (`kind_of`) and what it gets (`answer`)."""

    def __init__(self, port: int = 0, key: str = KEY) -> None:
        self.key = key
        self.lock = threading.RLock()
        self._released = threading.Event()
        self.reset()
        emulator = self

        class Handler(_Handler):
            def serve(self) -> None:
                emulator.serve(self)

        self._server = _Server(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)

    @property
    def url(self) -> str:
        """The address under which it is reached."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def start(self) -> None:
        """Serve from a thread of its own."""
        self._thread.start()

    def stop(self) -> None:
        """End, and release the clients that are kept waiting."""
        self._released.set()
        self._server.shutdown()
        self._server.server_close()

    def serve_forever(self) -> None:
        """Serve until the process is interrupted."""
        self._server.serve_forever()

    def reset(self) -> None:
        """Forget everything, and behave."""
        self._released.set()
        with self.lock:
            self._released = threading.Event()
            self.calls: Counter[str] = Counter()
            self.ledger: list[Paid] = []
            self.asked_languages: list[str] = []
            self.faults: list[Fault] = []
            self.in_flight: Counter[str] = Counter()
            self.most_in_flight: Counter[str] = Counter()

    def misbehave(self, kind: str, on: str, **how: Any) -> None:
        """Let the next requests of a kind go wrong."""
        with self.lock:
            self.faults.append(Fault(kind, on, **how))

    def pay(self, operation: str, key: str, units: int) -> None:
        """Put something on the bill."""
        with self.lock:
            self.ledger.append(Paid(operation, key, units))

    def paid_twice(self) -> dict[str, int]:
        """What was asked for more than once, and how often."""
        counts = Counter(paid.key for paid in self.ledger)
        return {key: count for key, count in counts.items() if count > 1}

    def units(self) -> int:
        """All that was paid for."""
        return sum(paid.units for paid in self.ledger)

    def kind_of(self, request: Request) -> str:
        """A name for what is asked for: what faults are meant for, and calls are counted by."""
        raise NotImplementedError

    def answer(self, kind: str, request: Request) -> Reply:
        """The answer of a service that does well."""
        raise NotImplementedError

    def is_known(self, request: Request) -> bool:
        """Whether the request carries the key."""
        raise NotImplementedError

    def error(self, status: int, request: Request) -> Any:
        """The body of an answer that refuses."""
        raise NotImplementedError

    def special(self, fault: Fault, reply: Reply) -> Reply:
        """How a fault of the emulator's own kind changes a good answer."""
        raise ValueError(f"{fault.kind} is no way to misbehave that is known here ({reply.status})")

    def serve(self, handler: "_Handler") -> None:
        """One request, from its first byte to its last."""
        request = handler.read()
        if request.path.startswith(CONTROL):
            handler.send(self._control(request))
            return
        kind = self.kind_of(request)
        with self.lock:
            released = self._released
            self.calls[kind] += 1
            self.in_flight[kind] += 1
            self.most_in_flight[kind] = max(self.most_in_flight[kind], self.in_flight[kind])
            fault = self._next_fault(kind)
        try:
            self._serve(handler, kind, request, fault, released)
        finally:
            with self.lock:
                self.in_flight[kind] -= 1

    def _serve(
        self, handler: "_Handler", kind: str, request: Request, fault: Fault | None, released: threading.Event
    ) -> None:
        if fault and fault.kind == "status":
            handler.send(Reply(fault.code, self.error(fault.code, request), fault.headers))
        elif not self.is_known(request):
            handler.send(Reply(401, self.error(401, request)))
        elif fault and fault.kind == "hang":
            released.wait(fault.seconds)
            handler.close_connection = True
        else:
            self._answer(handler, kind, request, fault, released)

    def _answer(
        self, handler: "_Handler", kind: str, request: Request, fault: Fault | None, released: threading.Event
    ) -> None:
        reply = self.answer(kind, request)
        match fault.kind if fault else None:
            case None:
                handler.send(reply)
            case "late":
                released.wait(fault.seconds if fault else 0)
                handler.send(reply)
            case "lost":
                handler.close_connection = True
            case "cut":
                handler.send(reply, share=0.5)
            case "malformed":
                handler.send_bytes(reply.status, b'{"this is": not JSON', reply.headers)
            case _:
                assert fault is not None
                handler.send(self.special(fault, reply))

    def _next_fault(self, kind: str) -> Fault | None:
        for fault in self.faults:
            if fault.on == kind:
                fault.times -= 1
                if not fault.times:
                    self.faults.remove(fault)
                return fault
        return None

    def _control(self, request: Request) -> Reply:
        match request.method, request.path.removeprefix(CONTROL):
            case "GET", "ledger":
                with self.lock:
                    lines = [asdict(paid) for paid in self.ledger]
                    most = dict(self.most_in_flight)
                return Reply(200, {"calls": dict(self.calls), "ledger": lines, "most_in_flight": most})
            case "POST", "reset":
                self.reset()
                return Reply(204)
            case "POST", "misbehave":
                self.misbehave(**json.loads(request.body))
                return Reply(204)
            case _:
                return Reply(404, {"error": "no such control"})


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news: tests end theirs at any moment."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # A connection that nobody uses ends some day.
    timeout = 60
    # Small writes are not worth waiting for more.
    disable_nagle_algorithm = True

    def serve(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:
        self.serve()

    def do_POST(self) -> None:
        self.serve()

    def do_DELETE(self) -> None:
        self.serve()

    def log_message(self, *_: object) -> None:
        """Nothing is written: headers hold keys."""

    def read(self) -> Request:
        parts = urlsplit(self.path)
        query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self._chunks() if "chunked" in headers.get("transfer-encoding", "") else self._body(headers)
        return Request(self.command, parts.path, query, headers, body)

    def send(self, reply: Reply, share: float = 1.0) -> None:
        data = (
            reply.body
            if isinstance(reply.body, bytes)
            else b""
            if reply.body is None
            else json.dumps(reply.body).encode()
        )
        self.send_bytes(reply.status, data, reply.headers, share)

    def send_bytes(self, status: int, data: bytes, headers: Mapping[str, str], share: float = 1.0) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if data and "Content-Type" not in headers:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data[: int(len(data) * share)])
        if share < 1:
            self.close_connection = True

    def _body(self, headers: Mapping[str, str]) -> bytes:
        return self.rfile.read(int(headers.get("content-length", 0)))

    def _chunks(self) -> bytes:
        body = bytearray()
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return bytes(body)
