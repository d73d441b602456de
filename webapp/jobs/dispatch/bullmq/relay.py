"""The relay: offers due jobs to the free seats of all workers, through BullMQ. One process of all is it at a time."""

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import bindparam, text
from sqlalchemy.types import Uuid

from webapp.clock import monotonic
from webapp.db import reading
from webapp.jobs.claim import Turns, free_slots
from webapp.jobs.dispatch.bullmq.client import RedisConfused
from webapp.jobs.dispatch.bullmq.order import DueJob, FreeSeats, choose
from webapp.jobs.dispatch.bullmq.queues import BullQueues, Offer, Sight, job_of
from webapp.jobs.queue import WorkerQueue

_log = logging.getLogger(__name__)

# An offer that was taken so long ago, of a job that is still due: its taker has died before the claim.
LOST_AFTER_SECONDS = 4.0
# An offer that waits longer than that although no seat is free for it is withdrawn.
_UNWANTED_AFTER_SECONDS = 1.0
TIDY_SECONDS = 5.0
_DELAYED_SECONDS = 1.0


@dataclass
class _Made:
    """An offer that this relay has made, and since when it has been seen elsewhere than waiting."""

    offer: Offer
    made_at: float
    left_at: float | None = None


@dataclass(frozen=True)
class Round:
    """What came of one look: how many offers were made, and how many of all are open."""

    offered: int = 0
    open: int = 0
    """Offers whose jobs are still due: waiting, or taken a moment ago."""
    is_full: bool = False
    """Whether no seat is free any more, so that nobody waits for new jobs."""
    is_partial: bool = False
    """Whether more might be offered at once by another round."""
    is_all: bool = False
    """Whether all due jobs have an offer, so that one more free seat has nothing to do."""
    workers: int = 0
    """How many workers publish their seats."""


class Relay:
    """Makes the offers. For one thread; what it remembers may be lost at any time."""

    def __init__(
        self,
        name: str,
        queue: WorkerQueue,
        queues: BullQueues,
        stage_limits: Mapping[str, int],
        time: Callable[[], float] = monotonic,
    ) -> None:
        self._name = name
        self._queue = queue
        self._queues = queues
        self._stage_limits = dict(stage_limits)
        self._time = time
        self._turns = Turns()
        self._made: dict[UUID, _Made] = {}
        self._delayed_at = self._tidied_at = time()
        self._stale: set[tuple[str, str]] = set()

    def round(self) -> Round:
        """Look at seats, offers and due jobs once, and offer what there is a seat for; RedisAway, database errors."""
        try:
            return self._round()
        except RedisConfused as error:
            _log.warning("what is in Redis is not ours any more, and is removed: %s", error)
            self._queues.clear()
            self.forget()
            return Round(open=1)

    def forget(self) -> None:
        """Forget all offers: another process may have been the relay meanwhile."""
        self._made.clear()
        self._stale.clear()

    def _round(self) -> Round:
        now = self._time()
        if now >= self._delayed_at:
            self._queue.wake_delayed()
            self._delayed_at = now + _DELAYED_SECONDS
        if now >= self._tidied_at:
            self._tidy()
            self._tidied_at = now + TIDY_SECONDS
        sight = self._queues.look(self._name)
        self._withdraw_unknown(sight)
        free = FreeSeats(sight.seats)
        unwanted = [made for made in self._waiting(sight) if not free.use(made.offer.stage)]
        if not free.number and not self._made:
            return Round(is_full=True, workers=len(sight.seats))
        slots, due, still_due = self._read(free)
        lost = self._review(sight, slots, still_due)
        self._withdraw([made.offer for made in unwanted if now - made.made_at > _UNWANTED_AFTER_SECONDS])
        wanted, stages = free.number, free.stages
        chosen = choose(due, free, self._slots_left(slots), self._turns.all())
        self._offer(chosen)
        is_cut = len({(job.stage, job.priority, job.org_id) for job in due}) * wanted > _READ_MAX
        return Round(
            len(chosen),
            len(self._made),
            is_full=not free.number,
            is_partial=bool(lost or (is_cut and free.number)),
            is_all=len(chosen) == len(due) and not is_cut and not lost and slots.keys() <= stages,
            workers=len(sight.seats),
        )

    def _waiting(self, sight: Sight) -> list[_Made]:
        """Our offers that wait, the oldest first."""
        ids = {offer_id for offer_ids in sight.waiting.values() for offer_id in offer_ids}
        return [made for made in self._made.values() if made.offer.id in ids]

    def _withdraw_unknown(self, sight: Sight) -> None:
        """Remove what waits and was not offered by this relay: by an earlier one, or by hand."""
        own = {made.offer.id for made in self._made.values()}
        for stage, ids in sight.waiting.items():
            if unknown := [offer_id for offer_id in ids if offer_id not in own]:
                self._queues.withdraw(stage, unknown[-_WITHDRAWN_MAX:])

    def _read(self, free: FreeSeats) -> tuple[dict[str, int | None], list[DueJob], set[UUID]]:
        """The stages that jobs may be offered of, due jobs, and which of the offered ones are still due."""
        with reading(everywhere=True, fixed_plans=True) as session:
            connection = session.connection()
            slots = free_slots(connection, self._stage_limits, locks=False)
            stages = sorted(slots.keys() & free.stages)
            values = {
                "stages": json.dumps(stages),
                "behind": self._turns.behind(),
                "offered": list(self._made),
                "most": free.number if stages else 0,
            }
            rows = connection.execute(_DUE_JOBS, values).all() if stages or self._made else []
        due = [
            DueJob(r.id, r.stage, r.priority, r.org_id, r.document_id, r.available_at, r.seats)
            for r in rows
            if not r.is_offered
        ]
        return slots, due, {row.id for row in rows if row.is_offered}

    def _review(self, sight: Sight, slots: Mapping[str, int | None], still_due: set[UUID]) -> int:
        """Forget the offers that have done their work, and those that are lost; returns how many are lost."""
        now = self._time()
        waiting = {made.offer.id for made in self._waiting(sight)}
        gone = [made for job_id, made in self._made.items() if job_id not in still_due]
        paused = [made for job_id, made in self._made.items() if job_id in still_due and made.offer.stage not in slots]
        self._withdraw([made.offer for made in (*gone, *paused) if made.offer.id in waiting])
        for made in gone:
            self._made.pop(made.offer.job_id, None)
        taken = [made for made in self._made.values() if made.offer.id not in waiting]
        for made in taken:
            made.left_at = made.left_at or now
        known = self._queues.exist([made.offer for made in taken]) if taken else []
        lost = [
            made.offer
            for made, is_known in zip(taken, known, strict=True)
            if not is_known or now - (made.left_at or now) > LOST_AFTER_SECONDS
        ]
        self._withdraw(lost)
        return len(lost)

    def _withdraw(self, offers: Iterable[Offer]) -> None:
        for offer in offers:
            self._queues.withdraw(offer.stage, [offer.id])
            self._made.pop(offer.job_id, None)

    def _slots_left(self, slots: Mapping[str, int | None]) -> dict[str, int | None]:
        """How many more jobs of each stage may be offered."""
        open_offers = [made.offer.stage for made in self._made.values()]
        return {
            stage: None if most is None else max(0, most - open_offers.count(stage)) for stage, most in slots.items()
        }

    def _offer(self, chosen: Sequence[DueJob]) -> None:
        offers = [Offer.of(job.stage, job.id, job.org_id, job.document_id) for job in chosen]
        now = self._time()
        # Remembered first: if the answer is lost, they are found waiting, or to be gone.
        self._made |= {offer.job_id: _Made(offer, now) for offer in offers}
        for offer in offers:
            self._turns.note(offer.org_id)
        if offers:
            self._queues.offer(offers)

    def _tidy(self) -> None:
        """Undo what people changed about whole queues, and remove what was taken and never acknowledged."""
        self._queues.lift_controls()
        active = [(stage, offer_id) for stage, ids in self._queues.active().items() for offer_id in ids]
        own = {made.offer.id for made in self._made.values()}
        jobs = {job_id for _, offer_id in active if (job_id := job_of(offer_id))}
        with reading(everywhere=True) as session:
            running = set(session.connection().scalars(_RUNNING, {"ids": list(jobs)})) if jobs else set()
        idle = {
            (stage, offer_id) for stage, offer_id in active if job_of(offer_id) not in running and offer_id not in own
        }
        # Only at the second time: its taker may be about to claim the job.
        for stage, offer_id in idle & self._stale:
            self._queues.withdraw(stage, [offer_id])
        self._stale = idle - self._stale


_WITHDRAWN_MAX = 500
# As many rows due_jobs.sql reads at most.
_READ_MAX = 4_000
_DUE_JOBS: Any = text((Path(__file__).parent / "due_jobs.sql").read_text()).bindparams(
    bindparam("behind", type_=Uuid())
)
_RUNNING: Any = text("SELECT id FROM document_processing_jobs WHERE status = 'PROCESSING' AND id = ANY (:ids)")
