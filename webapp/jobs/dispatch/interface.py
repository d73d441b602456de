"""The interface of dispatch. `DatabaseDispatch` and `BullDispatch` implement it."""

from collections.abc import Collection, Mapping
from typing import Protocol
from uuid import UUID

from webapp.jobs.queue import Lease


class Dispatch(Protocol):
    """Finds jobs for the free seats of one worker process.

    One thread claims and waits. `wake` and `ended` may be called from any thread.
    """

    def claim(self, worker: str, limit: int, *, seats: Mapping[UUID, int], stages: Collection[str]) -> list[Lease]:
        """Claim up to `limit` due jobs of these stages, without waiting; `seats`: jobs of each org that it runs."""

    def wait(self, seconds: float) -> None:
        """Wait until there may be a job, about so long at most. Call it after a `claim` that found none."""

    def wake(self) -> None:
        """End the present wait, or the next one at its beginning."""

    def ended(self, lease: Lease) -> None:
        """Note that the attempt at this job has ended."""

    def close(self) -> None:
        """Close connections; nothing is claimed any more."""
