"""Reading a file with an extractor that works elsewhere, without a worker that waits for it.

For each window of the file, in this order: the intention is committed under the lease, so that no
worker pays who has lost its job; the call is made; the operation's id is saved twice, beside the
answers (it belongs to the bytes, so that any later run can go on with it) and in the job's
checkpoint; only then it is looked after. Its answer is a blob before it is on the bill. Between
two looks the job is back in line. A crash anywhere finds out on its way back what it had paid for.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from webapp.clock import utc_now
from webapp.pipeline.ledger import record_call
from webapp.pipeline.steps import Snoozed, StageContext
from webapp.providers.errors import BlobMissing, ProviderError, ProviderUnavailable, RateLimited
from webapp.providers.ports import Answer, Ended, Extraction, SlowExtractor, Window
from webapp.providers.windows import joined

OPERATION = "extract"
# Where the service does not say when to ask again: soon at first, then at a tenth of the time it has taken.
LOOK_AFTER_SECONDS = 1.0
LOOK_AFTER_SECONDS_MAX = 10.0
LOOK_SHARE = 0.1
SNOOZE_SECONDS_MIN = 0.05
REST_SECONDS = 10.0
# The checkpoint's own entries for this step.
WINDOWS, OPERATIONS, ANSWERED = "windows", "operations", "answered"


@dataclass(frozen=True)
class SlowlyRead:
    """The parts of a file, and whether all answers were there before this job."""

    parts: tuple[Extraction, ...]
    windows: tuple[Window, ...]
    reused: bool

    def joined(self) -> Extraction:
        """All of it as one."""
        return joined(self.parts, self.windows)


@dataclass
class SlowReading:
    """One look at a file that is read elsewhere: everything that can be done now is done."""

    context: StageContext
    extractor: SlowExtractor
    content_type: str
    folder: str
    """Where the answers of these bytes to this question lie, and the ids of the operations that will bring them."""
    lend: Callable[[], Path]
    """Gives the file itself; most looks need none."""
    _there: set[str] = field(init=False, default_factory=set)

    def look(self, keep: Callable[[Extraction], Extraction]) -> SlowlyRead:
        """Go on with all windows; Snoozed until all have their answers. `keep` is handed each part as it is read."""
        windows = self._windows()
        self._there = {info.path for info in self.context.providers.blobs.list(self.folder)}
        waits = [wait for window in windows if (wait := self._go_on(window, len(windows))) is not None]
        if waits:
            raise Snoozed(max(SNOOZE_SECONDS_MIN, min(waits)))
        parts = tuple(keep(self._part(window)) for window in windows)
        return SlowlyRead(parts, windows, reused=not self.context.checkpoint.get(ANSWERED))

    def _windows(self) -> tuple[Window, ...]:
        kept = self.context.checkpoint.get(WINDOWS)
        if kept:
            return tuple(Window(*pair) for pair in kept)
        seconds = min(self.context.extract_timeout_seconds, self.context.remaining_seconds())
        windows = self.extractor.windows(self.lend(), self.content_type, timeout_seconds=seconds)
        with self.context.transaction():
            self.context.remember(WINDOWS, [[window.first, window.last] for window in windows])
        return windows

    def _go_on(self, window: Window, count: int) -> float | None:
        """Do what can be done for one window; in how many seconds to come back, or None when its answer is here."""
        mark = self._marks().get(str(window))
        if mark is not None and (known := self._known(window, mark)):
            return self._look_after(window, known, mark["since"], count)
        if self._answer_path(window) in self._there:
            return None
        if self._note_path(window) in self._there:
            # An earlier run asked, and did not live to see the answer.
            operation = self.context.providers.blobs.read_bytes(self._note_path(window)).decode()
            return self._look_after(window, operation, self._mark(window, operation), count)
        if len(self._marks()) >= self.extractor.windows_at_once:
            return LOOK_AFTER_SECONDS_MAX
        return self._start(window, count)

    def _known(self, window: Window, mark: dict[str, Any]) -> str | None:
        """The operation's id; None where the process died between the call and its answer."""
        if mark["id"]:
            return str(mark["id"])
        if self._note_path(window) in self._there:
            return self.context.providers.blobs.read_bytes(self._note_path(window)).decode()
        self._drop(window, "unknown", self._pages(window))
        return None

    def _start(self, window: Window, count: int) -> float | None:
        self.context.check()
        since = self._mark(window, None)
        try:
            operation = self.extractor.start(self.lend(), self.content_type, window)
        except ProviderError as error:
            return self._not_started(window, error)
        self.context.providers.blobs.put_bytes(self._note_path(window), operation.encode())
        self._mark(window, operation)
        return self._look_after(window, operation, since, count)

    def _not_started(self, window: Window, error: ProviderError) -> float:
        if error.is_outcome_unknown:
            self._drop(window, "unknown", self._pages(window))
        else:
            self._drop(window, None, 0)
        if not isinstance(error, RateLimited) or not self._marks():
            raise error
        # Others are on their way: this job makes progress, and needs no attempt to say so.
        rest = error.retry_after_seconds or REST_SECONDS
        self.context.queue.slow(self.context.lease.stage, rest)
        return rest

    def _look_after(self, window: Window, operation: str, since: str, count: int) -> float | None:
        if self._answer_path(window) in self._there:
            # The process died after the answer was saved and before it was on the bill.
            pages = len(self._part(window).pages)
            self._acknowledge(window, pages, since, count)
            return None
        match self.extractor.poll(operation):
            case Answer(data, pages):
                self.context.providers.blobs.put_bytes(self._answer_path(window), data)
                self._acknowledge(window, pages, since, count)
                return None
            case Ended(error):
                self._forget(window)
                self._drop(window, "error", 0)
                raise error
            case not_yet:
                asked = not_yet.retry_after_seconds
                grown = min(LOOK_AFTER_SECONDS_MAX, LOOK_SHARE * _seconds_since(since))
                return max(grown, LOOK_AFTER_SECONDS if asked is None else asked)

    def _acknowledge(self, window: Window, pages: int, since: str, count: int) -> None:
        """Put it on the bill, and take it off the list: in one transaction."""
        with self.context.transaction():
            record_call(self.context, self.extractor.name, OPERATION, units=pages, seconds=_seconds_since(since))
            answered = int(self.context.checkpoint.get(ANSWERED, 0)) + 1
            self.context.remember(ANSWERED, answered)
            self.context.remember(OPERATIONS, self._without(window), answered / count)
        # One that stays behind does no harm: the answer is looked for first.
        with suppress(ProviderError):
            self._forget(window)

    def _drop(self, window: Window, outcome: str | None, pages: int) -> None:
        """Take a window off the list that brought nothing, and say on the bill what may stand there."""
        since = self._marks()[str(window)]["since"]
        with self.context.transaction():
            if outcome is not None:
                seconds = _seconds_since(since)
                record_call(self.context, self.extractor.name, OPERATION, units=pages, seconds=seconds, outcome=outcome)
            self.context.remember(OPERATIONS, self._without(window))

    def _mark(self, window: Window, operation: str | None) -> str:
        """Commit that a window is asked for, under the lease; since when comes back."""
        since = str(self._marks().get(str(window), {}).get("since") or utc_now().isoformat())
        with self.context.transaction():
            self.context.remember(OPERATIONS, self._marks() | {str(window): {"id": operation, "since": since}})
        return since

    def _marks(self) -> dict[str, dict[str, Any]]:
        return dict(self.context.checkpoint.get(OPERATIONS, {}))

    def _without(self, window: Window) -> dict[str, dict[str, Any]]:
        return {name: mark for name, mark in self._marks().items() if name != str(window)}

    def _part(self, window: Window) -> Extraction:
        """Read an answer that was kept. One that can't be read is as good as none: it is asked for anew."""
        path = self._answer_path(window)
        try:
            return self.extractor.read(self.context.providers.blobs.read_bytes(path), window)
        except (BlobMissing, ValueError) as error:
            self.context.providers.blobs.delete(path)
            raise ProviderUnavailable(f"what was kept as the answer for {window} cannot be read") from error

    def _forget(self, window: Window) -> None:
        self.context.providers.blobs.delete(self._note_path(window))

    def _answer_path(self, window: Window) -> str:
        return f"{self.folder}{window}.answer"

    def _note_path(self, window: Window) -> str:
        return f"{self.folder}{window}.operation"

    def _pages(self, window: Window) -> int:
        return 1 if window.first is None or window.last is None else window.last - window.first + 1


def _seconds_since(since: str) -> float:
    return max(0.0, (utc_now() - datetime.fromisoformat(since)).total_seconds())
