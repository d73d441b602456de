"""The worker's side of dispatch by BullMQ: it publishes its free seats, takes offers, and claims their jobs.

Whether a job may start is decided by the claim alone, narrowed to the jobs that were offered. Where Redis is away, or
no relay makes offers, the worker claims from the database as if there were no BullMQ.
"""

import logging
from collections.abc import Collection, Mapping
from contextlib import suppress
from threading import Lock
from uuid import UUID

from webapp.jobs.dispatch.bullmq.client import RedisAway
from webapp.jobs.dispatch.bullmq.queues import BullQueues, Seats, job_of
from webapp.jobs.dispatch.database import DatabaseDispatch
from webapp.jobs.queue import Lease, WorkerQueue

_log = logging.getLogger(__name__)


class BullDispatch:
    """Claims the jobs that were offered through BullMQ. See `Dispatch` for what each method promises."""

    def __init__(self, queue: WorkerQueue, queues: BullQueues) -> None:
        self._queue = queue
        self._queues = queues
        self._by_database = DatabaseDispatch(queue)
        # None before the first claim.
        self._is_by_database: bool | None = None
        self._was_offered = False
        self._worker: str | None = None
        self._seats = Seats(0, frozenset())
        self._lock = Lock()
        # The offers of the jobs that this worker runs.
        self._taken: dict[UUID, tuple[str, str]] = {}

    @property
    def is_by_database(self) -> bool:
        """Whether jobs are claimed from the database, since Redis or the relay is away, or was not looked for yet."""
        return self._is_by_database is not False

    def claim(self, worker: str, limit: int, *, seats: Mapping[UUID, int], stages: Collection[str]) -> list[Lease]:
        self._queues.woken.clear()
        try:
            offered = self._offered(worker, Seats(limit, frozenset(stages)))
        except RedisAway:
            offered = None
        if offered is None:
            self._switch(by_database=True)
            return self._by_database.claim(worker, limit, seats=seats, stages=stages)
        self._switch(by_database=False)
        return self._claim_offered(worker, offered, seats) if offered else []

    def wait(self, seconds: float) -> None:
        if self._is_by_database:
            self._by_database.wait(seconds)
            return
        if not self._seats.number:
            # Without seats of its own this worker must not take the markers of offers.
            self._queues.woken.wait(seconds)
            return
        try:
            self._queues.wait_for_offers(self._seats.stages)
        except RedisAway:
            # The next claim goes to the database.
            self._seats = Seats(0, frozenset())

    def wake(self) -> None:
        self._queues.wake()
        self._by_database.wake()

    def ended(self, lease: Lease) -> None:
        with self._lock:
            taken = self._taken.pop(lease.job_id, None)
        if taken is not None:
            self._queues.acknowledge(taken[0], [taken[1]])

    def close(self) -> None:
        if self._worker is not None:
            # What it published expires by itself.
            with suppress(RedisAway):
                self._queues.leave(self._worker)
        self._by_database.close()
        self._queues.client.close()

    def _offered(self, worker: str, seats: Seats) -> list[tuple[str, str]] | None:
        """The offers that this worker has taken, stage and id; None where no relay makes any."""
        more, self._seats = seats.number > self._seats.number, Seats(0, frozenset())
        self._worker = worker
        found = self._queues.publish(worker, seats, calls_relay=more)
        if not found.has_relay:
            return None
        self._was_offered = True
        taken = self._queues.take(worker, seats, found.stages) if found.stages else []
        self._seats = Seats(seats.number - len(taken), seats.stages)
        return taken

    def _claim_offered(self, worker: str, taken: list[tuple[str, str]], seats: Mapping[UUID, int]) -> list[Lease]:
        """Claim the jobs of these offers; offers of jobs that may not start are acknowledged, and come again."""
        offers = {job_id: (stage, offer_id) for stage, offer_id in taken if (job_id := job_of(offer_id))}
        leases: list[Lease] = []
        try:
            if offers:
                stages = {stage for stage, _ in offers.values()}
                leases = self._queue.claim(worker, len(offers), seats=seats, stages=stages, among=list(offers))
        finally:
            claimed = {offers[lease.job_id][1] for lease in leases}
            for stage, offer_id in taken:
                if offer_id not in claimed:
                    self._queues.acknowledge(stage, [offer_id])
        with self._lock:
            self._taken |= {lease.job_id: offers[lease.job_id] for lease in leases}
        return leases

    def _switch(self, *, by_database: bool) -> None:
        if by_database == self._is_by_database:
            return
        self._is_by_database = by_database
        if by_database:
            self._seats = Seats(0, frozenset())
            # At the start of a fleet the relay comes a moment later.
            level = logging.WARNING if self._was_offered else logging.INFO
            _log.log(level, "jobs are claimed from the database: Redis or the relay is away")
        else:
            self._by_database.stop_listening()
            _log.info("jobs are taken from BullMQ")
