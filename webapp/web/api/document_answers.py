"""The JSON that programs get about documents: one type for each answer.

/openapi.json is made from these types, and a test checks that the real answers have exactly these members.
"""

from datetime import date, datetime
from typing import Annotated, Any, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.documents.states import DocumentStatus, EventKind, FailureType, RunState, RunTrigger
from webapp.readers.page_reading import Reading
from webapp.search.connections import Kind

Time = Annotated[datetime, Meta(tz=True)]
"""A moment, in UTC."""
Cursor = Annotated[str | None, Meta(description="What to send as `cursor` to get what follows; null at the end.")]
Polygon = Annotated[list[Any] | None, Meta(description="Corners on the page, in the page's own units.")]


class RunJson(TypedDict):
    """One pass over a document."""

    id: UUID
    state: RunState
    trigger: RunTrigger
    failure_type: FailureType | None
    failure_code: str | None
    created_at: Time
    started_at: Time | None
    finished_at: Time | None


class FailureJson(TypedDict):
    """Why a document could not be processed: a word for programs and sentences for people."""

    code: str
    message: str


class DocumentJson(TypedDict):
    """A document and its newest run."""

    id: UUID
    filename: str
    title: str | None
    title_is_guess: bool | None
    kind: str | None
    document_date: date | None
    document_date_from: str | None
    document_date_is_guess: bool | None
    content_type: str
    size_bytes: int
    sha256: str
    parent_id: Annotated[UUID | None, Meta(description="The container (archive, mail) that it lies in.")]
    path_in_parent: str | None
    folder: str | None
    note: str | None
    favourite: bool
    status: DocumentStatus
    page_count: int | None
    pages_read: int | None
    reading: Annotated[Reading | None, Meta(description="How well it was read; null where nothing says so.")]
    kept: Annotated[bool, Meta(description="Whether it is stored although nothing here reads its kind.")]
    needs_password: bool
    language: str | None
    warnings: list[Any]
    has_result: bool
    published_run_id: Annotated[UUID | None, Meta(description="The run whose result is shown.")]
    created_at: Time
    updated_at: Time
    error: FailureJson | None
    run: RunJson | None


class OwnFactJson(TypedDict):
    """What was found where a person says otherwise; who said it, and when."""

    found: str | None
    by: str
    at: Time


class FurtherNameJson(TypedDict):
    """What else a document's file was called where it was uploaded again, and the folder that it lay in."""

    filename: str
    folder: str | None


class WholeDocumentJson(DocumentJson):
    """All about one document."""

    counts: Annotated[dict[str, int], Meta(description="How many fields, tables, chunks, … it has.")]
    searchable_pdf: bool
    tags: list[str]
    further_names: list[FurtherNameJson]
    corrected: Annotated[dict[str, OwnFactJson], Meta(description="What a person says: title, filename, kind, date.")]


class DocumentListJson(TypedDict):
    """Some of the documents, and how many there are of each status."""

    documents: list[DocumentJson]
    next_cursor: Cursor
    counts: Annotated[dict[str, int], Meta(description="Those of the whole library, whatever is asked for.")]
    counts_more: Annotated[list[str], Meta(description="The counts that are larger than the number says.")]


class StatusCountsJson(TypedDict):
    """How many of the documents that a query and a folder mean have each status."""

    counts: dict[str, int]
    counts_more: Annotated[list[str], Meta(description="The counts that are larger than the number says.")]


class PagesJson(TypedDict):
    """How many pages have been read, and how many there are."""

    done: int
    total: int


class StatusJson(TypedDict):
    """How far the processing of a document is."""

    id: UUID
    status: DocumentStatus
    stage: str | None
    progress: Annotated[float, Meta(ge=0, le=1)]
    pages: PagesJson | None
    attempts: int
    waits_for: str | None
    needs_password: bool
    error: FailureJson | None
    run: RunJson | None


class UploadedRunJson(TypedDict):
    """The run that reads an uploaded file."""

    id: UUID
    state: RunState


class UploadedJson(TypedDict):
    """A document that was uploaded; `duplicate_of` names the one that has the same bytes already."""

    id: UUID
    filename: str
    folder: str | None
    content_type: str
    size_bytes: int
    sha256: str
    status: DocumentStatus
    created_at: Time
    duplicate_of: UUID | None
    restored: Annotated[bool, Meta(description="Whether the same file was in the bin and is in the library again.")]
    run: UploadedRunJson


class RejectedFileJson(TypedDict):
    """A file that was not stored, and why."""

    filename: str
    status: int
    reason: str
    title: str
    detail: str


class UploadJson(TypedDict):
    """What became of each file."""

    documents: list[UploadedJson]
    rejected: list[RejectedFileJson]


class PassageJson(TypedDict):
    """A piece of a document's text, as it is found and shown."""

    id: UUID
    ordinal: int
    text: str
    heading: str | None
    page_from: int | None
    page_to: int | None


class ChunkJson(PassageJson):
    """A passage with its times in a recording and the model of its vector."""

    time_from: float | None
    time_to: float | None
    embedding_model: str | None


class ChunksJson(TypedDict):
    """Some of a document's passages."""

    run_id: UUID | None
    chunks: list[ChunkJson]
    next_start: int | None
    next_cursor: Cursor


class PageReadingJson(TypedDict):
    """How well a page was read."""

    number: int
    reading: Reading
    reason: str | None
    by_ocr: bool
    sure_share: float | None


class PageReadingsJson(TypedDict):
    """Some of a document's pages."""

    run_id: UUID | None
    pages: list[PageReadingJson]
    next_cursor: Cursor


class PageMarksJson(TypedDict):
    """Where a passage is on a page: boxes as [x, y, width, height], in the units of `size`."""

    number: int
    size: Annotated[list[float] | None, Meta(description="[width, height]")]
    marks: list[list[float]]


class SectionMarksJson(TypedDict):
    """Where the things of a section are on a page: boxes by their keys, in the units of `size`."""

    number: int
    run_id: UUID | None
    size: Annotated[list[float] | None, Meta(description="[width, height]; null where no places are known.")]
    marks: dict[str, list[list[float]]]


class HeadingJson(TypedDict):
    """A heading; `page` is null where the format has no pages."""

    level: int
    title: str
    page: int | None


class OutlineJson(TypedDict):
    """The headings of a document, in the order of its text."""

    run_id: UUID | None
    headings: list[HeadingJson]


class PartsJson(TypedDict):
    """Some of the files that lie in a document."""

    run_id: UUID | None
    parts: list[DocumentJson]
    next_cursor: Cursor


class EventJson(TypedDict):
    """Something that happened in a run."""

    at: Time
    kind: EventKind
    step: str | None
    details: dict[str, Any] | None


class RunWithEventsJson(RunJson):
    """A run and what happened in it."""

    events: list[EventJson]


class RunsJson(TypedDict):
    """All runs of a document, the newest first."""

    run_id: UUID | None
    runs: list[RunWithEventsJson]


class BriefDocumentJson(TypedDict):
    """What names a document."""

    id: UUID
    filename: str
    title: str | None
    title_is_guess: bool | None


class OtherPassageJson(PassageJson):
    """A passage of another document."""

    document: BriefDocumentJson


class ConnectionJson(TypedDict):
    """A passage of this document and one of another that say the same or hold the same value."""

    kind: Kind
    score: float
    values: list[str]
    chunk: PassageJson
    other: OtherPassageJson


class ConnectedDocumentJson(BriefDocumentJson):
    """A document with connections to this one."""

    connections: int
    score: float


class ConnectionsJson(TypedDict):
    """Some of a document's connections."""

    run_id: UUID | None
    connections: list[ConnectionJson]
    documents: list[ConnectedDocumentJson]
    total: int
    kinds: dict[Kind, int]
    looking: Annotated[bool, Meta(description="Whether connections are still being looked for.")]
    next_start: int | None
    next_cursor: Cursor


class SegmentJson(TypedDict):
    """Something that was said, and when, in seconds."""

    start: float
    end: float
    speaker: str | None
    text: str


class PointJson(TypedDict):
    """A line of the notes, and the number of the segment that it is from."""

    text: str
    segment: int | None


class TranscriptJson(TypedDict):
    """What was said in a recording, and the notes about it."""

    duration_seconds: float | None
    channels: int
    language: str | None
    segments: list[SegmentJson]
    analyst: str
    summary: str
    topics: list[str]
    action_items: list[PointJson]
    questions: list[PointJson]
    promises: list[PointJson]


class FieldColumnJson(TypedDict):
    """A field that documents have, and how many of them."""

    key: str
    name: str
    documents: int


class FieldTableRowJson(TypedDict):
    """A document and its fields by key."""

    id: UUID
    filename: str
    fields: dict[str, Any]


class FieldTableJson(TypedDict):
    """The fields of many documents."""

    columns: list[FieldColumnJson]
    documents: list[FieldTableRowJson]
    is_cut: Annotated[bool, Meta(description="Whether more documents match than are listed.")]


class QueuedJson(TypedDict):
    """How many runs were queued."""

    queued: int
    more: Annotated[bool, Meta(description="Whether more documents match: send the request again.")]
