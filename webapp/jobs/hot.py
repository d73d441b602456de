"""What the hot statements of both databases share: what a claim wants, and how much of each stage it may take."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple
from uuid import UUID

from webapp.jobs.along import Along
from webapp.jobs.controls import EVERY_STAGE, StageControl, with_defaults
from webapp.jobs.queue import Lease
from webapp.jobs.turns import LINES_MAX, Standing


class Hot(NamedTuple):
    """A cursor, the statements that suit it, and whether their commit is ours."""

    cursor: Any
    statements: ModuleType
    is_own: bool


@dataclass(frozen=True)
class Lane:
    """The stages that a claim is about: these, or all but these."""

    stages: list[str]
    is_inside: bool

    def has(self, stage: str) -> bool:
        """Whether jobs of this stage may be taken."""
        return (stage in self.stages) == self.is_inside


@dataclass(frozen=True)
class Wanted:
    """One claim: so many jobs, for whom, under which lease, and which orgs had how much of this worker."""

    worker: str
    lease_id: UUID
    limit: int
    lane: Lane
    turns: Standing
    along: Along[Any] | None = None
    more_lines: int = 0
    """How many lines are looked at beyond as many as there are jobs wanted."""

    @property
    def lines(self) -> int:
        """How many lines of a stage and a priority are looked at, at most, to find those."""
        return max(LINES_MAX, self.limit + self.more_lines)


@dataclass(frozen=True)
class Taken:
    """What a claim brought, and why it may have brought nothing."""

    leases: list[Lease]
    is_controlled: bool = False
    """Somebody paused, limited or slowed a stage: the claim has to be made with its rooms."""
    is_contended: bool = False
    """There are due jobs, but others have just locked them."""
    along: Sequence[tuple[Any, ...]] = ()
    """What was found along with each of them."""


def as_json(value: Mapping[str, Any]) -> str:
    """Most payloads and checkpoints of new jobs are empty."""
    return json.dumps(value) if value else "{}"


def from_json(value: bytes | str) -> Any:
    """And most are still empty when they are claimed."""
    return {} if value == b"{}" else json.loads(value)


def controls_of(rows: Iterable[tuple[Any, ...]]) -> dict[str, StageControl]:
    """From rows of stage, paused, limit and seconds since it was slowed."""
    return {
        stage: StageControl(stage, is_paused=bool(paused), limit=limit, seconds_since_slowed=since)
        for stage, paused, limit, since in rows
    }


def rooms_under(
    stored: Mapping[str, StageControl], limits: Mapping[str, int], at_work: Callable[[list[str]], Mapping[str, int]]
) -> dict[str, int] | None:
    """How many more jobs of each controlled stage may be taken; None where nothing may be taken at all."""
    if EVERY_STAGE in stored and stored[EVERY_STAGE].is_paused:
        return None
    allowed = {stage: control.allowance() for stage, control in with_defaults(stored, limits).items()}
    known = {stage: number for stage, number in allowed.items() if number is not None and stage != EVERY_STAGE}
    busy = at_work([stage for stage, number in known.items() if number > 0]) if any(known.values()) else {}
    return {stage: max(0, number - busy.get(stage, 0)) for stage, number in known.items()}
