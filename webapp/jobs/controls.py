"""What ops and providers may say about a stage: paused, limited, slowed. Plain values and arithmetic.

A control is about the whole installation: a provider's quota and a maintenance know no orgs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

# The stage that stands for all of them: paused, nothing new is taken at all.
EVERY_STAGE = "*"

# After a provider asked for patience its stage begins again with one job at a time, and with twice
# as many after each of these. Time alone does it: no process has to live to speed a stage up again.
RECOVERY_SECONDS = 10.0
RECOVERED_AT = 64


@dataclass(frozen=True)
class StageControl:
    """What holds for a stage now. `reason` is a failure code, or None where a person decided."""

    stage: str
    is_paused: bool = False
    reason: str | None = None
    changed_by: str | None = None
    limit: int | None = None
    """How many may be at work at once: as ops said, else as the settings say."""
    is_default_limit: bool = False
    slowed_until: datetime | None = None
    updated_at: datetime | None = None
    seconds_since_slowed: float | None = None
    """By the database's clock; negative while the stage still rests."""

    @property
    def slow_limit(self) -> int | None:
        """How many jobs may be at work because a provider asked for patience; None when that is over."""
        since = self.seconds_since_slowed
        if since is None:
            return None
        if since < 0:
            return 0
        steps = int(since // RECOVERY_SECONDS)
        return 2**steps if steps < RECOVERED_AT.bit_length() - 1 else None

    @property
    def rests_seconds(self) -> float:
        """For how long nothing of this stage is begun."""
        return max(0.0, -(self.seconds_since_slowed or 0.0))

    def allowance(self) -> int | None:
        """How many jobs of this stage may be at work at once; None: any number."""
        if self.is_paused:
            return 0
        known = [limit for limit in (self.limit, self.slow_limit) if limit is not None]
        return min(known) if known else None


def with_defaults(stored: Mapping[str, StageControl], limits: Mapping[str, int]) -> dict[str, StageControl]:
    """The same with the limits of the settings, for stages that ops gave none."""
    known = {stage: stored.get(stage, StageControl(stage)) for stage in {*stored, *limits}}
    return {
        stage: replace(control, limit=limits[stage], is_default_limit=True)
        if control.limit is None and stage in limits
        else control
        for stage, control in sorted(known.items())
    }


@dataclass(frozen=True)
class StageCounts:
    """How many jobs of a stage wait, are at work, and have failed."""

    due: int = 0
    """Could be taken now."""
    later: int = 0
    """Wait for a time, or for the run before theirs to end."""
    processing: int = 0
    failed: int = 0
    oldest_due_seconds: float | None = None
    more: tuple[str, ...] = ()
    """The names of the numbers above that are larger than they were counted."""
