"""Runs a parser's function on hostile input in a child process that can be killed.

The parts: this process keeps one helper process (`spawner`), started with a clean
environment and the parsers already imported. For each job the spawner forks a child; that costs
a few milliseconds and never forks *this* process, which has threads. A job has two sockets:

- the *channel*, between caller and child: the request goes out, progress and the answer come back,
  both as JSON, because unpickling what a captured child wrote would hand it this process;
- the *leash*, between caller and spawner: closing it kills the child's process group, and the
  spawner reports on it how the child ended.

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

from webapp.provider_errors import ProviderUnavailable
from webapp.sandbox.call import ChildLimits, Progress, SandboxCall

REPOSITORY = Path(__file__).resolve().parents[2]
# Found through a relative PATH it is relative, too, and the spawner starts in another folder.
PYTHON = str(Path(sys.executable).absolute())
# A spawner ends within milliseconds; only one that is still importing takes longer.
END_SECONDS = 2.0
BOOT = "import sys; sys.path[:] = {path!r}; from webapp.sandbox.spawner import main; main()"


class Sandbox:
    """Calls top-level functions of allow-listed modules in limited child processes.

    Safe to use from many threads. Nothing starts before the first call.
    """

    def __init__(self, modules: tuple[str, ...], limits: ChildLimits | None = None) -> None:
        self._modules = modules
        self._limits = limits or ChildLimits()
        self._lock = threading.Lock()
        self._spawner: _Spawner | None = None
        _living.add(self)

    def close(self) -> None:
        """End the spawner and every child; the next call starts a new one."""
        with self._lock:
            if self._spawner is not None:
                self._spawner.end()
                self._spawner = None

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
        """Call `module:function` in a child with JSON arguments; returns its JSON answer.

        The child may read the files or folders `readable`, write the existing file `writable` and, where the kernel
        supports it, access no other data.
        """
        deadline = time.monotonic() + timeout_seconds
        request = {
            "function": function,
            "arguments": dict(arguments),
            "readable": [str(path.absolute()) for path in _paths(readable)],
            "writable": None if writable is None else str(writable.absolute()),
            "cpu_seconds": _cpu_seconds(timeout_seconds, self._limits.threads),
        }
        with SandboxCall(self._limits, progress) as call:
            spawner = self._hand_over(call)
            ending = call.follow(request, deadline)
            if call.is_spawner_silent:
                self._give_up(spawner)
        return call.outcome(ending, timeout_seconds)

    def _hand_over(self, call: SandboxCall) -> "_Spawner":
        with self._lock:
            try:
                spawner = self._living_spawner()
                spawner.adopt(call)
            except OSError:
                # It died since the last job; start another one, once.
                try:
                    spawner = self._living_spawner(anew=True)
                    spawner.adopt(call)
                except OSError as error:
                    raise ProviderUnavailable("the parser process does not start") from error
        call.let_go()
        return spawner

    def _give_up(self, spawner: "_Spawner") -> None:
        """Drop a spawner that is alive but does not answer; the next call starts another one."""
        with self._lock:
            if self._spawner is spawner:
                spawner.kill()
                spawner.end()
                self._spawner = None

    def _living_spawner(self, *, anew: bool = False) -> "_Spawner":
        if self._spawner is not None and (anew or not self._spawner.is_alive()):
            self._spawner.end()
            self._spawner = None
        if self._spawner is None:
            self._spawner = _Spawner(self._modules, self._limits)
        return self._spawner

    def forget(self) -> None:
        """Drop the parent's spawner after a fork: it belongs to the parent alone."""
        self._lock = threading.Lock()
        if self._spawner is not None:
            self._spawner.leave()
            self._spawner = None


# Sandboxes that have to drop their spawners after a fork.
_living: WeakSet[Sandbox] = WeakSet()


def _forget_all() -> None:
    for sandbox in _living:
        sandbox.forget()


os.register_at_fork(after_in_child=_forget_all)


class _Spawner:
    """The handle on the helper process that forks the children."""

    def __init__(self, modules: tuple[str, ...], limits: ChildLimits) -> None:
        self.control, theirs = socket.socketpair()
        path = [str(REPOSITORY), *(entry for entry in sys.path if entry)]
        order = {
            "control": theirs.fileno(),
            "modules": modules,
            "memory_bytes": limits.memory_bytes,
            "file_bytes": limits.file_bytes,
            "requires_locks": limits.requires_locks,
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
        # Also ends it when the sandbox is garbage collected or the program ends.
        self.end = finalize(self, _end, self.control, self._process)

    def is_alive(self) -> bool:
        return self._process.poll() is None

    def adopt(self, call: SandboxCall) -> None:
        """Send the child's and the spawner's ends of a call's sockets."""
        socket.send_fds(self.control, [b"j"], [call.child_end.fileno(), call.spawner_end.fileno()])

    def kill(self) -> None:
        """Kill a spawner that no longer answers."""
        self._process.kill()

    def leave(self) -> None:
        """Forget it without ending it: it is another process's child."""
        self.end.detach()
        self.control.close()
        self._process.returncode = 0


def _end(control: socket.socket, process: "subprocess.Popen[bytes]") -> None:
    # It notices that, kills its children and all that they left behind, and exits.
    control.close()
    try:
        process.wait(END_SECONDS)
    except subprocess.TimeoutExpired:
        # Its children die with it: each has asked the kernel for that.
        process.kill()
        process.wait()


def clean_environment(threads: int) -> dict[str, str]:
    """The environment of parsers: nothing of ours, so nothing secret."""
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
    # A backup of the wall clock, in case no caller is left to watch that.
    return int(timeout_seconds * max(2, threads)) + 2
