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
from contextlib import suppress
from dataclasses import dataclass
from typing import BinaryIO

from webapp.providers.sandbox_child import Cage, live
from webapp.providers.sandbox_locks import leave_network

WORDS_BYTES_MAX = 2_000
PARENT_CHECK_MS = 1_000


@dataclass(slots=True)
class _Child:
    pid: int
    leash: socket.socket
    words: BinaryIO


class Nursery:
    """The loop: adopt jobs, kill on request, report endings."""

    def __init__(self, control: socket.socket, cage: Cage) -> None:
        self._control = control
        self._cage = cage
        self._children: dict[int, _Child] = {}
        self._parent = os.getppid()
        self._poll = select.poll()
        self._bell, bell_end = socket.socketpair()
        self._bell.setblocking(False)
        bell_end.setblocking(False)
        self._bell_end = bell_end
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(bell_end.fileno(), warn_on_full_buffer=False)
        for end in (control, self._bell):
            self._poll.register(end, select.POLLIN)

    def serve(self) -> None:
        """Work until the parent closes the control connection or is gone."""
        while os.getppid() == self._parent:
            for number, _ in self._poll.poll(PARENT_CHECK_MS):
                if number == self._control.fileno():
                    if not self._adopt():
                        return
                elif number == self._bell.fileno():
                    self._listen_to_bell()
                else:
                    self._kill_on(number)
            self._reap()

    def end(self) -> None:
        """Kill whoever is left."""
        for child in self._children.values():
            _kill_group(child.pid)

    def _adopt(self) -> bool:
        data, numbers, _, _ = socket.recv_fds(self._control, 1, 2)
        if not data or len(numbers) != 2:
            return False
        line, leash = (socket.socket(fileno=number) for number in numbers)
        words = _words_file()
        pid = os.fork()
        if pid == 0:
            self._become_child(line, words)
        line.close()
        self._children[leash.fileno()] = _Child(pid, leash, words)
        self._poll.register(leash, select.POLLIN)
        return True

    def _become_child(self, line: socket.socket, words: BinaryIO) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(words.fileno(), 2)
        kept = line.detach()
        os.closerange(3, kept)
        os.closerange(kept + 1, 4096)
        live(kept, self._cage)

    def _listen_to_bell(self) -> None:
        with suppress(BlockingIOError):
            while self._bell.recv(64):
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
            self._report(child, status, usage.ru_maxrss * 1024)
            with suppress(KeyError, ValueError):
                self._poll.unregister(child.leash)
            child.leash.close()
            child.words.close()
            del self._children[number]

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
    # Before the imports: a library's threads would stand in the way of a user namespace.
    leave_network()
    for module in order["modules"]:
        importlib.import_module(module)
    control = socket.socket(fileno=order["control"])
    control.set_inheritable(False)
    cage = Cage(tuple(order["modules"]), order["memory_bytes"], order["file_bytes"], os.getpid())
    nursery = Nursery(control, cage)
    try:
        nursery.serve()
    finally:
        nursery.end()


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
