"""A process that drains a queue: what the tests of many processes start many times.

Run as `python -m tests.jobs.drainer NAME` with the variables of the product; prints `ready`, waits for
a line, works until nothing is left, and prints what it did, one job a line.
"""

import os
import sys

from tests.bare import dispose, make_bare_app
from webapp.config import Settings
from webapp.jobs.queue import JobError, Lease
from webapp.jobs.retry import RetryPolicy
from webapp.jobs.sql import SqlJobQueue
from webapp.jobs.states import JobStatus

CLAIM = 5
AT_ONCE = RetryPolicy(base_seconds=0, max_seconds=0)


def main(name: str) -> None:
    app = make_bare_app(Settings.from_environment(os.environ))
    queue = SqlJobQueue(AT_ONCE)
    with app.app_context():
        # Claimed before it is ready, so that however fast the others are, each has its share.
        leases = queue.claim(name, CLAIM)
        print("ready", flush=True)  # noqa: T201 - that is how it says so
        sys.stdin.readline()
        while leases or queue.counts()[JobStatus.PENDING]:
            for lease in leases:
                print(lease.job_id, work(queue, lease))  # noqa: T201 - as above
            leases = queue.claim(name, CLAIM)
    dispose(app)


def work(queue: SqlJobQueue, lease: Lease) -> str:
    """Fail the first time where the payload says so, else complete."""
    if lease.payload.get("fails") and lease.attempts == 0:
        return queue.fail(lease, JobError("unavailable", "as asked"))
    queue.heartbeat([lease])
    queue.complete(lease)
    return "COMPLETED"


if __name__ == "__main__":
    main(sys.argv[1])
