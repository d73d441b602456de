"""What a hostile or broken parser might do, as jobs for the sandbox's tests."""

import ctypes
import os
import resource
import signal
import socket
import sys
from pathlib import Path

from webapp.providers.errors import BadInput, FailureCode
from webapp.providers.sandbox_child import Report

Arguments = dict[str, object]
LIMITS = ("RLIMIT_CORE", "RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE")


class Panic(BaseException):
    """Like the panics of Rust libraries: not an Exception."""


def echo(arguments: Arguments, report: Report) -> object:
    report.progress(0.5)
    report.progress(1.0)
    return arguments


def count_to(arguments: Arguments, report: Report) -> object:
    steps = int(str(arguments["steps"]))
    for step in range(1, steps + 1):
        report.progress(step / steps)
    return steps


def fall_back(_: Arguments, report: Report) -> object:
    for fraction in (0.4, 0.2, 7.0, -1.0, 0.6):
        report.progress(fraction)
    return None


def crash(_: Arguments, __: Report) -> object:
    return ctypes.string_at(0)


def abort(_: Arguments, __: Report) -> object:
    os.abort()


def panic(_: Arguments, __: Report) -> object:
    raise Panic("index out of bounds")


def refuse(_: Arguments, __: Report) -> object:
    raise BadInput("asks for a password", code=FailureCode.ENCRYPTED)


def vanish(_: Arguments, __: Report) -> object:
    os._exit(3)


def grow(_: Arguments, __: Report) -> object:
    heap = []
    while True:
        heap.append(bytearray(1 << 20))


def grow_natively(_: Arguments, __: Report) -> object:
    """Fill memory outside Python, then die as C++ does when it gets no more."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    size = 1 << 20
    while place := libc.malloc(ctypes.c_size_t(size)):
        ctypes.memset(place, 1, size)
    os.abort()


def spin(_: Arguments, __: Report) -> object:
    while True:
        pass


def spin_stubbornly(_: Arguments, report: Report) -> object:
    """Ask to be ended in the polite ways, then go on for ever, with a child of its own."""
    for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.killpg(os.getpgrp(), polite)
    pid = os.fork()
    if pid == 0:
        spin({}, report)
    report.send({"progress": 0.25})
    spin({}, report)
    return None


def burn_cpu(_: Arguments, report: Report) -> object:
    resource.setrlimit(resource.RLIMIT_CPU, (1, 3))
    return spin({}, report)


def talk_too_much(_: Arguments, __: Report) -> object:
    return "x" * (1 << 22)


def talk_nonsense(_: Arguments, report: Report) -> object:
    report._line.sendall(b"\x80\x04not json\n")
    return None


def talk_deeply(_: Arguments, report: Report) -> object:
    report._line.sendall(b"[" * 100_000 + b"\n")
    return None


def environment(_: Arguments, __: Report) -> object:
    return {"environment": dict(os.environ), "arguments": sys.argv}


def identity(_: Arguments, report: Report) -> object:
    report.progress(0.1)
    limits = {name: resource.getrlimit(getattr(resource, name)) for name in LIMITS}
    return {
        "pid": os.getpid(),
        "parent": os.getppid(),
        "session": os.getsid(0),
        "limits": limits,
        "files": [number for number in range(3, 1024) if _is_open(number)],
    }


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def hold(_: Arguments, report: Report) -> object:
    """Tell the caller that it is alive, then wait for ever."""
    report.progress(0.5)
    signal.pause()
    return None


def hold_and_tell(_: Arguments, report: Report) -> object:
    """Hold, with our process number packed into the progress: the only word that gets out before the answer."""
    report.progress(os.getpid() / (1 << 32))
    signal.pause()
    return None


def read_file(arguments: Arguments, _: Report) -> object:
    try:
        return Path(str(arguments["path"])).read_text("latin-1")[:1000]
    except OSError as error:
        return f"refused: {type(error).__name__}"


def write_file(arguments: Arguments, _: Report) -> object:
    try:
        Path(str(arguments["path"])).write_bytes(b"x")
    except OSError as error:
        return f"refused: {type(error).__name__}"
    return "written"


def connect(arguments: Arguments, _: Report) -> object:
    try:
        socket.create_connection(("127.0.0.1", int(str(arguments["port"]))), timeout=2).close()
    except OSError as error:
        return f"refused: {type(error).__name__}"
    return "connected"


def _hidden(_: Arguments, __: Report) -> object:
    return "must not be reachable"
