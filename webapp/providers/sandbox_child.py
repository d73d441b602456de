"""The life of one parser child: lock itself in, read the request, work, answer, exit."""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn

from webapp.providers.errors import BadInput
from webapp.providers.sandbox_locks import die_with_parent, forbid_files

# Reserved address space (thread stacks, allocator pools) is not memory in use.
RESERVED_BYTES = 3 << 29
REQUEST_BYTES_MAX = 1 << 16
OPEN_FILES_MAX = 128


@dataclass(frozen=True, slots=True)
class Cage:
    """What the nursery was told to allow its children."""

    modules: tuple[str, ...]
    memory_bytes: int
    file_bytes: int
    nursery_pid: int


class Report:
    """Sends progress to the caller; a job gets it as its second argument."""

    def __init__(self, line: socket.socket) -> None:
        self._line = line

    def progress(self, fraction: float) -> None:
        """Tell how far the job is, from 0 to 1."""
        self.send({"progress": fraction})

    def send(self, message: dict[str, object]) -> None:
        """Send one message as a line of JSON."""
        self._line.sendall(json.dumps(message).encode() + b"\n")


def live(number: int, cage: Cage) -> NoReturn:
    """Be the child, from the fork to the exit."""
    try:
        line = _settle(number, cage)
        report = Report(line)
        report.send(_work(line, report, cage))
    except BaseException:  # noqa: BLE001 - nothing may return into the nursery's loop
        os._exit(70)
    os._exit(0)


def _settle(number: int, cage: Cage) -> socket.socket:
    os.setsid()
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    # So that the signal names the limit, where Python would turn it into an error.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    die_with_parent(cage.nursery_pid)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES_MAX)
    _limit(resource.RLIMIT_FSIZE, cage.file_bytes)
    _limit(resource.RLIMIT_DATA, cage.memory_bytes)
    _limit(resource.RLIMIT_AS, cage.memory_bytes + RESERVED_BYTES)
    return socket.socket(fileno=number)


def _limit(kind: int, value: int, spare: int = 0) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = value + spare if hard == resource.RLIM_INFINITY else min(value + spare, hard)
    resource.setrlimit(kind, (min(value, ceiling), ceiling))


def _work(line: socket.socket, report: Report, cage: Cage) -> dict[str, object]:
    try:
        request = json.loads(_request_line(line))
        # Spare seconds: at the soft limit comes SIGXCPU, which says more than SIGKILL.
        _limit(resource.RLIMIT_CPU, request["cpu_seconds"], spare=2)
        function = _allowed(request["function"], cage)
        forbid_files(request["readable"], request["writable"])
        return {"answer": function(request["arguments"], report)}
    except BadInput as error:
        return {"failure": "bad_input", "code": error.code, "message": error.message}
    except MemoryError:
        return {"failure": "memory"}
    except BaseException as error:  # noqa: BLE001 - panics of Rust libraries are BaseExceptions
        return {"failure": "crash", "message": f"{type(error).__name__}: {error}"[:500]}


def _request_line(line: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        data = line.recv(1 << 16)
        if not data or len(received) > REQUEST_BYTES_MAX:
            raise EOFError("no request came")
        received += data
    return bytes(received)


def _allowed(name: str, cage: Cage) -> Callable[[dict[str, object], Report], object]:
    module, _, function = name.partition(":")
    if module not in cage.modules or function.startswith("_"):
        raise PermissionError(f"{name} is not on the list")
    found = getattr(sys.modules[module], function)
    if getattr(found, "__module__", None) != module or not callable(found):
        raise PermissionError(f"{name} is not a function of that module")
    # The type is ours to promise: job functions take arguments and a report.
    job: Callable[[dict[str, object], Report], object] = found
    return job
