"""The view of a document with its newest run and job, for its row, its page and programs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from webapp.clock import utc_now
from webapp.db import reading
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.states import DocumentStatus, RunState, RunTrigger
from webapp.jobs.controls import EVERY_STAGE, StageControl
from webapp.jobs.interruptions import WaitReason
from webapp.jobs.queue import WAITS_FOR, JobQueue, JobSnapshot
from webapp.jobs.states import JobStatus
from webapp.jobs.takers import untaken
from webapp.library import parts, tags
from webapp.library.lookup import DocumentRow
from webapp.library.pictures import has_pictures
from webapp.library.tags import ShownTag
from webapp.library.unlocking import needs_password
from webapp.runs import checkpoint
from webapp.runs.stages import FIND_FIELDS, INDEX, first_stage, way_of
from webapp.web.access import services
from webapp.web.sentences import Sentence, failure

# Somebody paused the stage, or a provider refused the account.
PAUSED, WORKER = "paused", "worker"
# By the age of the run: what is new changes quickly.
_POLL_SECONDS_NEW = ((10, 1), (30, 2))
# What waits behind others is asked for rarely: static/js/poll.js asks for the next in turn whenever a document of the
# same list ends.
_POLL_SECONDS_WORKED_ON, _POLL_SECONDS_WAITING = 2, 20


@dataclass(frozen=True)
class StepState:
    """A step of the pipeline, and whether it is done, current or still to come."""

    name: str
    state: str


@dataclass(frozen=True)
class DocumentView:
    """A document with its processing state, as it is shown. Templates read the lower-case words."""

    document: Document
    run: ProcessingRun | None
    job: JobSnapshot | None
    waits_for: str | None = None
    """Why its job has to wait: a WaitReason, PAUSED, or WORKER where no living worker takes its stage."""
    container: str | None = None
    """The file name of the container that it lies in."""
    tags: Sequence[ShownTag] = ()

    @property
    def id(self) -> UUID:
        return self.document.id

    @property
    def document_id(self) -> UUID:
        return self.document.id

    @property
    def filename(self) -> str:
        return self.document.filename

    @property
    def title(self) -> str | None:
        return self.document.title

    @property
    def title_is_guess(self) -> bool:
        """Whether nobody called the document so: its title is its first heading."""
        return bool(self.document.title_is_guess)

    @property
    def listed_as(self) -> str:
        """The word for it, as the library's filters have it: of what is ready, they know what is read in part."""
        return "partly_read" if self.status == "ready" and self.document.is_partly_read else self.status

    @property
    def pages_read(self) -> int | None:
        """How many pages were read, well or in part, where some were not."""
        read, count = self.document.pages_read, self.document.page_count
        return read if read is not None and count is not None and read < count else None

    @property
    def content_type(self) -> str:
        return self.document.content_type

    @property
    def size_bytes(self) -> int:
        return self.document.size_bytes

    @property
    def page_count(self) -> int | None:
        return self.document.page_count

    @property
    def created_at(self) -> datetime:
        return self.document.created_at

    @property
    def status(self) -> str:
        """The word for it. What was not read is never "ready" to people, though nothing is left to do."""
        return "kept" if self.document.is_kept else self.document.status.lower()

    @property
    def is_processing(self) -> bool:
        """Whether there is something to wait for."""
        return self.document.status == DocumentStatus.PROCESSING

    @property
    def has_picture(self) -> bool:
        """Whether its first page can be shown as a picture; one that could not be read may be damaged."""
        return self.document.has_text and has_pictures(self.document)

    @property
    def has_result(self) -> bool:
        """Whether a complete result is served, of this run or of an earlier one; a file that is kept has none."""
        return self.document.has_text

    @property
    def stage(self) -> str:
        """The step that is under way, by the names of the checkpoints."""
        if self.is_processing:
            return str(self._checkpoint.get("processing_stage", "pending"))
        return "complete" if self.document.status == DocumentStatus.READY else "failed"

    @property
    def progress(self) -> float:
        """From 0 to 1; what has failed stays where it stopped."""
        if self.document.status == DocumentStatus.READY:
            return 1.0
        return float(self._checkpoint.get("progress", 0.0))

    @property
    def pages(self) -> tuple[int, int] | None:
        """How many pages are read, and of how many, while they are read by windows."""
        return checkpoint.pages(self._checkpoint) if self.is_processing else None

    @property
    def goes_on(self) -> bool:
        """Whether its run goes on where the one before reached its time limit."""
        return self.run is not None and self.run.trigger == RunTrigger.CONTINUED

    @property
    def attempts(self) -> int:
        """How many attempts have failed so far."""
        return self.job.attempts if self.job else 0

    @property
    def steps(self) -> list[StepState]:
        """The whole pipeline with a mark at each step."""
        first = first_stage(self.document.content_type)
        # Stages that both pipelines have say nothing about what came before them.
        steps = way_of(self.job.stage if self.job and self.job.stage != INDEX else first)
        done = {*self._checkpoint.get("completed_stages", ()), self._checkpoint.get("processing_stage")}
        if not {FIND_FIELDS.doing, FIND_FIELDS.done} & done:
            # It is only there where a chat model is asked.
            steps = tuple(step for step in steps if step is not FIND_FIELDS)
        current = next((step.doing for step in steps if step.done not in done), None)
        return [StepState(step.doing, _step_state(step.doing == current, step.done in done)) for step in steps]

    @property
    def failure(self) -> Sentence | None:
        """Why the newest run failed, for a person."""
        return run_failure(self.run) if self.run and not self.is_processing else None

    @property
    def needs_password(self) -> bool:
        """Whether its file is locked, or files in it, and a password is asked for."""
        return needs_password(self.document, self.run)

    @property
    def poll_seconds(self) -> int | None:
        """When to ask again; None when nothing will change by itself."""
        if not self.is_processing:
            return None
        age = (utc_now() - (self.run or self.document).created_at).total_seconds()
        is_waiting = self.job is not None and self.job.status is JobStatus.PENDING
        later = _POLL_SECONDS_WAITING if is_waiting else _POLL_SECONDS_WORKED_ON
        return next((delay for limit, delay in _POLL_SECONDS_NEW if age < limit), later)

    @property
    def started_at(self) -> datetime | None:
        return self.run.started_at if self.run else None

    @property
    def took(self) -> float | None:
        return run_seconds(self.run) if self.run else None

    @property
    def error(self) -> dict[str, str] | None:
        """Why its newest run failed, for programs."""
        if self.failure is None or self.run is None:
            return None
        code = self.run.failure_code or self.run.failure_type or self.run.state
        return {"code": code.lower(), "message": f"{self.failure.title}. {self.failure.explanation}"}

    @property
    def _checkpoint(self) -> dict[str, Any]:
        return dict(self.job.checkpoint) if self.job else {}


def document_views(queue: JobQueue, rows: Sequence[DocumentRow]) -> list[DocumentView]:
    """The views of these rows, with one query for all their jobs, one for their tags, one for their containers where
    there are parts, and one for their stages where a job waits.
    """
    jobs = queue.live_of_runs([row.run.id for row in rows if row.run and _has_progress(row.document)])
    waiting = {job.stage for job in jobs.values() if job.status is JobStatus.PENDING}
    controls = queue.controls() if waiting else {}
    nobodys = untaken_now(waiting) if waiting else set()
    found = [(row, jobs.get(row.run.id) if row.run else None) for row in rows]
    containers = _containers([row.document for row in rows])
    tagged = _tags([row.document for row in rows])
    return [
        DocumentView(
            row.document,
            row.run,
            job,
            _waits_for(job, controls, nobodys),
            containers.get(row.document.parent_id) if row.document.parent_id else None,
            tagged.get(row.document.id, ()),
        )
        for row, job in found
    ]


def _containers(documents: Sequence[Document]) -> dict[UUID, str]:
    """The names of the containers that these documents of one org lie in, by their ids."""
    ids = {document.parent_id for document in documents if document.parent_id is not None}
    if not ids:
        return {}
    with reading(documents[0].org_id):
        return parts.container_names(documents[0].org_id, ids)


def _tags(documents: Sequence[Document]) -> Mapping[UUID, Sequence[ShownTag]]:
    if not documents:
        return {}
    with reading(documents[0].org_id):
        return tags.of_documents(documents[0].org_id, [document.id for document in documents])


def untaken_now(stages: Collection[str]) -> set[str]:
    """Those of these stages that no living worker takes."""
    with reading(everywhere=True):
        return untaken(stages, services().settings.queue.worker_silent_seconds)


def _waits_for(job: JobSnapshot | None, controls: Mapping[str, StageControl], nobodys: Collection[str]) -> str | None:
    if job is None or job.status is not JobStatus.PENDING:
        return None
    paused = [controls[name] for name in (EVERY_STAGE, job.stage) if name in controls and controls[name].is_paused]
    if not paused:
        # Without space the whole stage is paused; without money the job alone waits.
        if job.checkpoint.get(WAITS_FOR) == WaitReason.SPEND_LIMIT:
            return WaitReason.SPEND_LIMIT
        return WORKER if job.stage in nobodys else None
    reason = paused[0].reason
    return reason if reason in {*WaitReason} else PAUSED


def run_failure(run: ProcessingRun) -> Sentence | None:
    """The sentence for a run that did not succeed."""
    if run.state not in {RunState.FAILED, RunState.TIMED_OUT, RunState.CANCELLED}:
        return None
    return failure(run.failure_code, run.failure_type or run.state)


def run_seconds(run: ProcessingRun) -> float | None:
    """How long a run took, once it has ended."""
    if run.started_at is None or run.finished_at is None:
        return None
    return (run.finished_at - run.started_at).total_seconds()


def _has_progress(document: Document) -> bool:
    return document.status != DocumentStatus.READY


def _step_state(is_current: bool, is_done: bool) -> str:
    if is_done:
        return "done"
    return "current" if is_current else "todo"
