"""Calls to a service that may take minutes: each is paid for once, and no worker waits for it.

The life of one call:

1. Its answer is reserved under the job's lease, in a transaction of its own. Nobody else pays for it meanwhile.
2. The call is made. It brings the answer, or the id of an operation that will bring it.
3. That is stored as a blob, and one transaction turns the reservation into a line of the ledger: paid, or unknown.
4. Each attempt polls the operation once. Between two attempts the job is delayed and holds no worker.
5. The answer is stored as a blob, the line says what the call came to, and the operation's blob is removed.

The names of the blobs follow from the content and the question, so any later run finds them. After a crash the answer
is looked for first, then the operation, then the reservation: only a call that left and brought nothing is repeated.
"""

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar
from uuid import UUID

from webapp.clock import monotonic, new_id, utc_now
from webapp.jobs.interruptions import Snoozed, Waits, WaitsForOthers
from webapp.pipeline.paid_calls.kept_answers import Answer, Blob, content_key, keep, outcome_of
from webapp.pipeline.paid_calls.ledger import amend_line, record_call
from webapp.pipeline.paid_calls.reservations import Call, Wanted, end_found, reserve
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import BlobMissing, OperationLost, ProviderError, ProviderUnavailable, RateLimited
from webapp.providers.ports import BlobStore, Done, Failed, Polled, StillRunning
from webapp.runs.checkpoint import count_piece, note_pages

Result = TypeVar("Result")
Progress = Callable[[float], None]

# Where the service does not say when to poll again: soon at first, then at a tenth of the time it has taken.
POLL_AFTER_SECONDS = 1.0
POLL_AFTER_SECONDS_MIN = 0.05
POLL_AFTER_SECONDS_MAX = 10.0
POLL_AFTER_SHARE = 0.1
REST_SECONDS = 10.0
# The checkpoint's entry for how many answers are there.
ANSWERED = "answered"


@dataclass(frozen=True)
class RemotePiece(ABC, Generic[Result]):
    """One call: what it asks for, and where its answer and its operation are stored."""

    answer_path: str
    operation_path: str
    units: int
    """What the call is expected to cost, in the units of the ledger."""

    @property
    def key(self) -> str:
        """The key under which the answer is reserved."""
        return content_key(self.answer_path)

    @property
    def timeout_seconds(self) -> float | None:
        """How long the call may take, where that is not PROVIDER_TIMEOUT_SECONDS."""
        return None

    @property
    def is_of_pages(self) -> bool:
        """Whether its units are pages of one document, of which people are told how many are read."""
        return False

    @abstractmethod
    def start(self, progress: Progress) -> str | bytes:
        """Make the call; returns the id of its operation, or the answer if it comes at once."""

    @abstractmethod
    def read(self, answer: bytes) -> Result:
        """Read a stored answer; ValueError where it can't be read."""

    def poll(self, operation: str) -> Polled:
        """Ask the service how far an operation is."""
        raise ProviderUnavailable(f"there is no operation {operation}: answers come at once")

    def forget(self, operation: str) -> None:
        """Have the service remove an operation whose answer is stored; best effort."""

    def units_of(self, result: Result) -> int:
        """The units that the call really cost."""
        return self.units


@dataclass(frozen=True)
class StartedOperation:
    """An operation at the service, as its blob says."""

    id: str
    call_id: UUID | None
    """Its line of the ledger; None where an earlier version began it."""
    is_booked: bool
    """Whether there is a line: the first versions wrote that of an extraction when its answer had come."""

    @classmethod
    def from_bytes(cls, data: bytes) -> "StartedOperation":
        """Read a blob of this version or an earlier one; ValueError for anything else."""
        text = data.decode()
        if text.startswith("{"):
            return cls(str(json.loads(text).get("id")), None, is_booked=True)
        operation, _, call = text.partition("\n")
        return cls(operation, UUID(call) if call else None, is_booked=bool(call))

    def to_bytes(self) -> bytes:
        """Write it."""
        return f"{self.id}\n{self.call_id}".encode()


@dataclass
class RemoteWork(Generic[Result]):
    """The calls of one job to a service, and how far each is."""

    context: StageContext
    provider: str
    operation: str
    """Its name in the ledger: extract, transcribe, analyze."""
    pieces: Sequence[RemotePiece[Result]]
    calls_at_once: int = sys.maxsize
    poll_seconds: float | None = None
    """How long to wait between two polls, where that is a setting."""
    _stored: dict[str, datetime] = field(init=False, default_factory=dict)
    """Answers and operations that are stored, and since when."""
    _others: int = field(init=False, default=0)
    """Pieces that other jobs are paying for."""

    def start(self) -> int:
        """Make the calls that were not made yet; returns how many. Snoozed if some can't be made now."""
        self._find_stored()
        missing = [piece for piece in self.pieces if not self._is_known(piece)]
        self._snooze([wait for piece in missing if (wait := self._call(piece)) is not None])
        return len(missing)

    def finish(self) -> Iterator[Result]:
        """Make or poll each call, then read the answers; Snoozed until all of them are there."""
        self._find_stored()
        self._snooze([wait for piece in self.pieces if (wait := self._go_on(piece)) is not None])
        return (self._read(piece) for piece in self.pieces)

    def unanswered(self) -> int:
        """For how many pieces there is no answer yet."""
        return sum(piece.answer_path not in self._stored for piece in self.pieces)

    def _find_stored(self) -> None:
        folders = {piece.answer_path.rpartition("/")[0] for piece in self.pieces}
        blobs = self.context.providers.blobs
        self._stored = {info.path: info.modified_at for folder in folders for info in blobs.list(f"{folder}/")}
        # Their process may have died before it wrote the ledger lines.
        if known := [piece.key for piece in self.pieces if self._is_known(piece)]:
            end_found(self.context, known)

    def _snooze(self, waits: Sequence[float]) -> None:
        if waits and len(waits) == self._others:
            raise WaitsForOthers
        if waits:
            raise Snoozed(min(waits))

    def _is_known(self, piece: RemotePiece[Result]) -> bool:
        return piece.answer_path in self._stored or piece.operation_path in self._stored

    def _is_under_way(self, piece: RemotePiece[Result]) -> bool:
        return piece.operation_path in self._stored and piece.answer_path not in self._stored

    def _under_way(self) -> int:
        return sum(map(self._is_under_way, self.pieces))

    def _go_on(self, piece: RemotePiece[Result]) -> float | None:
        """Go on with a call; returns in how many seconds to come back, or None when the answer is there."""
        if not self._is_known(piece) and (wait := self._call(piece)) is not None:
            return wait
        return self._poll(piece) if piece.operation_path in self._stored else None

    def _call(self, piece: RemotePiece[Result]) -> float | None:
        """Make a call; returns in how many seconds to come back if it can't be made now."""
        if self._under_way() >= self.calls_at_once:
            return POLL_AFTER_SECONDS_MAX
        self.context.check()
        try:
            self._pay(piece)
        except WaitsForOthers as others:
            self._others += 1
            return others.seconds
        except (Waits, RateLimited) as error:
            # While other calls are under way the job makes progress, so waiting counts no attempt.
            if not self._under_way():
                raise
            return self._slow_down(error) if isinstance(error, RateLimited) else POLL_AFTER_SECONDS_MAX
        return None

    def _pay(self, piece: RemotePiece[Result]) -> None:
        """Reserve the answer, make the call, and keep what it brings."""
        wanted = Wanted(self.provider, self.operation, {piece.key: piece.units}, piece.timeout_seconds)
        call = reserve(self.context, wanted)
        if call is None:
            raise WaitsForOthers
        if self._came_meanwhile(piece, call):
            return
        began = monotonic()
        try:
            brought = piece.start(self._progress())
        except Exception as error:
            keep(self.context, [Answer(call.id, monotonic() - began, outcome_of(error))])
            raise
        self._keep(piece, call, brought, monotonic() - began)

    def _came_meanwhile(self, piece: RemotePiece[Result], call: Call) -> bool:
        """Look for the answer once more, now that it is reserved; if it is there, the call is not made."""
        is_known = True
        try:
            paths = (piece.answer_path, piece.operation_path)
            self._stored |= {path: utc_now() for path in paths if self.context.providers.blobs.exists(path)}
            is_known = self._is_known(piece)
        finally:
            if is_known:
                keep(self.context, [Answer(call.id, 0.0, outcome=None)])
        return is_known

    def _progress(self) -> Progress:
        known, count = sum(map(self._is_known, self.pieces)), len(self.pieces)
        return lambda fraction: self.context.progress((known + fraction) / count)

    def _keep(self, piece: RemotePiece[Result], call: Call, brought: str | bytes, seconds: float) -> None:
        if isinstance(brought, bytes):
            blob = Blob(piece.answer_path, brought)
        else:
            blob = Blob(piece.operation_path, StartedOperation(brought, call.id, is_booked=True).to_bytes())
        keep(self.context, [Answer(call.id, seconds, brought=blob)])
        self._stored[blob.path] = utc_now()

    def _poll(self, piece: RemotePiece[Result]) -> float | None:
        """Poll an operation; returns in how many seconds to come back, or None when the answer is there."""
        operation = self._operation(piece)
        if piece.answer_path in self._stored:
            # The process died after the answer was stored and before the line said what the call came to.
            self._complete(piece, operation, piece.units_of(self._read(piece)))
            return None
        try:
            found = piece.poll(operation.id)
        except RateLimited as error:
            raise Snoozed(self._slow_down(error)) from error
        match found:
            case Done(data, units):
                # Its line was written when it began: only what it brought is new.
                call_id = operation.call_id or new_id()
                keep(self.context, [Answer(call_id, 0.0, brought=Blob(piece.answer_path, data))])
                self._stored[piece.answer_path] = utc_now()
                self._complete(piece, operation, units)
                return None
            case Failed(reason):
                self._end(piece, operation, reason)
                raise reason
            case StillRunning(seconds):
                return self._poll_after(piece, seconds)

    def _operation(self, piece: RemotePiece[Result]) -> StartedOperation:
        blobs = self.context.providers.blobs
        try:
            return StartedOperation.from_bytes(blobs.read_bytes(piece.operation_path))
        except (BlobMissing, ValueError) as error:
            blobs.delete(piece.operation_path)
            raise ProviderUnavailable("what was stored as an operation cannot be read") from error

    def _slow_down(self, error: RateLimited) -> float:
        seconds = error.retry_after_seconds or REST_SECONDS
        self.context.queue.slow(self.context.lease.stage, seconds)
        return max(seconds, self.poll_seconds or 0.0)

    def _poll_after(self, piece: RemotePiece[Result], asked: float | None) -> float:
        if self.poll_seconds is not None:
            return self.poll_seconds
        age = _seconds_between(self._stored[piece.operation_path], utc_now())
        grown = min(POLL_AFTER_SECONDS_MAX, POLL_AFTER_SHARE * age)
        return max(POLL_AFTER_SECONDS_MIN, grown, POLL_AFTER_SECONDS if asked is None else asked)

    def _complete(self, piece: RemotePiece[Result], operation: StartedOperation, units: int) -> None:
        """After the answer is stored: correct the ledger line, and remove the operation."""
        with self.context.transaction():
            self._book(piece, operation, units, "ok")
            answered = len(self.pieces) - self.unanswered()
            self._note_pages()
            count_piece(self.context.checkpoint)
            self.context.remember(ANSWERED, answered, answered / len(self.pieces))
        # An operation that stays does no harm: its answer is looked for first.
        with suppress(ProviderError):
            piece.forget(operation.id)
            self._remove_operation(piece)

    def _note_pages(self) -> None:
        if all(piece.is_of_pages for piece in self.pieces):
            done = sum(piece.units for piece in self.pieces if piece.answer_path in self._stored)
            note_pages(self.context.checkpoint, done, sum(piece.units for piece in self.pieces))

    def _end(self, piece: RemotePiece[Result], operation: StartedOperation, error: ProviderError) -> None:
        """End an operation without an answer: "error", or "unknown" where the service lost it and may charge."""
        outcome = "unknown" if isinstance(error, OperationLost) else "error"
        with self.context.transaction():
            self._book(piece, operation, piece.units if outcome == "unknown" else 0, outcome)
        self._remove_operation(piece)

    def _book(self, piece: RemotePiece[Result], operation: StartedOperation, units: int, outcome: str) -> None:
        ended = self._stored.get(piece.answer_path, utc_now())
        seconds = _seconds_between(self._stored[piece.operation_path], ended)
        call = (self.context, self.provider, self.operation)
        if operation.call_id is not None:
            amend_line(operation.call_id, *call, units=units, seconds=seconds, outcome=outcome)
        elif not operation.is_booked:
            record_call(*call, units=units, seconds=seconds, outcome=outcome)

    def _remove_operation(self, piece: RemotePiece[Result]) -> None:
        self.context.providers.blobs.delete(piece.operation_path)
        self._stored.pop(piece.operation_path, None)

    def _read(self, piece: RemotePiece[Result]) -> Result:
        """Read a stored answer; one that can't be read is removed, so that the next try calls again."""
        blobs = self.context.providers.blobs
        try:
            return piece.read(blobs.read_bytes(piece.answer_path))
        except (BlobMissing, ValueError) as error:
            blobs.delete(piece.answer_path)
            raise ProviderUnavailable("a stored answer cannot be read") from error


@contextmanager
def local_file(blobs: BlobStore, path: str) -> Iterator[Callable[[], Path]]:
    """A function that returns a blob as a local file, fetched only when it is first called."""
    with ExitStack() as copies:
        yield cache(lambda: copies.enter_context(blobs.local_copy(path)))


def _seconds_between(start: datetime, end: datetime) -> float:
    return max(0.0, (end - start).total_seconds())
