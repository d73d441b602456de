"""One call into the sandbox: its two sockets, the messages on them, and its outcome."""

import json
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from selectors import EVENT_READ, DefaultSelector
from typing import Self

from webapp.provider_errors import BadInput, FailureCode, ParserCrashed, ProviderUnavailable, TimedOut

CHUNK_BYTES = 1 << 18
REQUEST_BYTES_MAX = 1 << 16
# A library that gets no memory aborts, often while it doubles something; a bad pointer is a SIGSEGV.
OUT_OF_MEMORY_SHARES = {"SIGABRT": 0.4, "SIGTRAP": 0.4, "SIGILL": 0.4}
OUT_OF_MEMORY_SHARE = 0.7
OUT_OF_MEMORY_WORDS = ("memory allocation", "out of memory", "bad_alloc", "cannot allocate memory")


Progress = Callable[[float], None]


@dataclass(frozen=True, slots=True)
class ChildLimits:
    """What one child may use; the wall clock comes with each call."""

    memory_bytes: int = 1 << 30
    file_bytes: int = 1 << 24
    answer_bytes: int = 1 << 28
    threads: int = 1
    # How often the caller may end the call, even when the parser reports no progress.
    pulse_seconds: float = 5.0
    # A spawner kills at once, or does not work any more.
    grace_seconds: float = 5.0
    # Whether files are read only where all locks work.
    requires_locks: bool = False


class SandboxCall:
    """One call: its sockets, the messages on them, and its outcome."""

    def __init__(self, limits: ChildLimits, progress: Progress | None) -> None:
        self._limits = limits
        self._progress = progress
        self._channel, self.child_end = socket.socketpair()
        self._leash, self.spawner_end = socket.socketpair()
        self._received = bytearray()
        self._scanned = 0
        self._answers: list[dict[str, object]] = []
        self._report = bytearray()
        self._total_bytes = 0
        self._fraction = 0.0
        self._told_at = time.monotonic()
        self.is_spawner_silent = False
        """Whether the spawner was told to kill the child, and has not confirmed it."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for end in (self._channel, self._leash, self.child_end, self.spawner_end):
            end.close()

    def let_go(self) -> None:
        """Close our copies of the other ends, so that we notice when those are closed."""
        self.child_end.close()
        self.spawner_end.close()

    def follow(self, request: Mapping[str, object], deadline: float) -> str:
        """Exchange messages until the child has ended, the time is up, or its answer is too large."""
        encoded = json.dumps(request).encode() + b"\n"
        if len(encoded) > REQUEST_BYTES_MAX:
            raise ValueError("arguments too large for a job: name a file instead")
        # It fits the socket's buffer, so this never waits. The leash tells of a dead child.
        with suppress(OSError):
            self._channel.sendall(encoded)
        with DefaultSelector() as selector:
            selector.register(self._channel, EVENT_READ)
            selector.register(self._leash, EVENT_READ)
            return self._listen(selector, deadline)

    def _listen(self, selector: DefaultSelector, deadline: float) -> str:
        while True:
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return self._kill("timeout")
            self._pulse()
            for key, _ in selector.select(min(remaining, self._limits.pulse_seconds)):
                end = key.fileobj
                if end is self._leash:
                    if self._read_leash():
                        continue
                    self._drain()
                    return "ended"
                if not self._read_channel():
                    selector.unregister(self._channel)
                if self._total_bytes > self._limits.answer_bytes:
                    return self._kill("too much")

    def _pulse(self) -> None:
        """Call the caller's progress function, which may end the call, even if the child is silent."""
        if self._progress is not None and time.monotonic() - self._told_at >= self._limits.pulse_seconds:
            self._tell(self._progress)

    def _tell(self, progress: Progress) -> None:
        progress(self._fraction)
        self._told_at = time.monotonic()

    def _read_leash(self) -> bool:
        data = self._leash.recv(CHUNK_BYTES)
        self._report += data
        return bool(data)

    def _read_channel(self) -> bool:
        try:
            data = self._channel.recv(CHUNK_BYTES)
        except ConnectionResetError:
            return False
        self._total_bytes += len(data)
        self._received += data
        self._read_messages()
        return bool(data)

    def _drain(self) -> None:
        """Read what the dead child had written."""
        self._channel.setblocking(False)
        with suppress(BlockingIOError):
            while self._total_bytes <= self._limits.answer_bytes and self._read_channel():
                pass

    def _kill(self, reason: str) -> str:
        """Have the spawner kill the child, and wait until it confirms that."""
        self._leash.shutdown(socket.SHUT_WR)
        self._leash.settimeout(self._limits.grace_seconds)
        try:
            while self._read_leash():
                pass
        except TimeoutError:
            self.is_spawner_silent = True
        except OSError:
            # It is gone, and its children with it.
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
                self._tell(self._progress)

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
            case "locks":
                raise ProviderUnavailable(
                    f"SANDBOX=require, and these locks are missing here: {words}", code=FailureCode.SANDBOX_INCOMPLETE
                )
            case "memory":
                raise self._memory_error("MemoryError")
            case _:
                raise ParserCrashed(words or "the parser failed without a message")

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


def _plain_object(line: bytes) -> dict[str, object]:
    try:
        message = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise ParserCrashed("the parser sent something that can't be read") from error
    if not isinstance(message, dict):
        raise ParserCrashed("the parser sent something that is not a message")
    return message


def _refuse(constant: str) -> float:
    """Refuse NaN and the infinities, which are not JSON and can't be stored."""
    raise ValueError(f"{constant} is not a number")


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
