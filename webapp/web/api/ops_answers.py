"""The JSON that programs get about jobs, stages and the installation: one type for each answer."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.jobs.states import JobStatus, Resolution
from webapp.web.api.document_answers import Cursor, Time
from webapp.web.ops.job_rows import ErrorRow
from webapp.web.sentences import Sentence


class JobJson(TypedDict):
    """A unit of work, with the errors of its attempts."""

    id: UUID
    document_id: UUID | None
    run_id: UUID | None
    filename: str
    stage: str
    status: JobStatus
    attempts: Annotated[int, Meta(description="How many attempts have failed.")]
    max_attempts: int
    available_at: Time | None
    created_at: Time
    completed_at: Time | None
    failure: Sentence | None
    errors: list[ErrorRow]
    resolution: Resolution | None
    resolved_at: Time | None
    resolved_by: str | None


class FailureGroupJson(TypedDict):
    """The open failures of one stage with one error."""

    stage: str
    code: str
    title: str
    count: int
    more: bool
    may_pass: Annotated[bool, Meta(description="Whether trying again can help.")]


class JobsJson(TypedDict):
    """Some of the jobs, how many there are of each status, and the open failures in groups."""

    jobs: list[JobJson]
    status: JobStatus | None
    stage: str | None
    stages: list[str]
    code: str | None
    resolution: Resolution | None
    q: str
    next_cursor: Cursor
    counts: dict[JobStatus, int]
    counts_more: list[JobStatus]
    groups: list[FailureGroupJson]
    resolved: dict[Resolution, int]


class JobRunJson(TypedDict):
    """The run that a job belongs to."""

    id: UUID
    state: str
    trigger: str
    failure_type: str | None
    error: str | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None


class WholeJobJson(JobJson):
    """All about one job."""

    priority: int
    operation_id: UUID | None
    started_at: Time | None
    heartbeat_at: Time | None
    locked_by: str | None
    error_code: str | None
    payload: dict[str, Any]
    checkpoint: dict[str, Any]
    run: JobRunJson | None
    events: list[Any]


class NamedJobJson(TypedDict):
    """The job that was retried; one of an operation has no document."""

    id: UUID
    document_id: UUID | None


class QueuedRunJson(TypedDict):
    """The new run."""

    id: UUID
    state: str


class RetriedJson(TypedDict):
    """A job that was retried, and the new run; an operation goes on without one."""

    job: NamedJobJson
    run: QueuedRunJson | None


class RetriedManyJson(TypedDict):
    """What became of a request to retry many jobs."""

    retried: int
    refused: int
    unknown: int
    more: Annotated[bool, Meta(description="Whether more can be retried: send the request again.")]
    left_out: int
    left_out_why: list[FailureGroupJson]


class ChangedJobJson(TypedDict):
    """A job after a change."""

    id: UUID
    document_id: UUID | None
    status: JobStatus
    resolution: Resolution | None


class ChangedJson(TypedDict):
    """The job that was changed."""

    job: ChangedJobJson


class CancelledManyJson(TypedDict):
    """What became of a request to cancel many jobs."""

    cancelled: int
    refused: int
    unknown: int


class DiscardedJson(TypedDict):
    """How many failures were discarded."""

    discarded: int
    more: bool


class RestoredJson(TypedDict):
    """How many discarded failures were opened again."""

    restored: int


class ChosenJobsJson(TypedDict):
    """The jobs that are meant: by id, or the open failures of a stage with an error."""

    ids: NotRequired[list[UUID]]
    stage: NotRequired[str]
    code: NotRequired[str]


class StageStateJson(TypedDict):
    """What was said about a stage; the stage `*` is all of them."""

    stage: str
    is_paused: bool
    limit: int | None
    rests_seconds: float


class StageLimitJson(TypedDict):
    """How many jobs of a stage may run at once; null for the settings' own limit."""

    limit: int | None


class EndedJson(TypedDict):
    """How many jobs ended, and how long they took, in seconds."""

    completed: int
    failed: int
    seconds_mean: float | None
    seconds_max: float | None
    latency_mean: float | None
    latency_p50_at_most: float | None
    latency_p95_at_most: float | None
    latency_max: float | None


class EndedAtJson(EndedJson):
    """The jobs that ended in an hour or on a day."""

    at: Time


class ThroughputJson(TypedDict):
    """The jobs that ended, by time and by stage."""

    window: str
    points: list[EndedAtJson]
    stages: dict[str, EndedJson]
    total: EndedJson


class ActorJson(TypedDict):
    """Who did something."""

    kind: str
    id: UUID | None
    name: str


class AuditLineJson(TypedDict):
    """A line of the security log."""

    id: UUID
    at: Time
    about: str
    actor: ActorJson
    action: str
    target: str | None
    address: str | None
    details: dict[str, Any]


class SecurityLogJson(TypedDict):
    """Some lines of the security log, the newest first."""

    entries: list[AuditLineJson]
    next_cursor: Cursor


class PersonJson(TypedDict):
    """Somebody who may sign in."""

    id: UUID
    email: str
    role: str
    state: Literal["invited", "active", "deactivated"]
    has_password: bool
    created_at: Time
    disabled_at: Time | None
    last_signed_in_at: Time | None
    link_expires_at: Annotated[Time | None, Meta(description="Until when a link for their password works.")]


class PersonChangeJson(TypedDict):
    """What is to be changed of a person."""

    role: NotRequired[Literal["viewer", "member", "ops", "operator"]]
    active: NotRequired[Annotated[bool, Meta(description="False ends all sessions, links and tokens at once.")]]


class PersonListJson(TypedDict):
    """The people of the org."""

    people: list[PersonJson]


class RereadingJson(TypedDict):
    """How many documents are read again with a newer reader."""

    left: int
    more: bool


class OverviewJson(TypedDict):
    """The state of the installation, as the page Operations shows it."""

    mode: str
    database: str
    database_role: Any
    alerts: list[Any]
    counts: dict[JobStatus, int]
    counts_more: list[JobStatus]
    oldest_due_seconds: float | None
    stages: list[Any]
    is_drained: bool
    workers: list[Any]
    dispatch: Any
    providers: Any
    locks: dict[str, bool] | None
    sandbox: Any
    limits: Any
    spending: Any
    has_room: bool
    disk_free_bytes: int | None
    outdated: Annotated[int, Meta(description="Documents with vectors of an earlier model.")]
    outdated_more: bool
    deliveries_given_up: Annotated[int, Meta(description="Deliveries of webhooks that are sent no more by themselves.")]
    deliveries_given_up_more: bool
    rereading: Any
    sources: Annotated[
        Any, Meta(description="How many sources are on, when one was polled last, which are in trouble.")
    ]
    warnings: list[Any]
    installation: Any


class AliveJson(TypedDict):
    """The process answers."""

    status: str


class ReadyJson(TypedDict):
    """What was checked."""

    status: str
    checks: dict[str, str]


class ClaimedDocumentJson(TypedDict):
    """The document of a claimed job."""

    id: UUID
    filename: str
    content_type: str
    size_bytes: int
    sha256: str


class JobResultJson(TypedDict):
    """Where the result of a claimed job goes, and the checksum of the one that is stored."""

    kind: str
    url: str
    sha256: str | None


class ClaimedJobJson(TypedDict):
    """A claimed job, with the addresses of all that can be done with it."""

    id: UUID
    lease_id: UUID
    stage: str
    run_id: UUID
    attempt: int
    attempts_max: int
    seconds_left: float
    document: ClaimedDocumentJson
    checkpoint: dict[str, Any] | None
    inputs: dict[str, str]
    result: JobResultJson
    calls: dict[str, str]


class ClaimJson(TypedDict):
    """The jobs that were claimed, and how often to send a heartbeat."""

    jobs: list[ClaimedJobJson]
    heartbeat_seconds: float
    silent_seconds: float


class HeartbeatJson(TypedDict):
    """Why to stop, or null."""

    stop: str | None


class SavedJson(TypedDict):
    """The checkpoint is saved."""

    saved: bool


class StoredResultJson(TypedDict):
    """The result that was stored."""

    kind: str
    sha256: str
    size_bytes: int


class EndedJobJson(TypedDict):
    """What became of a job that a program ended."""

    status: JobStatus
    next_stage: NotRequired[str]
