"""The lane of light jobs: short ones whose handlers keep no rows, claimed and completed by the hundred.

A light handler returns when its work is done, and leaves it to the lane to say so: completions are
gathered while the ones before them are being committed. A job counts as done once that commit is
in; until then its lease is held, and after a crash it runs again, as any job does.
"""

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from uuid import UUID

from webapp.clock import monotonic
from webapp.database_errors import DATABASE_ERRORS
from webapp.jobs.queue import Lease
from webapp.worker.attempt import Attempts
from webapp.worker.backoff import Backoff
from webapp.worker.heartbeat import Heartbeat
from webapp.worker.threads import AppContext, Guarded

_log = logging.getLogger(__name__)

# So much work is fetched ahead; jobs that take long are therefore not fetched ahead at all.
AHEAD_SECONDS = 0.05
CLAIM_MAX = 1_000
# Jobs this short are bound by the interpreter, and one thread does as many as four.
_QUICK_SECONDS = 0.001
# A thread that has done light jobs for so long looks whether there are others.
_TURN_SECONDS = 0.05
_STUCK_SECONDS = 0.01
# A job that was fetched ahead and still waits goes back: somebody else may have time for it.
LATE_SECONDS = 5.0


class LightLane:
    """Light jobs of one process: those that wait, and those that are done but not yet committed."""

    def __init__(
        self,
        worker: str,
        attempts: Attempts,
        heartbeat: Heartbeat,
        app_context: AppContext,
        threads: int,
        on_broken: Callable[[str], None],
    ) -> None:
        self._worker = worker
        self._attempts = attempts
        self._heartbeat = heartbeat
        self._app_context = app_context
        self._threads = threads
        self._waiting: deque[Lease] = deque()
        self._done: deque[Lease] = deque()
        self._lock = threading.Lock()
        self._runners = 0
        self._size = threads
        self._seconds_each = _QUICK_SECONDS
        self._claimed_at = 0.0
        self._is_low = threading.Event()
        self._has_done = threading.Event()
        self._ending = threading.Event()
        self._stopping = threading.Event()
        self._completer = Guarded("completer", self._complete_on, on_broken)

    def start(self) -> None:
        """Begin to complete."""
        if self._attempts.light:
            self._completer.start()

    def fetch(self) -> bool:
        """Claim what there is room for, and say whether anything came."""
        wanted = self._size - len(self._waiting)
        if wanted <= 0 or not self._attempts.light:
            return False
        self._is_low.clear()
        leases = self._attempts.claim_light(self._worker, wanted)
        if not leases:
            return False
        self._heartbeat.hold_many(leases, self._stopping)
        self._claimed_at = monotonic()
        self._waiting.extend(leases)
        if len(leases) == wanted:
            self._size = min(CLAIM_MAX, self._size * 2, max(self._threads, int(AHEAD_SECONDS / self._seconds_each)))
        return True

    def enter(self) -> bool:
        """Whether this thread should do light jobs now; it then has to `run`."""
        with self._lock:
            enough = 1 if self._seconds_each < _QUICK_SECONDS else self._threads
            if not self._waiting or (self._runners >= enough and not self._is_stuck()):
                return False
            self._runners += 1
            return True

    def run(self) -> None:
        """Do light jobs until none waits, or others should be looked for."""
        try:
            with self._app_context():
                self._run()
        finally:
            with self._lock:
                self._runners -= 1
            self._is_low.set()

    @property
    def runners(self) -> int:
        """How many threads do light jobs."""
        return self._runners

    @property
    def is_at_work(self) -> bool:
        """Whether somebody does what waits here."""
        return self._runners > 0 and bool(self._waiting)

    def wait_until_low(self) -> bool:
        """While others work, wait until more should be fetched; False when they seem to be stuck."""
        return self._is_low.wait(_STUCK_SECONDS)

    def hand_back_late(self) -> None:
        """Let others have what has waited here for too long."""
        if self._waiting and monotonic() - self._claimed_at > LATE_SECONDS:
            self._hand_back()

    def drain(self, seconds: float) -> None:
        """Hand back what was not begun, and commit what was done."""
        self._stopping.set()
        self._hand_back()
        self._ending.set()
        self._has_done.set()
        if self._completer.is_alive():
            self._completer.join(max(0.0, seconds))

    def _run(self) -> None:
        attempts, waiting, done, low = self._attempts, self._waiting, self._done, self._size // 2
        began_at, number = monotonic(), 0
        while not self._stopping.is_set():
            try:
                lease = waiting.popleft()
            except IndexError:
                break
            number += 1
            if attempts.run_light(lease):
                done.append(lease)
                if not self._has_done.is_set():
                    self._has_done.set()
            else:
                self._heartbeat.let_go_many([lease.job_id])
            if len(waiting) <= low and not self._is_low.is_set():
                self._is_low.set()
            if monotonic() - began_at > _TURN_SECONDS:
                break
        self._note_speed(number, monotonic() - began_at)

    def _note_speed(self, number: int, seconds: float) -> None:
        if number:
            self._seconds_each = max(1e-6, (self._seconds_each + seconds / number) / 2)
            self._size = max(self._threads, min(self._size, int(AHEAD_SECONDS / self._seconds_each)))

    def _is_stuck(self) -> bool:
        return not self._is_low.is_set() and monotonic() - self._claimed_at > _STUCK_SECONDS

    def _hand_back(self) -> None:
        leases = _all_of(self._waiting, len(self._waiting))
        if not leases:
            return
        try:
            with self._app_context():
                self._attempts.services.queue.release(leases)
        except DATABASE_ERRORS as error:
            # They are strays now, or a dead worker's, and go back that way.
            _log.warning("%d jobs could not be handed back: %s", len(leases), type(error).__name__)
        self._heartbeat.let_go_many([lease.job_id for lease in leases])

    def _complete_on(self) -> None:
        backoff = Backoff()
        while True:
            self._has_done.wait()
            self._has_done.clear()
            while batch := _all_of(self._done, CLAIM_MAX):
                while not self._complete(batch):
                    if self._ending.is_set():
                        return
                    backoff.pause(self._ending)
                backoff.reset()
            if self._ending.is_set() and not self._runners:
                return

    def _complete(self, batch: Sequence[Lease]) -> bool:
        """Whether these are committed, or lost. A commit whose answer was lost is found by the second try."""
        try:
            with self._app_context():
                ended = self._attempts.services.queue.complete_many(batch)
        except DATABASE_ERRORS as error:
            _log.warning("%d completions wait for the database: %s", len(batch), type(error).__name__)
            return False
        self._heartbeat.let_go_many([lease.job_id for lease in batch])
        if len(ended) < len(batch):
            self._note_lost(batch, ended)
        _log.debug("%d light jobs completed", len(ended))
        return True

    def _note_lost(self, batch: Sequence[Lease], ended: set[UUID]) -> None:
        for lease in batch:
            if lease.job_id not in ended:
                _log.info("light job %s was no longer ours when it was done", lease.job_id)


def _all_of(leases: deque[Lease], most: int) -> list[Lease]:
    """Up to so many, taken out; others may take from it at the same time."""
    taken: list[Lease] = []
    try:
        while len(taken) < most:
            taken.append(leases.popleft())
    except IndexError:
        pass
    return taken
