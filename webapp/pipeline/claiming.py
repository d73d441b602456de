"""Jobs come into a worker's hands together with the start of their runs, or not at all."""

import logging
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy.exc import DataError, IntegrityError

from webapp.db import transaction
from webapp.documents import runs, starts
from webapp.documents.starts import AtWork, MayNotStart
from webapp.jobs.along import Along
from webapp.jobs.queue import JobQueue, Lease
from webapp.pipeline import lifecycle

_log = logging.getLogger(__name__)

# Of the rule itself, of its statement on PostgreSQL, and of the index behind it.
REFUSALS = (MayNotStart, DataError, IntegrityError)
_START_RUNS = Along(starts.ON_POSTGRESQL, starts.values, starts.on_sqlite, starts.read)


@dataclass(frozen=True)
class InHand:
    """What a claim brought: jobs whose runs are at work, and jobs that it gave back or ended."""

    started: list[tuple[Lease, AtWork]]
    refused: list[Lease]


def claim(
    queue: JobQueue, worker: str, limit: int, *, busy: Mapping[UUID, int] | None = None, without: Collection[str] = ()
) -> InHand:
    """Take due jobs and start their runs: a job in hand has a run at work, or one that has succeeded already."""
    try:
        return InHand(queue.claim_along(_START_RUNS, worker, limit, busy=busy, without=without), [])
    except REFUSALS as error:
        # Nothing was taken. It is rare that a run may not start, and then somebody has to look which, and why.
        _log.info("a claim is made again, run by run: %s", type(error).__name__)
    with transaction(everywhere=True):
        leases = queue.claim(worker, limit, busy=busy, without=without)
        may_start = {lease.job_id: lifecycle.start_run(queue, lease) for lease in leases}
        started = [(lease, _look(lease.run_id)) for lease in leases if may_start[lease.job_id]]
    return InHand(started, [lease for lease in leases if not may_start[lease.job_id]])


def _look(run_id: UUID) -> AtWork:
    return AtWork(runs.seconds_running(run_id), runs.is_of_recording(run_id))
