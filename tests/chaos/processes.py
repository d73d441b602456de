"""The product's processes under chaos: started, killed, frozen, and replaced."""

import contextlib
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.emulators.wire import Wire
from tests.journeys.site import Installation
from tests.preloaded import Preloaded

WEB = ("gunicorn", "wsgi:app")
WORKER = (sys.executable, "worker.py")


@dataclass
class Managed:
    """A process, and its own way to the database where there is one."""

    command: tuple[str, ...]
    installation: Installation
    wire: Wire | None = None
    popen: "subprocess.Popen[bytes] | None" = None
    frozen: set[int] = field(default_factory=set)

    def start(self) -> None:
        self.popen = Preloaded(self.command, self.installation.environment, self.installation.log)

    @property
    def pid(self) -> int:
        assert self.popen is not None
        return self.popen.pid

    @property
    def is_alive(self) -> bool:
        return self.popen is not None and self.popen.poll() is None

    def kill(self) -> None:
        """kill -9 of the process alone: what it has started must notice by itself."""
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)
        self.reap()

    def kill_child(self) -> None:
        """kill -9 of the process that serves and works inside gunicorn."""
        for pid in children(self.pid)[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def freeze(self, *, is_on: bool) -> None:
        targets = [self.pid, *children(self.pid)] if is_on else list(self.frozen)
        for pid in targets:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGSTOP if is_on else signal.SIGCONT)
        self.frozen = set(targets) if is_on else set()

    def fill_disk(self, *, is_on: bool) -> None:
        """While it is on, no write to any file succeeds, as on a full disk; other processes are not affected."""
        for pid in [self.pid, *children(self.pid)]:
            with contextlib.suppress(ProcessLookupError):
                limit = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (0 if is_on else limit, limit))

    def leave(self, seconds: float) -> None:
        """SIGTERM, as a deploy sends it."""
        if not self.is_alive or self.popen is None:
            return
        self.popen.terminate()
        try:
            self.popen.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()

    def reap(self) -> None:
        assert self.popen is not None
        self.popen.wait(20)

    def end(self) -> None:
        """Whatever is left of it."""
        self.freeze(is_on=False)
        if self.popen is not None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.popen.pid, signal.SIGKILL)
            self.popen.wait(20)
        if self.wire is not None:
            self.wire.close()


def children(pid: int) -> list[int]:
    """The direct children of a process that run Python of ours; parsers' spawners are not among them."""
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    with contextlib.suppress(OSError):
        return [int(one) for one in listed.read_text().split() if b"webapp.sandbox" not in _command_of(int(one))]
    return []


def _command_of(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.1) -> bool:
    """Whether it came true in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(pause)
    return condition()


def merged(base: Mapping[str, str], **more: str) -> dict[str, str]:
    """Variables of one process."""
    return {**base, **more}
