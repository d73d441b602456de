"""The states of a job."""

from enum import StrEnum


class JobStatus(StrEnum):
    """One unit of queued work of a run."""

    PENDING = "PENDING"
    """Waits: until `available_at`, or without one until the run before it has ended."""
    PROCESSING = "PROCESSING"
    """A worker holds its lease; ends by that worker, or by the watchdog when it falls silent."""
    COMPLETED = "COMPLETED"
    """Ended: done."""
    FAILED = "FAILED"
    """Ended: a permanent error, or no attempt left; `error_log` says why."""
    CANCELLED = "CANCELLED"
    """Ended: its run was ended by somebody else."""

    @property
    def is_ended(self) -> bool:
        """Ended states never change again."""
        return self not in {JobStatus.PENDING, JobStatus.PROCESSING}


class Priority:
    """Smaller goes first: a person who waits, a bulk import, work nobody waits for."""

    PERSON = 0
    BULK = 10
    BACKGROUND = 20
