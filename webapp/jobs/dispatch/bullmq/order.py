"""The order in which due jobs are offered: the claim's, over the whole installation. Plain values and arithmetic."""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from webapp.jobs.dispatch.bullmq.queues import Seats


@dataclass(frozen=True)
class DueJob:
    """A due job, and how many jobs its org runs."""

    id: UUID
    stage: str
    priority: int
    org_id: UUID
    document_id: UUID | None
    available_at: datetime
    seats: int


class FreeSeats:
    """The free seats of all workers; each takes jobs of some stages."""

    def __init__(self, seats: Iterable[Seats]) -> None:
        numbers: Counter[frozenset[str]] = Counter()
        for each in seats:
            numbers[each.stages] += each.number
        self._numbers = numbers

    def use(self, stage: str) -> bool:
        """Use a seat for a job of this stage, the most particular one; False if there is none."""
        fit = [stages for stages, number in self._numbers.items() if number > 0 and stage in stages]
        if not fit:
            return False
        self._numbers[min(fit, key=lambda stages: (len(stages), sorted(stages)))] -= 1
        return True

    @property
    def number(self) -> int:
        """How many are left."""
        return self._numbers.total()

    @property
    def stages(self) -> set[str]:
        """The stages that a seat is left for."""
        return {stage for stages, number in self._numbers.items() if number > 0 for stage in stages}


def choose(
    due: Sequence[DueJob], free: FreeSeats, slots: Mapping[str, int | None], turns: Mapping[UUID, int]
) -> list[DueJob]:
    """The jobs to offer, in the claim's order; uses up `free`.

    The most urgent come first; of equally urgent ones those of the org with the fewest seats, then of the org served
    longest ago, then those that have been due longest. `due` has each org's jobs of a stage and priority in order.
    """
    lines: dict[tuple[str, int, UUID], list[DueJob]] = defaultdict(list)
    seats: dict[UUID, int] = {}
    for job in due:
        lines[job.stage, job.priority, job.org_id].append(job)
        seats[job.org_id] = job.seats
    left, last_turns, turn = dict(slots), dict(turns), max(turns.values(), default=0)

    def rank(line: list[DueJob]) -> tuple[int, int, int, datetime, UUID]:
        head = line[0]
        return head.priority, seats[head.org_id], last_turns.get(head.org_id, 0), head.available_at, head.id

    for line in lines.values():
        line.reverse()
    chosen: list[DueJob] = []
    heads = [(rank(line[-1:]), key) for key, line in lines.items()]
    heapq.heapify(heads)
    while heads and free.number:
        ranked, key = heapq.heappop(heads)
        line = lines[key]
        if ranked != (now := rank(line[-1:])):
            # Its org has got a seat since.
            heapq.heappush(heads, (now, key))
            continue
        job = line.pop()
        most = left.get(job.stage, 0)
        if most == 0 or not free.use(job.stage):
            # No other job of this line can start, either.
            continue
        if most is not None:
            left[job.stage] = most - 1
        chosen.append(job)
        turn += 1
        seats[job.org_id] += 1
        last_turns[job.org_id] = turn
        if line:
            heapq.heappush(heads, (rank(line[-1:]), key))
    return chosen
