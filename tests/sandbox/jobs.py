"""What a hostile or broken parser might do, as jobs for the sandbox's tests."""

import ctypes
import errno
import os
import resource
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode
from webapp.sandbox.child import Report

Arguments = dict[str, object]
LIMITS = ("RLIMIT_CORE", "RLIMIT_DATA", "RLIMIT_AS", "RLIMIT_CPU", "RLIMIT_FSIZE")


class Panic(BaseException):
    """Like the panics of Rust libraries: not an Exception."""


def echo(arguments: Arguments, report: Report) -> object:
    report.progress(0.5)
    report.progress(1.0)
    return arguments


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
    """Ask to be ended in the polite ways, then go on for ever."""
    for polite in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        os.kill(os.getpid(), polite)
    report.send({"progress": 0.25})
    spin({}, report)
    return None


def talk_too_much(_: Arguments, __: Report) -> object:
    return "x" * (1 << 22)


def talk_nonsense(_: Arguments, report: Report) -> object:
    report._channel.sendall(b"\x80\x04not json\n")
    return None


def answer_with_no_number(_: Arguments, __: Report) -> object:
    return {"width": float("nan")}


def talk_deeply(_: Arguments, report: Report) -> object:
    report._channel.sendall(b"[" * 100_000 + b"\n")
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


def try_calls(arguments: Arguments, _: Report) -> object:
    """Try what no parser needs, and say what came of each."""
    path = str(arguments["path"])
    libc = ctypes.CDLL(None, use_errno=True)
    return {
        "a UNIX socket": _tried(lambda: socket.socket(socket.AF_UNIX)),
        "connecting what is open": _tried(lambda: _fail(libc.connect(0, b"", 0))),
        "a session": _tried(os.setsid),
        "a group": _tried(lambda: os.setpgid(0, 0)),
        "fork": _tried(_fork),
        "vfork and exec": _tried(lambda: subprocess.run(["/bin/true"], check=False)),
        "exec": _tried(lambda: os.execv("/bin/true", ["true"])),  # noqa: S606 - it must fail
        "ptrace": _tried(lambda: _fail(libc.ptrace(0, 0, 0, 0))),
        "another's signal": _tried(lambda: os.kill(os.getppid(), 0)),
        "the group's signal": _tried(lambda: os.killpg(0, 0)),
        "more memory": _tried(lambda: _fail(libc.setrlimit(resource.RLIMIT_CORE, bytes(16)))),
        "outliving the parent": _tried(lambda: _fail(libc.prctl(1, 0, 0, 0, 0))),
        "a mode": _tried(lambda: Path(path).chmod(0o777)),
        "a time": _tried(lambda: os.utime(path)),
        "an attribute": _tried(lambda: os.setxattr(path, "user.a", b"b")),
        "a namespace": _tried(lambda: _fail(libc.unshare(0x10000000))),
        "a ring": _tried(lambda: _fail(libc.syscall(425, 1, None))),
        "memory of others": _tried(lambda: _fail(libc.shmget(0, 4096, 0o1600))),
    }


def x32_call(_: Arguments, __: Report) -> object:
    """Make the getpid of another calling convention."""
    return ctypes.CDLL(None, use_errno=True).syscall(0x40000000 + 39)


def work_in_threads(_: Arguments, __: Report) -> object:
    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(lambda number: number * number, range(1_000)))


def _tried(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except OSError as error:
        return errno.errorcode[error.errno or 0]
    return "done"


def _fail(result: int) -> None:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _fork() -> None:
    if os.fork() == 0:
        os._exit(0)


def connect_to_file(arguments: Arguments, _: Report) -> object:
    try:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(str(arguments["path"]))
            line.sendall(b"hello")
    except OSError as error:
        return f"refused: {type(error).__name__}"
    return "connected"


def _hidden(_: Arguments, __: Report) -> object:
    return "must not be reachable"
