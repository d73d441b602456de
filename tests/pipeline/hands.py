"""A worker's hands at a workplace: real attempts with their outcomes, and the chores that resume what waits."""

import threading
from uuid import UUID

from tests.pipeline.workplace import Workplace
from webapp.jobs.queue import JobSnapshot
from webapp.pipeline.handlers import HANDLERS
from webapp.services import Services
from webapp.worker import chores
from webapp.worker.attempt import Attempts, Outcome
from webapp.worker.policy import ExecutionPolicy

LOOKS_MAX = 300


def attempts(workplace: Workplace) -> Attempts:
    services: Services = workplace
    return Attempts(services, ExecutionPolicy.of(workplace.settings), HANDLERS)


def attempt(workplace: Workplace) -> Outcome | None:
    """Claim the next job and end it in some way; None where nothing may be claimed."""
    worker = attempts(workplace)
    workplace.queue.wake_delayed()
    claimed = worker.claim("worker")
    return worker.run(claimed[0], threading.Event()) if claimed else None


def finish(workplace: Workplace, document_id: UUID) -> str:
    """Attempt whatever is due until the document is no longer processing; jobs that look again later are waited for."""
    pause = threading.Event()
    for _ in range(LOOKS_MAX):
        if attempt(workplace) is None:
            pause.wait(0.02)
        status = workplace.document(document_id).status
        if status != "PROCESSING":
            return status
    raise AssertionError("the document is still being processed")


def attempt_until_idle(workplace: Workplace, rounds: int = LOOKS_MAX) -> list[Outcome]:
    """Attempt what is due until nothing may be claimed."""
    found: list[Outcome] = []
    for _ in range(rounds):
        outcome = attempt(workplace)
        if outcome is None:
            return found
        found.append(outcome)
    raise AssertionError("there is always something to do")


def resume(workplace: Workplace) -> int:
    """What a worker does every few seconds."""
    services: Services = workplace
    return chores.resume_with_space(services)


def job_of(workplace: Workplace, document_id: UUID) -> JobSnapshot:
    """The newest job of a document's newest run."""
    return workplace.queue.of_run(workplace.run(document_id).id)[-1]
