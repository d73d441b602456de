"""Runs a parser's function on hostile input in a child process that can be killed.

The parts: this process keeps one helper process (`sandbox_nursery`), started with a clean
environment and the parsers already imported. For each job the nursery forks a child; that costs
a few milliseconds and never forks *this* process, which has threads. A job has two sockets:

- the *line*, between caller and child: the request goes out, progress and the answer come back,
  both as JSON, because unpickling what a captured child wrote would hand it this process;
- the *leash*, between caller and nursery: closing it kills the child's process group, and the
  nursery reports on it how the child ended.

So whatever ends the caller (a deadline, an exception, its death) ends the child too.
"""

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from weakref import WeakSet, finalize

from webapp.providers.errors import ProviderUnavailable
from webapp.providers.sandbox_call import Call, Limits, Progress

REPOSITORY = Path(__file__).resolve().parents[2]
# Found through a relative PATH it is relative, too, and the nursery starts in another folder.
PYTHON = str(Path(sys.executable).absolute())
BOOT = "import sys; sys.path[:] = {path!r}; from webapp.providers.sandbox_nursery import main; main()"


class Sandbox:
    """Calls top-level functions of allow-listed modules in limited child processes.

    Safe to use from many threads. Nothing starts before the first call or `warm()`.
    """

    def __init__(self, modules: tuple[str, ...], limits: Limits | None = None) -> None:
        self._modules = modules
        self._limits = limits or Limits()
        self._lock = threading.Lock()
        self._nursery: _Nursery | None = None
        _living.add(self)

    def warm(self) -> None:
        """Start the nursery without waiting for it: the imports run while we go on."""
        with self._lock:
            self._living_nursery()

    def close(self) -> None:
        """End the nursery and every child; the next call starts a new one."""
        with self._lock:
            if self._nursery is not None:
                self._nursery.end()
                self._nursery = None

    def run(
        self,
        function: str,
        arguments: Mapping[str, object],
        *,
        timeout_seconds: float,
        readable: Path | Sequence[Path] | None = None,
        writable: Path | None = None,
        progress: Progress | None = None,
    ) -> object:
        """Call `module:function` with JSON arguments and give its JSON answer.

        The child may read the files or folders `readable`, write the file `writable` (which must be
        there already) and, where the kernel can say so, touch no other data.
        """
        deadline = time.monotonic() + timeout_seconds
        request = {
            "function": function,
            "arguments": dict(arguments),
            "readable": [str(path.absolute()) for path in _paths(readable)],
            "writable": None if writable is None else str(writable.absolute()),
            "cpu_seconds": _cpu_seconds(timeout_seconds, self._limits.threads),
        }
        with Call(self._limits, progress) as call:
            nursery = self._hand_over(call)
            ending = call.follow(request, deadline)
            if call.is_unheard:
                self._give_up(nursery)
        return call.outcome(ending, timeout_seconds)

    def _hand_over(self, call: Call) -> "_Nursery":
        with self._lock:
            try:
                nursery = self._living_nursery()
                nursery.adopt(call)
            except OSError:
                # It died since the last job. A second death in a row is for the caller to hear.
                try:
                    nursery = self._living_nursery(anew=True)
                    nursery.adopt(call)
                except OSError as error:
                    raise ProviderUnavailable("the parser process does not start") from error
        call.let_go()
        return nursery

    def _give_up(self, nursery: "_Nursery") -> None:
        """It lives and does not answer: the next call gets another."""
        with self._lock:
            if self._nursery is nursery:
                nursery.end()
                self._nursery = None

    def _living_nursery(self, *, anew: bool = False) -> "_Nursery":
        if self._nursery is not None and (anew or not self._nursery.is_alive()):
            self._nursery.end()
            self._nursery = None
        if self._nursery is None:
            self._nursery = _Nursery(self._modules, self._limits)
        return self._nursery

    def forget(self) -> None:
        """Drop the parent's nursery after a fork: it answers to the parent alone."""
        self._lock = threading.Lock()
        if self._nursery is not None:
            self._nursery.leave()
            self._nursery = None


# Sandboxes that a fork has to part from their nurseries.
_living: WeakSet[Sandbox] = WeakSet()


def _forget_all() -> None:
    for sandbox in _living:
        sandbox.forget()


os.register_at_fork(after_in_child=_forget_all)


class _Nursery:
    """The handle on the helper process that forks the children."""

    def __init__(self, modules: tuple[str, ...], limits: Limits) -> None:
        self.control, theirs = socket.socketpair()
        path = [str(REPOSITORY), *(entry for entry in sys.path if entry)]
        order = {
            "control": theirs.fileno(),
            "modules": modules,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
        }
        with theirs:
            # A new session: Ctrl-C and a platform's SIGTERM to the group are not for parsers.
            self._process = subprocess.Popen(
                [PYTHON, "-I", "-c", BOOT.format(path=path), json.dumps(order)],
                env=clean_environment(limits.threads),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                cwd="/",
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        # So that a sandbox that is merely dropped, or the end of the program, ends it too.
        self.end = finalize(self, _end, self.control, self._process)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def adopt(self, call: Call) -> None:
        """Send the child's and the nursery's ends of a call's sockets."""
        socket.send_fds(self.control, [b"j"], [call.child_end.fileno(), call.nursery_end.fileno()])

    def leave(self) -> None:
        """Let go without ending it: it is another process's child."""
        self.end.detach()
        self.control.close()
        self._process.returncode = 0


def _end(control: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    # The children die with it: each has asked the kernel for that.
    control.close()
    process.kill()
    process.wait()


def clean_environment(threads: int) -> dict[str, str]:
    """Give the whole environment of parsers: nothing of ours, so nothing secret."""
    return {
        "LANG": "C.UTF-8",
        "PATH": "/usr/bin:/bin",
        "HOME": "/nonexistent",
        # Small arenas, so that the address space says something about the memory in use.
        "MALLOC_ARENA_MAX": "1",
        "MIMALLOC_ARENA_RESERVE": "64MiB",
        "OMP_NUM_THREADS": str(threads),
        "RAYON_NUM_THREADS": str(threads),
        "TOKIO_WORKER_THREADS": str(threads),
    }


def _paths(readable: Path | Sequence[Path] | None) -> Sequence[Path]:
    if readable is None:
        return ()
    return (readable,) if isinstance(readable, Path) else readable


def _cpu_seconds(timeout_seconds: float, threads: int) -> int:
    # Only a net below the wall clock, for the case that nobody is left to watch that.
    return int(timeout_seconds * max(2, threads)) + 2
