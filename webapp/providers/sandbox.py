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
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from typing import Self
from weakref import WeakSet, finalize

from webapp.providers.errors import (
    BadInput,
    FailureCode,
    ParserCrashed,
    ProviderUnavailable,
    TimedOut,
)

REPOSITORY = Path(__file__).resolve().parents[2]
BOOT = "import sys; sys.path[:] = {path!r}; from webapp.providers.sandbox_nursery import main; main()"
GRACE_SECONDS = 5.0
CHUNK_BYTES = 1 << 18
REQUEST_BYTES_MAX = 1 << 16
# A library that gets no memory aborts, often while it doubles something; a bad pointer is a SIGSEGV.
OUT_OF_MEMORY_SHARES = {"SIGABRT": 0.4, "SIGTRAP": 0.4, "SIGILL": 0.4}
OUT_OF_MEMORY_SHARE = 0.7
OUT_OF_MEMORY_WORDS = ("memory allocation", "out of memory", "bad_alloc", "cannot allocate memory")

Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class Limits:
    """What one child may use; the wall clock comes with each call."""

    memory_bytes: int = 1 << 30
    file_bytes: int = 1 << 24
    answer_bytes: int = 1 << 28
    threads: int = 1


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
        readable: Path | None = None,
        progress: Progress | None = None,
    ) -> object:
        """Call `module:function` with JSON arguments and give its JSON answer.

        The child may read the file `readable` and, where the kernel can say so, no other data.
        """
        deadline = time.monotonic() + timeout_seconds
        request = {
            "function": function,
            "arguments": dict(arguments),
            "readable": None if readable is None else str(readable.absolute()),
            "cpu_seconds": _cpu_seconds(timeout_seconds, self._limits.threads),
        }
        with _Job(self._limits, progress) as job:
            self._hand_over(job)
            ending = job.follow(request, deadline)
        return job.outcome(ending, timeout_seconds)

    def _hand_over(self, job: "_Job") -> None:
        with self._lock:
            try:
                self._living_nursery().adopt(job)
            except OSError:
                # It died since the last job. A second death in a row is for the caller to hear.
                try:
                    self._living_nursery(anew=True).adopt(job)
                except OSError as error:
                    raise ProviderUnavailable("the parser process does not start") from error
        job.let_go()

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
                [sys.executable, "-I", "-c", BOOT.format(path=path), json.dumps(order)],
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

    def adopt(self, job: "_Job") -> None:
        """Send the child's and the nursery's ends of a job's sockets."""
        socket.send_fds(self.control, [b"j"], [job.child_end.fileno(), job.nursery_end.fileno()])

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


class _Job:
    """One call: its sockets, what came over them, and what that means."""

    def __init__(self, limits: Limits, progress: Progress | None) -> None:
        self._limits = limits
        self._progress = progress
        self._line, self.child_end = socket.socketpair()
        self._leash, self.nursery_end = socket.socketpair()
        self._received = bytearray()
        self._scanned = 0
        self._answers: list[dict[str, object]] = []
        self._report = bytearray()
        self._total_bytes = 0
        self._fraction = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._line, self._leash, self.child_end, self.nursery_end):
            end.close()

    def let_go(self) -> None:
        """Close our copies of the other ends, so that their closing is heard."""
        self.child_end.close()
        self.nursery_end.close()

    def follow(self, request: Mapping[str, object], deadline: float) -> str:
        """Exchange messages until the child has ended, the time is up, or it talks too much."""
        encoded = json.dumps(request).encode() + b"\n"
        if len(encoded) > REQUEST_BYTES_MAX:
            raise ValueError("arguments too large for a job: name a file instead")
        # It fits the socket's buffer, so this never waits. A dead child is heard on the leash.
        with suppress(OSError):
            self._line.sendall(encoded)
        with DefaultSelector() as ears:
            ears.register(self._line, EVENT_READ)
            ears.register(self._leash, EVENT_READ)
            return self._listen(ears, deadline)

    def _listen(self, ears: DefaultSelector, deadline: float) -> str:
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return self._kill("timeout")
            for key, _ in ears.select(remaining):
                end = key.fileobj
                if end is self._leash:
                    if self._hear_leash():
                        continue
                    self._drain()
                    return "ended"
                if not self._hear_line():
                    ears.unregister(self._line)
                if self._total_bytes > self._limits.answer_bytes:
                    return self._kill("too much")

    def _hear_leash(self) -> bool:
        data = self._leash.recv(CHUNK_BYTES)
        self._report += data
        return bool(data)

    def _hear_line(self) -> bool:
        try:
            data = self._line.recv(CHUNK_BYTES)
        except ConnectionResetError:
            return False
        self._total_bytes += len(data)
        self._received += data
        self._read_messages()
        return bool(data)

    def _drain(self) -> None:
        """Take what the dead child had written; its end is closed, so this ends."""
        self._line.setblocking(False)
        with suppress(BlockingIOError):
            while self._total_bytes <= self._limits.answer_bytes and self._hear_line():
                pass

    def _kill(self, reason: str) -> str:
        """Have the nursery kill the child, and wait for its word that it is dead."""
        self._leash.shutdown(socket.SHUT_WR)
        self._leash.settimeout(GRACE_SECONDS)
        with suppress(OSError):
            while self._hear_leash():
                pass
        return reason

    def _read_messages(self) -> None:
        while (stop := self._received.find(b"\n", self._scanned)) >= 0:
            line = bytes(self._received[:stop])
            del self._received[: stop + 1]
            self._scanned = 0
            self._take(line)
        self._scanned = len(self._received)

    def _take(self, line: bytes) -> None:
        message = _plain_object(line)
        fraction = message.get("progress")
        if fraction is None:
            self._answers.append(message)
        elif isinstance(fraction, int | float) and self._fraction < fraction <= 1:
            self._fraction = float(fraction)
            if self._progress is not None:
                self._progress(self._fraction)

    def outcome(self, ending: str, timeout_seconds: float) -> object:
        """Turn what happened into the answer or one of the errors."""
        if ending == "timeout":
            raise TimedOut(f"the parser was stopped after {timeout_seconds:g} s")
        if ending == "too much":
            raise ParserCrashed(f"answer larger than {self._limits.answer_bytes} bytes")
        if not self._report:
            raise ProviderUnavailable("the parser process ended before the job did")
        report = _plain_object(bytes(self._report))
        if report.get("signal"):
            raise self._death(report)
        if not self._answers:
            raise ParserCrashed(f"the parser ended without an answer, status {report.get('status')}")
        return self._answer(self._answers[-1])

    def _answer(self, message: dict[str, object]) -> object:
        if "answer" in message:
            return message["answer"]
        words = str(message.get("message", ""))[:500]
        match message.get("failure"):
            case "bad_input":
                raise BadInput(words, code=_code(message.get("code")))
            case "memory":
                raise self._memory_error("MemoryError")
            case _:
                raise ParserCrashed(words or "the parser failed without words")

    def _death(self, report: dict[str, object]) -> ParserCrashed:
        name = _signal_name(report.get("signal"))
        peak, words = report.get("peak_bytes"), str(report.get("words", "")).lower()
        share = OUT_OF_MEMORY_SHARES.get(name, OUT_OF_MEMORY_SHARE)
        starved = isinstance(peak, int) and peak > share * self._limits.memory_bytes
        if name != "SIGXCPU" and (starved or any(w in words for w in OUT_OF_MEMORY_WORDS)):
            return self._memory_error(name)
        limit = {"SIGXCPU": " (cpu limit)", "SIGXFSZ": " (file size limit)"}.get(name, "")
        return ParserCrashed(f"the parser was ended by {name}{limit}")

    def _memory_error(self, sign: str) -> ParserCrashed:
        megabytes = self._limits.memory_bytes >> 20
        message = f"memory limit of {megabytes} MB reached ({sign})"
        return ParserCrashed(message, code=FailureCode.PARSER_MEMORY)


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


def _cpu_seconds(timeout_seconds: float, threads: int) -> int:
    # Only a net below the wall clock, for the case that nobody is left to watch that.
    return int(timeout_seconds * max(2, threads)) + 2


def _plain_object(line: bytes) -> dict[str, object]:
    try:
        message = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ParserCrashed("the parser answered something that can't be read") from error
    if not isinstance(message, dict):
        raise ParserCrashed("the parser answered something that is no message")
    return message


def _code(value: object) -> FailureCode:
    try:
        return FailureCode(str(value))
    except ValueError:
        return FailureCode.CORRUPT


def _signal_name(number: object) -> str:
    try:
        return signal.Signals(int(str(number))).name
    except ValueError:
        return f"signal {number}"
