"""The helper process that forks parser children: one thread, no secrets, no network.

Runs as its own program (see `sandbox`). It imports the parsers once, then waits: a byte with two
sockets on its control connection is a job, a closed leash is an order to kill, a closed control
connection is the end. Nothing here reads what a child wrote.
"""

import importlib
import json
import os
import select
import signal
import socket
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from webapp.sandbox.child import Cage, live
from webapp.sandbox.restrictions import CLONE_NEWUSER, adopt_strays, children, leave_network

WORDS_BYTES_MAX = 2_000
PARENT_CHECK_MS = 1_000
# A killed process dies at once, or hangs in the kernel, which can't be changed.
STRAYS_SECONDS, STRAYS_LOOK_SECONDS = 1.0, 0.001


@dataclass(slots=True)
class _Child:
    pid: int
    leash: socket.socket
    words: BinaryIO


class Spawner:
    """The loop: adopt jobs, kill on request, report endings."""

    def __init__(self, control: socket.socket, cage: Cage) -> None:
        self._control = control
        self._cage = cage
        self._children: dict[int, _Child] = {}
        self._parent = os.getppid()
        self._poll = select.poll()
        self._wakeup, wakeup_end = socket.socketpair()
        self._wakeup.setblocking(False)
        wakeup_end.setblocking(False)
        self._wakeup_end = wakeup_end
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wakeup_end.fileno(), warn_on_full_buffer=False)
        for end in (control, self._wakeup):
            self._poll.register(end, select.POLLIN)

    def serve(self) -> None:
        """Work until the parent closes the control connection or is gone."""
        while os.getppid() == self._parent:
            for number, _ in self._poll.poll(PARENT_CHECK_MS):
                if number == self._control.fileno():
                    if not self._adopt():
                        return
                elif number == self._wakeup.fileno():
                    self._empty_wakeup()
                else:
                    self._kill_on(number)
            self._reap()
            self._end_strays()

    def end(self) -> None:
        """Kill the children that are left, and what they left behind."""
        for child in self._children.values():
            _kill_group(child.pid)
        self._children.clear()
        self._end_strays()

    def _adopt(self) -> bool:
        data, numbers, _, _ = socket.recv_fds(self._control, 1, 2)
        if not data or len(numbers) != 2:
            return False
        channel, leash = (socket.socket(fileno=number) for number in numbers)
        words = _words_file()
        pid = os.fork()
        if pid == 0:
            self._become_child(channel, words)
        channel.close()
        self._children[leash.fileno()] = _Child(pid, leash, words)
        self._poll.register(leash, select.POLLIN)
        return True

    def _become_child(self, channel: socket.socket, words: BinaryIO) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(words.fileno(), 2)
        kept = channel.detach()
        os.closerange(3, kept)
        os.closerange(kept + 1, 4096)
        live(kept, self._cage)

    def _empty_wakeup(self) -> None:
        with suppress(BlockingIOError):
            while self._wakeup.recv(64):
                pass

    def _kill_on(self, number: int) -> None:
        child = self._children.get(number)
        if child is None:
            return
        # Nothing is ever sent this way, so readable means closed.
        _kill_group(child.pid)
        self._poll.unregister(child.leash)

    def _reap(self) -> None:
        for number, child in list(self._children.items()):
            # WNOWAIT keeps the number taken until the rest of the group is dead too.
            if os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                continue
            _kill_group(child.pid)
            _, status, usage = os.wait4(child.pid, 0)
            # Before the caller learns that the job is over.
            del self._children[number]
            self._end_strays()
            self._report(child, status, usage.ru_maxrss * 1024)
            with suppress(KeyError, ValueError):
                self._poll.unregister(child.leash)
            child.leash.close()
            child.words.close()

    def _end_strays(self) -> None:
        """Kill what dead children left behind, in whatever group or session: it has become ours."""
        deadline = time.monotonic() + STRAYS_SECONDS
        known = {child.pid for child in self._children.values()}
        while strays := [pid for pid in children() if pid not in known]:
            for pid in strays:
                _kill_group(pid)
            for pid in strays:
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            if time.monotonic() > deadline:
                return
            time.sleep(STRAYS_LOOK_SECONDS)

    def _report(self, child: _Child, status: int, peak_bytes: int) -> None:
        report = {
            "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
            "status": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
            "peak_bytes": peak_bytes,
            "words": _last_words(child.words),
        }
        with suppress(OSError):
            child.leash.sendall(json.dumps(report).encode())


def main() -> None:
    """Start as told by the first argument and serve until the parent is gone."""
    order = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    # Before the imports: a library's threads would prevent a user namespace.
    left = leave_network()
    is_reaper = adopt_strays()
    for module in order["modules"]:
        importlib.import_module(module)
    control = socket.socket(fileno=order["control"])
    control.set_inheritable(False)
    cage = Cage(
        tuple(order["modules"]),
        order["memory_bytes"],
        order["file_bytes"],
        os.getpid(),
        is_offline=left != 0,
        counts_alone=bool(left & CLONE_NEWUSER),
        adopts_strays=is_reaper,
        requires_locks=order["requires_locks"],
    )
    spawner = Spawner(control, cage)
    try:
        spawner.serve()
    finally:
        spawner.end()


def _words_file() -> BinaryIO:
    # What a dying library prints: kept in memory, bounded by the child's file limit.
    return os.fdopen(os.memfd_create("words"), "w+b", buffering=0)


def _last_words(words: BinaryIO) -> str:
    size = words.seek(0, os.SEEK_END)
    words.seek(max(0, size - WORDS_BYTES_MAX))
    return words.read(WORDS_BYTES_MAX).decode("utf-8", "replace")


def _kill_group(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
