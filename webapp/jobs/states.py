"""The states of a job."""

from enum import StrEnum


class JobStatus(StrEnum):
    """The state of a job."""

    PENDING = "PENDING"
    """Due, delayed until `available_at`, or (without that) waiting for another run of its document to end."""
    PROCESSING = "PROCESSING"
    """A worker has its lease. That worker ends it, or the queue takes it back when the worker is dead or silent."""
    COMPLETED = "COMPLETED"
    """Ended: done."""
    FAILED = "FAILED"
    """Ended: a permanent error, or no attempt left; `error_log` says why."""
    CANCELLED = "CANCELLED"
    """Ended: its run was ended from outside."""

    @property
    def is_ended(self) -> bool:
        """Ended states never change again."""
        return self not in {JobStatus.PENDING, JobStatus.PROCESSING}


class Resolution(StrEnum):
    """What became of a failure. One without a resolution is open: it waits for a decision."""

    RETRIED = "RETRIED"
    """A person asked for its job again; should that fail, the new failure is open, and this one is not."""
    SUPERSEDED = "SUPERSEDED"
    """A later run of its document was queued."""
    DISCARDED = "DISCARDED"
    """A person decided to leave it as it is, which can be undone."""


class Priority:
    """Priorities, smaller first: a person who waits, a bulk import, work that nobody waits for."""

    PERSON = 0
    BULK = 10
    BACKGROUND = 20
