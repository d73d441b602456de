"""Jobs that are held under this worker's name, but that nobody here knows of.

A claim whose answer was lost on its way took jobs all the same. They go back to the line, and no
attempt is counted; as each release is fenced by its lease, none can be taken from who works on it.
"""

import logging
from uuid import UUID

from webapp.clock import monotonic
from webapp.jobs.queue import JobQueue
from webapp.pipeline import lifecycle

_log = logging.getLogger(__name__)

# Longer than the way of a claim's answer to its seat.
STRAY_AFTER_SECONDS = 1.0


class Strays:
    """For one thread."""

    def __init__(self, queue: JobQueue, worker: str) -> None:
        self._queue = queue
        self._worker = worker
        self._since: dict[UUID, float] = {}

    @property
    def are_suspected(self) -> bool:
        """Whether another look is due soon."""
        return bool(self._since)

    def release(self, known: set[UUID]) -> int:
        """Give back what is held under a lease that is not among these, and has not been for a moment."""
        present = monotonic()
        unknown = [lease for lease in self._queue.held_by(self._worker) if lease.lease_id not in known]
        self._since = {lease.lease_id: self._since.get(lease.lease_id, present) for lease in unknown}
        strays = [lease for lease in unknown if present - self._since[lease.lease_id] >= STRAY_AFTER_SECONDS]
        for lease in strays:
            lifecycle.release_job(self._queue, lease)
            _log.warning("job %s was claimed without our knowledge; it is back in line", lease.job_id)
        return len(strays)
