"""Exceptions that end an attempt before its job is done, although nothing failed."""

from enum import StrEnum

# How long a job waits before it looks again for answers that other jobs are paying for.
OTHERS_SECONDS = 1.0


class Drained(Exception):
    """The process was asked to stop. Finished steps are saved, and the job may be handed back."""


class OutOfTime(Exception):
    """The run has exceeded its time limit; no further step is begun."""


class Snoozed(Exception):
    """The job waits for the outside world: it wants to be claimed again after `seconds`."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"again in {seconds} s")
        self.seconds = seconds


class WaitsForOthers(Snoozed):
    """Other jobs of the org are paying for answers that this one needs, too. Not counted as time of the run."""

    def __init__(self) -> None:
        super().__init__(OTHERS_SECONDS)


class WaitReason(StrEnum):
    """Why a job has to wait although nothing is wrong with it; pages have a sentence for each."""

    STORAGE_FULL = "storage_full"
    STORAGE_UNAVAILABLE = "storage_unavailable"
    DATABASE_FULL = "database_full"
    SPEND_LIMIT = "spend_limit"


class Waits(Exception):
    """A paid call may not be made now: the job waits, and no attempt is counted.

    It waits for `seconds`; without them its stage is paused until the reason has passed.
    """

    def __init__(self, reason: WaitReason, seconds: float | None = None) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.seconds = seconds
