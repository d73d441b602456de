"""The JSON that programs get about the bin, and about changes to many documents at once."""

from typing import Annotated, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.documents.states import OperationState
from webapp.library.bulk import BulkAction
from webapp.web.api.document_answers import Cursor, Time


class BinnedDocumentJson(TypedDict):
    """A document in the bin."""

    id: UUID
    filename: str
    content_type: str
    size_bytes: int
    deleted_at: Time
    deleted_by: str | None
    days_left: Annotated[int, Meta(description="For how many days it can be restored.")]


class BinJson(TypedDict):
    """What lies in the bin, the last that was deleted first."""

    documents: list[BinnedDocumentJson]
    count: int
    size_bytes: int
    bin_days: int
    next_cursor: Cursor


class EmptiedJson(TypedDict):
    """How many documents will be deleted for good."""

    deleted: int


class BulkRequestJson(TypedDict):
    """What to do with which documents: either `ids`, or all that match `query` (and `folder` and `status`)."""

    action: BulkAction
    ids: NotRequired[list[UUID]]
    query: NotRequired[str]
    folder: NotRequired[str]
    status: NotRequired[str]
    tags: NotRequired[Annotated[list[str], Meta(description="For the actions tag and untag.")]]
    dry_run: NotRequired[Annotated[bool, Meta(description="Only count the documents; the answer is 200.")]]


class BulkCountJson(TypedDict):
    """How many documents are meant."""

    matched: int
    more: bool


class BulkBegunJson(TypedDict):
    """The operation that was begun, and how many documents it is about."""

    id: UUID
    matched: int


class BulkFailureJson(TypedDict):
    """A document that could not be changed, and why."""

    id: UUID
    filename: str
    reason: str


class BulkResultJson(TypedDict):
    """What became of the documents."""

    failures: list[BulkFailureJson]
    tags: list[str]


class ExportedFileJson(TypedDict):
    """The file of an export that is ready: a ZIP, sent whole or in ranges."""

    url: str
    filename: str
    size_bytes: int
    expires_at: Annotated[Time | None, Meta(description="When it is removed.")]


class BulkOperationJson(TypedDict):
    """A change to many documents, or an export: how far it is, and what failed."""

    id: UUID
    action: str
    state: OperationState
    matched: int
    done: int
    failed: int
    result: BulkResultJson
    file: Annotated[ExportedFileJson | None, Meta(description="Of an export that has succeeded, while it is kept.")]
    undo_of: UUID | None
    may_undo: bool
    may_resume: bool
    requested_by: str | None
    created_at: Time
    finished_at: Time | None


class BriefOperationJson(TypedDict):
    """An operation in the list of the newest ones."""

    id: UUID
    action: str
    created_at: Time


class BulkOperationsJson(TypedDict):
    """The newest operations."""

    operations: list[BriefOperationJson]
