"""Makes the rounds of the relay (jobs/dispatch/bullmq/relay.py) while this process is it.

A round is made when a worker has a free seat while due jobs wait for one, when the database announces due jobs, and
once a second. In a large fleet jobs come and end all the time: there the pauses between rounds are longer, and each
round offers several jobs. A seat then waits some tenth of a second, and in a large fleet jobs take far longer than
that, or PostgreSQL would not keep up with them.
"""

import logging
import threading
from collections.abc import Callable

from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS
from webapp.jobs.dispatch.bullmq.client import RedisAway, RedisConfused
from webapp.jobs.dispatch.bullmq.queues import BullQueues
from webapp.jobs.dispatch.bullmq.relay import Relay, Round
from webapp.jobs.wakeup import Sleeper
from webapp.worker.backoff import Backoff
from webapp.worker.election import Election
from webapp.worker.threads import Guarded

_log = logging.getLogger(__name__)

# Between the beginnings of two rounds.
GAP_SECONDS_LEAST, GAP_SECONDS_MOST = 0.01, 0.25
_GAP_SECONDS_FOR_EACH_SEAT = 0.00025
TICK_SECONDS = 1.0
# Where no seat has been free for so long, new jobs need not be announced.
_FULL_SECONDS = 0.5
_LONGEST_STOP_SECONDS = 5.0


class Relaying:
    """Two threads: one makes the rounds, the other waits until workers call for one."""

    def __init__(
        self, relay: Relay, queues: BullQueues, election: Election, threads: int, on_broken: Callable[[str], None]
    ) -> None:
        self._relay = relay
        self._threads = threads
        self._queues = queues
        self._is_relay = election.is_relay
        self._sleeper = Sleeper()
        self._ending = threading.Event()
        self._backoff = Backoff()
        self._full_since: float | None = None
        # A free seat matters only while due jobs wait for one.
        self._are_all_offered = False
        self._was_called = threading.Event()
        self._rounds = Guarded("relay", self._make_rounds, on_broken)
        self._calls = Guarded("relay-calls", self._wait_for_calls, on_broken)

    def start(self) -> None:
        """Start the threads."""
        self._rounds.start()
        self._calls.start()

    def stop(self) -> None:
        """Make no more rounds."""
        self._ending.set()
        self._sleeper.wake()
        # The other thread ends by itself, within a wait for news.
        if self._rounds.is_alive():
            self._rounds.join(_LONGEST_STOP_SECONDS)
        self._sleeper.close()

    def _make_rounds(self) -> None:
        was_relay = False
        while not self._ending.is_set():
            if not self._is_relay.wait(TICK_SECONDS):
                if was_relay:
                    self._relay.forget()
                    self._sleeper.stop_listening()
                was_relay = False
                continue
            if not was_relay:
                _log.info("this process is the relay of BullMQ's offers")
            was_relay = True
            self._make_round()

    def _make_round(self) -> None:
        began_at = monotonic()
        self._was_called.clear()
        try:
            found = self._relay.round()
        except RedisAway:
            # Workers claim from the database meanwhile, and listen there.
            self._sleeper.stop_listening()
            self._ending.wait(TICK_SECONDS)
        except DATABASE_ERRORS as error:
            _log.warning("the relay cannot look for due jobs: %s", type(error).__name__)
            self._backoff.pause(self._ending)
        else:
            self._backoff.reset()
            self._are_all_offered = found.is_all
            self._sleep(found)
            self._ending.wait(max(0.0, began_at + gap_seconds(found.workers * self._threads) - monotonic()))

    def _sleep(self, found: Round) -> None:
        """Sleep until there is a reason for another round."""
        self._full_since = (self._full_since or monotonic()) if found.is_full else None
        if self._full_since is not None:
            if self._sleeper.is_asleep() and monotonic() - self._full_since > _FULL_SECONDS:
                self._sleeper.get_up()
        elif not self._sleeper.is_asleep():
            self._sleeper.fall_asleep()
            if self._sleeper.is_asleep():
                # Due jobs are looked for once more before the first sleep.
                return
        # A seat that became free during the round may not have been seen by it.
        if not found.is_partial and (found.is_all or not self._was_called.is_set()):
            self._sleeper.wait(TICK_SECONDS)

    def _wait_for_calls(self) -> None:
        while not self._ending.is_set():
            if not self._is_relay.wait(TICK_SECONDS):
                continue
            try:
                if self._queues.wait_for_call():
                    self._was_called.set()
                    if not self._are_all_offered:
                        self._sleeper.wake()
                    # Calls of one moment are answered by one round.
                    self._ending.wait(GAP_SECONDS_LEAST)
            except RedisConfused:
                self._queues.clear()
            except RedisAway:
                self._ending.wait(TICK_SECONDS)


def gap_seconds(seats: int) -> float:
    """How long the beginnings of two rounds are apart at least, in a fleet of so many seats."""
    return min(GAP_SECONDS_MOST, max(GAP_SECONDS_LEAST, _GAP_SECONDS_FOR_EACH_SEAT * seats))
