"""The states of documents, runs, operations and deliveries, and the names of what can happen to a run."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class RunState(StrEnum):
    """The state of a run: one pass over a document from beginning to end."""

    QUEUED = "QUEUED"
    """Accepted; starts when it is the oldest queued run and none of its document is running."""
    RUNNING = "RUNNING"
    """A worker started it; it ends by a worker's result, by the watchdog or by a person."""
    SUCCEEDED = "SUCCEEDED"
    """Ended: its result is published."""
    FAILED = "FAILED"
    """Ended: `failure_type` says why."""
    TIMED_OUT = "TIMED_OUT"
    """Ended: it exceeded its time limit. Where it had got on, a run with the trigger CONTINUED goes on."""
    CANCELLED = "CANCELLED"
    """Ended: a person stopped it."""

    @property
    def is_ended(self) -> bool:
        """Ended states never change again."""
        return self not in {RunState.QUEUED, RunState.RUNNING}


class FailureType(StrEnum):
    """Why a run did not succeed."""

    PROCESS_TERMINATED = "PROCESS_TERMINATED"
    """The process that worked on it is gone."""
    STEP_FAILED = "STEP_FAILED"
    """A step failed in a way that repeating does not change."""
    ATTEMPTS_EXHAUSTED = "ATTEMPTS_EXHAUSTED"
    """Each attempt failed, and none is left."""
    BAD_INPUT = "BAD_INPUT"
    """The file itself cannot be used: encrypted, corrupt, empty, unsupported."""
    CANCELLED = "CANCELLED"
    """A person stopped it."""


class DocumentStatus(StrEnum):
    """What a document shows, derived from its newest run that did not begin by itself (`QUIET_TRIGGERS`)."""

    PROCESSING = "PROCESSING"
    """Its newest run is queued or running."""
    READY = "READY"
    """Its newest run succeeded, or was cancelled while an older result is published."""
    FAILED = "FAILED"
    """Its newest run failed; an older result, if there is one, is still served."""
    TIMED_OUT = "TIMED_OUT"
    """Its newest run exceeded its time limit; an older result is still served."""


class RunTrigger(StrEnum):
    """What made a run."""

    UPLOAD = "UPLOAD"
    REPROCESS = "REPROCESS"
    """A person asked for the whole document again."""
    RETRY = "RETRY"
    """Ops asked for a failed job again, or a document was restored; the run takes over what the old one had saved."""
    CONTINUED = "CONTINUED"
    """The run before reached its time limit and had got on; this one goes on from its checkpoint, by itself."""
    REREAD = "REREAD"
    """An earlier version of a reader read the document. It shows when it has succeeded: no status follows from it."""
    REEMBED = "REEMBED"
    """Its passages get vectors of another model. No status follows from that, either."""


QUIET_TRIGGERS = (RunTrigger.REREAD, RunTrigger.REEMBED)
"""What happens to these runs is in the history alone, until they succeed."""


class OperationState(StrEnum):
    """How far an operation is."""

    QUEUED = "QUEUED"
    """Its job has not begun."""
    RUNNING = "RUNNING"
    """Some of its documents are done."""
    SUCCEEDED = "SUCCEEDED"
    """All documents were looked at; some may have failed."""
    FAILED = "FAILED"
    """Its job has failed for good."""
    STOPPED = "STOPPED"
    """A person has stopped it, or its job: what was done stays done."""


class WebhookEvent(StrEnum):
    """What webhooks are told."""

    DOCUMENT_READY = "document.ready"
    """A document was processed, for the first time or again, and is READY."""
    DOCUMENT_FAILED = "document.failed"
    """The processing of a document failed, exceeded its time limit or was cancelled, and nothing goes on by itself."""
    IMPORT_DONE = "import.done"
    """An export was imported, with all its documents."""
    TEST = "webhook.test"
    """Ops asked for a test; all webhooks get it, whatever they are for."""


class DeliveryState(StrEnum):
    """How far an event is on its way to a webhook."""

    PENDING = "PENDING"
    """A job of the queue sends it, now or after a wait."""
    DELIVERED = "DELIVERED"
    """The receiver has answered with a status from 200 to 299."""
    FAILED = "FAILED"
    """No try was left, or a person cancelled its job. It can be sent again."""
    HELD = "HELD"
    """The webhook is paused; it is sent when the webhook is resumed."""


class EventKind(StrEnum):
    """The kinds of events in a document's timeline."""

    RUN_QUEUED = "RUN_QUEUED"
    RUN_STARTED = "RUN_STARTED"
    RUN_SUCCEEDED = "RUN_SUCCEEDED"
    RUN_FAILED = "RUN_FAILED"
    RUN_TIMED_OUT = "RUN_TIMED_OUT"
    RUN_CANCELLED = "RUN_CANCELLED"
    STEP_STARTED = "STEP_STARTED"
    STEP_RETRIED = "STEP_RETRIED"
    STEP_SUCCEEDED = "STEP_SUCCEEDED"
    STEP_REUSED = "STEP_REUSED"
    STEP_FAILED = "STEP_FAILED"
    JOB_RETRY_SCHEDULED = "JOB_RETRY_SCHEDULED"
    RETRY_REQUESTED = "RETRY_REQUESTED"
    JOB_RESET = "JOB_RESET"
    JOB_RELEASED = "JOB_RELEASED"
    JOB_WAITS = "JOB_WAITS"
    STAGE_PAUSED = "STAGE_PAUSED"
    RULE_APPLIED = "RULE_APPLIED"


@dataclass(frozen=True)
class LiveRun:
    """A run that has not ended, and whose it is."""

    id: UUID
    org_id: UUID
    document_id: UUID
