"""Jobs for a machine whose kernel has no filter of system calls: importing this takes it away."""

import os
import resource
import signal

from webapp.sandbox import child as sandbox_child
from webapp.sandbox.child import Report

setattr(sandbox_child, "forbid_calls", lambda: False)  # noqa: B010 - a name of another module's


def burn_cpu(_: dict[str, object], __: Report) -> object:
    """Use up the processor's time, of which little is left."""
    resource.setrlimit(resource.RLIMIT_CPU, (1, 3))
    while True:
        pass


def leave_a_stray(_: dict[str, object], report: Report) -> object:
    """Leave a grandchild in a session of its own, whose parent is gone; answer its number."""
    number = _stray()
    report.progress(0.5)
    return number


def leave_a_stray_and_hold(_: dict[str, object], report: Report) -> object:
    """The same, but never answer: its number is packed into the progress."""
    report.progress(_stray() / (1 << 32))
    signal.pause()
    return None


def answer(_: dict[str, object], __: Report) -> object:
    """Answer."""
    return True


def _stray() -> int:
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.setsid()
            os.write(writing, str(os.getpid()).encode())
            signal.pause()
        os._exit(0)
    os.close(writing)
    return int(os.read(reading, 32))
