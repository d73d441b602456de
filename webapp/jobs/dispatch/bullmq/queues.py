"""Docmill's queues in BullMQ: one for each stage, with jobs that are offers, and two things beside them.

An *offer* says that a job of the database is due. Its id is the job's id and a suffix of its own, since BullMQ ignores
an id that it knows already. It is waiting until a worker takes it, then active until that worker acknowledges it.
BullMQ's locks, retries and delays are not used: nothing here is lost with Redis.

Beside the queues, workers publish their free seats, and the relay that it is there; both expire by themselves.
"""

import asyncio
import json
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from bullmq import Job, Queue

from webapp.jobs.dispatch.bullmq.client import CALL_SECONDS, WAIT_SECONDS, RedisClient

# BullMQ takes no lock for this token, so any process may end what a dead one has taken.
_NO_LOCK = "0"
_REMOVED_AT_END = {"removeOnComplete": True, "removeOnFail": True}
SEATS_LIVE_SECONDS = 5
RELAY_LIVES_SECONDS = 4
# Far more than there are seats; more than that were added by somebody else, and are removed part by part.
_LOOKED_AT_MAX = 5_000
_AT_ONCE = 200
# What a person can change about a queue as a whole; the truth about pauses and limits is in the database.
_QUEUE_CONTROLS = ("paused", "concurrency", "max", "duration")
_ID_LENGTH = 36


@dataclass(frozen=True)
class Offer:
    """An offer of one job."""

    stage: str
    job_id: UUID
    org_id: UUID
    document_id: UUID | None
    id: str

    @classmethod
    def of(cls, stage: str, job_id: UUID, org_id: UUID, document_id: UUID | None) -> "Offer":
        """A new one."""
        return cls(stage, job_id, org_id, document_id, f"{job_id}-{secrets.token_hex(4)}")


@dataclass(frozen=True)
class Seats:
    """The free seats of one worker, and the stages whose jobs it takes."""

    number: int
    stages: frozenset[str]


@dataclass(frozen=True)
class Offered:
    """What a worker sees in Redis: whether there is a relay, and the stages that have waiting offers."""

    has_relay: bool
    stages: Sequence[str]


@dataclass(frozen=True)
class Sight:
    """What the relay sees in Redis: the ids of the offers that wait, by stage, and the free seats."""

    waiting: Mapping[str, Sequence[str]]
    seats: Sequence[Seats]


def job_of(offer_id: str) -> UUID | None:
    """The job of an offer; None for an id that somebody else has made."""
    try:
        return UUID(offer_id[:_ID_LENGTH])
    except ValueError:
        return None


class BullQueues:
    """BullMQ's queues. Each method is one bounded call from a plain thread, and raises nothing but RedisAway."""

    def __init__(self, client: RedisClient, prefix: str, stages: Iterable[str]) -> None:
        self.client = client
        self._prefix = prefix
        self._queues = {stage: Queue(stage, {"connection": client.calls, "prefix": prefix}) for stage in stages}
        self.woken = threading.Event()
        self._waiting: asyncio.Future[Any] | None = None

    def key(self, name: str) -> str:
        """A key of our own. Its name is no stage's, so it is nothing of BullMQ's."""
        return f"{self._prefix}:docmill:{name}"

    # Workers.

    def publish(self, worker: str, seats: Seats, *, calls_relay: bool) -> Offered:
        """Publish a worker's free seats; returns what there is for them."""
        return self.client.run(self._publish(worker, seats, calls_relay=calls_relay))

    def take(self, worker: str, seats: Seats, stages: Iterable[str]) -> list[tuple[str, str]]:
        """Take waiting offers of these stages, as many as there are seats: stage and id of each."""
        return self.client.run(self._take(worker, seats, stages))

    def wait_for_offers(self, stages: Collection[str]) -> None:
        """Wait until a stage may have offers, until `wake`, or for WAIT_SECONDS."""
        self.client.run(self._wait_for_offers(stages), WAIT_SECONDS + CALL_SECONDS)

    def wake(self) -> None:
        """End the present wait, or the next one at its beginning. Safe from any thread."""
        self.woken.set()
        self.client.soon(self._end_wait)

    def acknowledge(self, stage: str, offer_ids: Sequence[str]) -> None:
        """Remove offers that were taken, some time soon. The relay removes what this misses."""
        if offer_ids:
            self.client.start(self._acknowledge(stage, offer_ids))

    def leave(self, worker: str) -> None:
        """Withdraw a worker's seats."""
        self.client.run(self._leave(worker))

    # The relay.

    def look(self, relay: str) -> Sight:
        """Look at offers and seats; this also says that the relay is there."""
        return self.client.run(self._look(relay))

    def offer(self, offers: Sequence[Offer]) -> None:
        """Add offers, in this order."""
        self.client.run(self._offer(offers))

    def withdraw(self, stage: str, offer_ids: Sequence[str]) -> None:
        """Remove offers, in whatever state they are."""
        self.client.run(self._withdraw(stage, offer_ids))

    def exist(self, offers: Sequence[Offer]) -> list[bool]:
        """Whether BullMQ still knows each of these offers."""
        return self.client.run(self._exist(offers))

    def active(self) -> dict[str, list[str]]:
        """The ids of the offers that were taken and not acknowledged, by stage."""
        return self.client.run(self._active())

    def lift_controls(self) -> None:
        """End pauses and limits of whole queues, which somebody else must have set."""
        self.client.run(self._lift_controls())

    def wait_for_call(self) -> bool:
        """Wait until a worker calls for the relay, for WAIT_SECONDS at most."""
        return self.client.run(self._wait_for_call(), WAIT_SECONDS + CALL_SECONDS)

    def clear(self) -> None:
        """Remove all that is under our prefix."""
        self.client.run(self._clear())

    # For people.

    def counts(self) -> dict[str, dict[str, int]]:
        """How many offers of each stage wait, and how many are active."""
        return self.client.run(self._counts())

    def relay(self) -> str | None:
        """The name of the worker that is the relay; None where there is none."""
        return self.client.run(self._relay())

    async def _publish(self, worker: str, seats: Seats, *, calls_relay: bool) -> Offered:
        stages = sorted(seats.stages & self._queues.keys())
        async with self.client.calls.pipeline(transaction=False) as pipe:
            self._set_seats(pipe, worker, seats)
            if calls_relay:
                pipe.zadd(self.key("call"), {"0": 0})
            pipe.exists(self.key("relay"))
            for stage in stages:
                pipe.llen(self._queues[stage].toKey("wait"))
            answers = await pipe.execute()
        has_relay, *numbers = answers[-1 - len(stages) :]
        return Offered(bool(has_relay), [stage for stage, number in zip(stages, numbers, strict=True) if number])

    def _set_seats(self, pipe: Any, worker: str, seats: Seats) -> None:
        shown = json.dumps({"seats": seats.number, "stages": sorted(seats.stages)})
        pipe.set(self.key(f"seats:{worker}"), shown, ex=SEATS_LIVE_SECONDS)
        pipe.sadd(self.key("workers"), worker)

    async def _leave(self, worker: str) -> None:
        await self.client.calls.delete(self.key(f"seats:{worker}"))

    async def _relay(self) -> str | None:
        found = await self.client.calls.get(self.key("relay"))
        return None if found is None else str(found)

    async def _take(self, worker: str, seats: Seats, stages: Iterable[str]) -> list[tuple[str, str]]:
        taken: list[tuple[str, str]] = []
        for stage in stages:
            while len(taken) < seats.number:
                # The seat is no longer published when the offer is gone, so the relay can't count it as free.
                left = Seats(seats.number - len(taken) - 1, seats.stages)
                async with self.client.calls.pipeline(transaction=False) as pipe:
                    self._set_seats(pipe, worker, left)
                    await pipe.execute()
                _, offer_id, *_ = await self._queues[stage].backend.moveToActive(_NO_LOCK, {})
                if not offer_id:
                    break
                taken.append((stage, str(offer_id)))
        await self._publish(
            worker, Seats(seats.number - len(taken), seats.stages), calls_relay=len(taken) < seats.number
        )
        return taken

    async def _wait_for_offers(self, stages: Collection[str]) -> None:
        # BullMQ adds a marker beside each offer. One that is lost with its taker costs a wait.
        markers = [self._queues[stage].toKey("marker") for stage in stages]
        self._waiting = asyncio.ensure_future(self.client.waits.bzpopmin(markers, WAIT_SECONDS))
        try:
            if self.woken.is_set():
                self._waiting.cancel()
            await self._waiting
        except asyncio.CancelledError:
            # By `wake`, perhaps by an earlier one; a time limit cancels the task around this wait instead.
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
        finally:
            self._waiting.cancel()
            self._waiting = None
            self.woken.clear()

    def _end_wait(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()

    async def _acknowledge(self, stage: str, offer_ids: Sequence[str]) -> None:
        queue = self._queues[stage]
        for offer_id in offer_ids:
            try:
                await Job(queue, stage, None, _REMOVED_AT_END, offer_id).moveToCompleted(None, _NO_LOCK)
            except TypeError:
                # BullMQ's word for an offer that is gone, or that somebody has moved.
                await queue.remove(offer_id)

    async def _look(self, relay: str) -> Sight:
        async with self.client.calls.pipeline(transaction=False) as pipe:
            pipe.set(self.key("relay"), relay, ex=RELAY_LIVES_SECONDS)
            # Offers before seats: one that is taken in between is then counted twice, and never not at all.
            for queue in self._queues.values():
                pipe.lrange(queue.toKey("wait"), -_LOOKED_AT_MAX, -1)
            pipe.smembers(self.key("workers"))
            _, *waiting, workers = await pipe.execute()
        found = dict(zip(self._queues, waiting, strict=True))
        return Sight(found, await self._seats(sorted(workers)))

    async def _seats(self, workers: Sequence[str]) -> list[Seats]:
        if not workers:
            return []
        shown = await self.client.calls.mget([self.key(f"seats:{worker}") for worker in workers])
        gone = [worker for worker, text in zip(workers, shown, strict=True) if text is None]
        if gone:
            await self.client.calls.srem(self.key("workers"), *gone)
        return [seats for text in shown if text is not None and (seats := _seats_of(str(text))) is not None]

    async def _offer(self, offers: Sequence[Offer]) -> None:
        for stage, queue in self._queues.items():
            of_stage = [offer for offer in offers if offer.stage == stage]
            for first in range(0, len(of_stage), _AT_ONCE):
                await queue.addBulk([_as_job(offer) for offer in of_stage[first : first + _AT_ONCE]])

    async def _withdraw(self, stage: str, offer_ids: Sequence[str]) -> None:
        for offer_id in offer_ids:
            await self._queues[stage].remove(offer_id)

    async def _exist(self, offers: Sequence[Offer]) -> list[bool]:
        async with self.client.calls.pipeline(transaction=False) as pipe:
            for offer in offers:
                pipe.exists(self._queues[offer.stage].toKey(offer.id))
            return [bool(found) for found in await pipe.execute()]

    async def _active(self) -> dict[str, list[str]]:
        async with self.client.calls.pipeline(transaction=False) as pipe:
            for queue in self._queues.values():
                pipe.lrange(queue.toKey("active"), -_LOOKED_AT_MAX, -1)
            found = await pipe.execute()
        return dict(zip(self._queues, found, strict=True))

    async def _lift_controls(self) -> None:
        async with self.client.calls.pipeline(transaction=False) as pipe:
            for queue in self._queues.values():
                pipe.hdel(queue.toKey("meta"), *_QUEUE_CONTROLS)
            lifted = await pipe.execute()
        for queue, number in zip(self._queues.values(), lifted, strict=True):
            if number:
                # So that workers look at once.
                await self.client.calls.zadd(queue.toKey("marker"), {"0": 0})

    async def _wait_for_call(self) -> bool:
        return bool(await self.client.waits.bzpopmin([self.key("call")], WAIT_SECONDS))

    async def _clear(self) -> None:
        async for key in self.client.calls.scan_iter(f"{_escaped(self._prefix)}:*", count=1_000):
            await self.client.calls.unlink(key)

    async def _counts(self) -> dict[str, dict[str, int]]:
        async with self.client.calls.pipeline(transaction=False) as pipe:
            for queue in self._queues.values():
                pipe.llen(queue.toKey("wait"))
                pipe.llen(queue.toKey("active"))
            numbers = await pipe.execute()
        pairs = zip(numbers[::2], numbers[1::2], strict=True)
        return {
            stage: {"waiting": waiting, "active": active}
            for stage, (waiting, active) in zip(self._queues, pairs, strict=True)
        }


def _as_job(offer: Offer) -> dict[str, Any]:
    ids = {"job_id": offer.job_id, "org_id": offer.org_id, "document_id": offer.document_id}
    data = {name: None if value is None else str(value) for name, value in ids.items()}
    return {"name": offer.stage, "data": {**data, "stage": offer.stage}, "opts": {**_REMOVED_AT_END, "jobId": offer.id}}


def _seats_of(text: str) -> Seats | None:
    try:
        shown = json.loads(text)
        return Seats(max(0, int(shown["seats"])), frozenset(map(str, shown["stages"])))
    except (ValueError, TypeError, KeyError):
        return None


def _escaped(prefix: str) -> str:
    """For SCAN's pattern, in which only these mean something."""
    return "".join(f"\\{character}" if character in "*?[]\\" else character for character in prefix)
