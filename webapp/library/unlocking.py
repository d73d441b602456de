"""Documents whose file is locked: which ones need a password, and the run that opens one."""

from uuid import UUID

from webapp.db import transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import LiveRun, RunState, RunTrigger
from webapp.jobs import failures
from webapp.jobs.queue import NewJob
from webapp.jobs.sealed_passwords import HAS_PASSWORD
from webapp.library import lookup
from webapp.provider_errors import FailureCode
from webapp.runs import transitions
from webapp.runs.stages import first_stage
from webapp.services import Services

_CODES = frozenset({FailureCode.ENCRYPTED, FailureCode.WRONG_PASSWORD, FailureCode.PASSWORD_GONE})


def needs_password(document: Document, newest_run: ProcessingRun | None) -> bool:
    """Whether a password is missing: the newest run failed without it, or left files locked in an archive."""
    if newest_run is None:
        return False
    if newest_run.state == RunState.FAILED:
        return newest_run.failure_code in _CODES
    return newest_run.state == RunState.SUCCEEDED and bool(document.locked_parts)


def queue_with_password(services: Services, org_id: UUID, document_id: UUID, password: str) -> UUID | None:
    """Queue a run that opens the file with this password; None where the document needs none. DocumentMissing."""
    with transaction(org_id):
        transitions.lock(document_id, org_id)
        row = lookup.get_row(org_id, document_id)
        if row is None or not needs_password(row.document, row.run):
            return None
        run = transitions.create(org_id, document_id, RunTrigger.REPROCESS)
        failures.supersede(document_id, run.id)
        job = NewJob(
            org_id=org_id,
            run=LiveRun(run.id, org_id, document_id),
            stage=first_stage(row.document.content_type),
            max_attempts=services.settings.queue.job_max_attempts,
            payload={HAS_PASSWORD: True},
            must_wait=run.must_wait,
            sealed_password=services.seal.seal(password, document_id),
        )
        services.queue.enqueue([job])
        return run.id
