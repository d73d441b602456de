"""The stage `bulk`: does an operation on many documents, batch by batch, each batch one transaction with its place."""

from uuid import UUID

from webapp.clock import monotonic
from webapp.jobs.interruptions import Snoozed
from webapp.library import bulk
from webapp.pipeline.steps import StageContext

# After so long others get the seat, and the run's time limit is never reached.
TURN_SECONDS = 10.0
_PLACE = "after"


def change_many(context: StageContext) -> None:
    """Do what is left of the operation, and end the job; for a long one, over several turns."""
    operation_id = context.lease.operation_id
    if operation_id is None:
        raise ValueError("the job is of no operation")
    ends_at = monotonic() + TURN_SECONDS
    while _do_batch(context, operation_id):
        context.check()
        if monotonic() > ends_at:
            raise Snoozed(0)


def _do_batch(context: StageContext, operation_id: UUID) -> bool:
    """Whether there may be more."""
    after = context.checkpoint.get(_PLACE)
    with context.transaction():
        place = UUID(after) if after else None
        last = bulk.do_batch(context.queue, context.job_attempts, context.org_id, operation_id, place)
        if last is None:
            context.queue.complete(context.lease)
            return False
        context.checkpoint[_PLACE] = str(last)
        context.queue.checkpoint(context.lease, context.checkpoint)
        return True
