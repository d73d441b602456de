"""Stage controls: a stage can be paused, limited or slowed. Plain values and arithmetic.

A control applies to the whole installation, since a provider's quota and maintenance concern all orgs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

# The name that means all stages: where it is paused, no job is claimed at all.
EVERY_STAGE = "*"

# After a rate limit (429) a stage begins again with one job at a time, and with twice as many after each of these
# intervals. The clock alone decides it, so no process has to live to speed a stage up again.
RECOVERY_SECONDS = 10.0
RECOVERED_AT = 64


@dataclass(frozen=True)
class StageControl:
    """The control of one stage. `reason` is a failure code, or None where a person decided."""

    stage: str
    is_paused: bool = False
    reason: str | None = None
    changed_by: str | None = None
    limit: int | None = None
    """How many of its jobs may run at once: set by ops, else by the settings."""
    is_default_limit: bool = False
    slowed_until: datetime | None = None
    updated_at: datetime | None = None
    seconds_since_slowed: float | None = None
    """By the database's clock; negative while the stage still rests."""

    @property
    def slow_limit(self) -> int | None:
        """How many jobs may run while the stage recovers from a rate limit; None when that is over."""
        since = self.seconds_since_slowed
        if since is None:
            return None
        if since < 0:
            return 0
        steps = int(since // RECOVERY_SECONDS)
        return 2**steps if steps < RECOVERED_AT.bit_length() - 1 else None

    @property
    def rests_seconds(self) -> float:
        """For how many seconds no job of this stage may be claimed."""
        return max(0.0, -(self.seconds_since_slowed or 0.0))

    def allowance(self) -> int | None:
        """How many jobs of this stage may run at once; None: any number."""
        if self.is_paused:
            return 0
        known = [limit for limit in (self.limit, self.slow_limit) if limit is not None]
        return min(known) if known else None


def with_defaults(stored: Mapping[str, StageControl], limits: Mapping[str, int]) -> dict[str, StageControl]:
    """The stored controls, with the limits of the settings for stages that ops gave none."""
    known = {stage: stored.get(stage, StageControl(stage)) for stage in {*stored, *limits}}
    return {
        stage: replace(control, limit=limits[stage], is_default_limit=True)
        if control.limit is None and stage in limits
        else control
        for stage, control in sorted(known.items())
    }


@dataclass(frozen=True)
class StageCounts:
    """How many jobs of a stage wait, run, and have failed."""

    due: int = 0
    """Could be claimed now."""
    later: int = 0
    """Wait for a time, or for the run before theirs to end."""
    processing: int = 0
    failed: int = 0
    oldest_due_seconds: float | None = None
    more: tuple[str, ...] = ()
    """The names of the numbers above at which counting stopped early."""
