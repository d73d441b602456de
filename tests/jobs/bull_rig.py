"""The queue on PostgreSQL with BullMQ in front: each claim goes through offers that a relay makes."""

import threading
from collections.abc import Collection, Mapping
from uuid import UUID, uuid4

from flask import Flask

from tests.jobs.rig import RETRY, SqlQueueRig
from tests.redis_server import RedisServer
from webapp.clock import monotonic
from webapp.jobs.dispatch.bullmq.client import RedisClient
from webapp.jobs.dispatch.bullmq.dispatch import BullDispatch
from webapp.jobs.dispatch.bullmq.queues import BullQueues, Seats
from webapp.jobs.dispatch.bullmq.relay import Relay
from webapp.jobs.queue import Lease
from webapp.jobs.sql import SqlJobQueue

STAGES = ("process_document", "extract", "chunk", "embed", "publish", "connect", "transcribe")
CLAIM_SECONDS = 20.0


class OfferedQueue(SqlJobQueue):
    """The queue whose claims are made by one relay and by the workers' side of dispatch, all in this process."""

    def __init__(self, server: RedisServer) -> None:
        super().__init__(RETRY)
        self.plain = SqlJobQueue(RETRY)
        self._prefix = f"{{test-{uuid4().hex}}}"
        self._client = RedisClient(server.url, f"{self._prefix}:probe")
        self.queues = BullQueues(self._client, self._prefix, STAGES)
        self.relay = Relay("relay", self.plain, self.queues, {})
        self._one_round = threading.Lock()

    def claim(
        self,
        worker: str,
        limit: int = 1,
        *,
        seats: Mapping[UUID, int] | None = None,
        stages: Collection[str] | None = None,
        org_id: UUID | None = None,
        among: Collection[UUID] | None = None,
    ) -> list[Lease]:
        """As a worker that has so many seats: rounds of the relay and claims, until there is nothing to offer."""
        if org_id is not None or among is not None:
            return self.plain.claim(worker, limit, seats=seats, stages=stages, org_id=org_id, among=among)
        if not limit:
            return []
        taken = [stage for stage in STAGES if stages is None or stage in stages]
        dispatch = BullDispatch(self.plain, self.queues)
        own = Seats(limit, frozenset(taken))
        deadline = monotonic() + CLAIM_SECONDS
        leases: list[Lease] = []
        is_idle = False
        while not leases and not is_idle:
            assert monotonic() < deadline, "the relay offers what nobody may claim"
            self.queues.publish(worker, own, calls_relay=True)
            with self._one_round:
                found = self.relay.round()
            is_idle = not found.offered and not found.open and not found.is_partial
            leases = dispatch.claim(worker, limit, seats=seats or {}, stages=taken)
        self.queues.leave(worker)
        # Not the dispatch itself: the connections to Redis are those of all claims.
        dispatch._by_database.close()
        for lease in leases:
            dispatch.ended(lease)
        # A relay sees soon that these jobs are not due any more.
        with self._one_round:
            self.relay.round()
        return leases

    def close(self) -> None:
        self.queues.clear()
        self._client.close()


class BullQueueRig(SqlQueueRig):
    """The same surroundings, with claims that go through BullMQ."""

    def __init__(self, app: Flask, server: RedisServer) -> None:
        super().__init__(app)
        self.offered = OfferedQueue(server)
        self.queue = self.offered
