"""The life of one parser child: lock itself in, read the request, work, answer, exit."""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from webapp.provider_errors import BadInput
from webapp.sandbox.restrictions import die_with_parent, forbid_files
from webapp.sandbox.system_calls import forbid_calls

# Reserved address space (thread stacks, allocator pools) is not memory in use.
RESERVED_BYTES = 3 << 29
LIMITED = (
    resource.RLIMIT_CPU, resource.RLIMIT_CORE, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_DATA,
    resource.RLIMIT_AS,
)  # fmt: skip
REQUEST_BYTES_MAX = 1 << 16
OPEN_FILES_MAX = 128
# Of all children of one spawner together, threads counted; a few threads for each of them.
PROCESSES_MAX = 512


@dataclass(frozen=True, slots=True)
class Cage:
    """What children are allowed, as the spawner was told."""

    modules: tuple[str, ...]
    memory_bytes: int
    file_bytes: int
    spawner_pid: int
    is_offline: bool = False
    """Whether the spawner has left the network."""
    counts_alone: bool = False
    """Whether the kernel counts the spawner's processes apart from others of the same user."""
    adopts_strays: bool = False
    """Whether processes that a child leaves behind become the spawner's children, to be killed."""
    requires_locks: bool = False
    """Whether no file may be read where a lock is missing."""


class LocksMissing(Exception):
    """The settings require locks that this machine does not offer; `names` are theirs."""

    def __init__(self, names: list[str]) -> None:
        super().__init__(", ".join(names))
        self.names = names


class Report:
    """Sends progress to the caller; a job gets it as its second argument."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self.locks: dict[str, bool] = {}
        """Each lock's name, and whether it works."""

    def progress(self, fraction: float) -> None:
        """Tell how far the job is, from 0 to 1."""
        self.send({"progress": fraction})

    def send(self, message: dict[str, object]) -> None:
        """Send one message as a line of JSON."""
        self._channel.sendall(json.dumps(message).encode() + b"\n")


def live(number: int, cage: Cage) -> NoReturn:
    """Run as the child, from the fork to the exit."""
    try:
        channel = _prepare(number, cage)
        report = Report(channel)
        report.send(_work(channel, report, cage))
    except BaseException:  # noqa: BLE001 - nothing may return into the spawner's loop
        os._exit(70)
    os._exit(0)


def _prepare(number: int, cage: Cage) -> socket.socket:
    os.setsid()
    for ignored in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    # So that the signal names the limit, where Python would turn it into an error.
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    die_with_parent(cage.spawner_pid)
    _limit(resource.RLIMIT_CORE, 0)
    _limit(resource.RLIMIT_NOFILE, OPEN_FILES_MAX)
    _limit(resource.RLIMIT_FSIZE, cage.file_bytes)
    _limit(resource.RLIMIT_DATA, cage.memory_bytes)
    _limit(resource.RLIMIT_AS, cage.memory_bytes + RESERVED_BYTES)
    if cage.counts_alone:
        # Elsewhere it would count all that the user runs, and refuse threads to innocent parsers.
        _limit(resource.RLIMIT_NPROC, PROCESSES_MAX)
    return socket.socket(fileno=number)


def _limit(kind: int, value: int, spare: int = 0) -> None:
    _, hard = resource.getrlimit(kind)
    ceiling = value + spare if hard == resource.RLIM_INFINITY else min(value + spare, hard)
    resource.setrlimit(kind, (min(value, ceiling), ceiling))


def _work(channel: socket.socket, report: Report, cage: Cage) -> dict[str, object]:
    try:
        request = json.loads(_request(channel))
        # Spare seconds: at the soft limit comes SIGXCPU, which says more than SIGKILL.
        _limit(resource.RLIMIT_CPU, request["cpu_seconds"], spare=2)
        function = _allowed(request["function"], cage)
        report.locks = _locked_in(request, cage)
        return {"answer": function(request["arguments"], report)}
    except LocksMissing as error:
        return {"failure": "locks", "message": str(error)}
    except BadInput as error:
        return {"failure": "bad_input", "code": error.code, "message": error.message}
    except MemoryError:
        return {"failure": "memory"}
    except BaseException as error:  # noqa: BLE001 - panics of Rust libraries are BaseExceptions
        return {"failure": "crash", "message": f"{type(error).__name__}: {error}"[:500]}


def _locked_in(request: dict[str, Any], cage: Cage) -> dict[str, bool]:
    """Restrict this process, now that it knows its files; returns each lock's name, and whether it works."""
    locks = {
        "files": forbid_files(request["readable"], request["writable"]),
        "network": cage.is_offline,
        "limits": all(resource.getrlimit(kind)[1] != resource.RLIM_INFINITY for kind in LIMITED),
        "strays": cage.adopts_strays,
        # Last: it forbids setting limits, too.
        "calls": forbid_calls(),
    }
    missing = [name for name, holds in locks.items() if not holds]
    if cage.requires_locks and missing:
        raise LocksMissing(missing)
    return locks


def _request(channel: socket.socket) -> bytes:
    received = bytearray()
    while not received.endswith(b"\n"):
        data = channel.recv(1 << 16)
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
