"""The JSON that programs get about sources, and send."""

from typing import Annotated, Literal, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.web.api.document_answers import Cursor, Time

ItemState = Literal["waiting", "taken", "skipped", "failed"]


class SourceJson(TypedDict):
    """A folder or a mailbox that is polled for new documents."""

    id: UUID
    name: str
    kind: str
    path: NotRequired[str]
    host: NotRequired[str]
    port: NotRequired[int]
    security: NotRequired[str]
    username: NotRequired[str]
    mailbox: NotRequired[str]
    move_to: NotRequired[str]
    after_taking: Annotated[str, Meta(description="What becomes of what was taken: leave, move, delete, seen.")]
    interval_seconds: int
    on: bool
    last_poll_at: Time | None
    next_poll_at: Time | None
    error: Annotated[str | None, Meta(description="Why its last poll ended early.")]
    error_detail: str | None
    counts: Annotated[dict[str, int], Meta(description="Items by state, and how many were taken today, UTC.")]
    counts_more: Annotated[list[str], Meta(description="Which of these are more than was counted.")]


class SourcesJson(TypedDict):
    """The sources, by their names."""

    sources: list[SourceJson]


class SourceItemJson(TypedDict):
    """A file or a message that a source has shown, and what became of it."""

    id: UUID
    name: str
    size_bytes: int | None
    state: ItemState
    reason: str | None
    reason_detail: str | None
    document_id: UUID | None
    tries: int
    seen_at: Time
    ended_at: Time | None
    next_try_at: Time | None


class SourceLedgerJson(SourceJson):
    """A source with its items, what was seen last first."""

    items: list[SourceItemJson]
    next_cursor: Cursor


class SourceExampleJson(TypedDict):
    """Something that a poll would see; `skip` is why it would not be taken."""

    name: str
    size_bytes: int | None
    skip: str | None


class SourceTrialJson(TypedDict):
    """What a poll would see now: of the first 1,000 items, how many would be taken and how many skipped."""

    taken: int
    skipped: int
    more: bool
    examples: list[SourceExampleJson]
    error: str | None
    error_detail: str | None


class NewSourceJson(TypedDict):
    """A source to be made."""

    kind: Literal["folder", "imap", "maildir"]
    name: Annotated[str, Meta(min_length=1, max_length=100)]
    path: NotRequired[Annotated[str, Meta(description="Of a folder or a Maildir.")]]
    host: NotRequired[Annotated[str, Meta(description="Of a mailbox, as all that follows up to move_to.")]]
    port: NotRequired[int]
    security: NotRequired[Literal["tls", "starttls", "plain"]]
    username: NotRequired[str]
    password: NotRequired[Annotated[str, Meta(description="It is stored sealed, and never shown.")]]
    mailbox: NotRequired[str]
    move_to: NotRequired[str]
    after_taking: NotRequired[str]
    interval_seconds: NotRequired[Annotated[int, Meta(ge=10, le=86_400)]]
    on: NotRequired[bool]


class SourceChangeJson(TypedDict):
    """What is to be changed of a source."""

    name: NotRequired[Annotated[str, Meta(min_length=1, max_length=100)]]
    path: NotRequired[str]
    host: NotRequired[str]
    port: NotRequired[int]
    security: NotRequired[Literal["tls", "starttls", "plain"]]
    username: NotRequired[str]
    password: NotRequired[str]
    mailbox: NotRequired[str]
    move_to: NotRequired[str]
    after_taking: NotRequired[str]
    interval_seconds: NotRequired[Annotated[int, Meta(ge=10, le=86_400)]]
    on: NotRequired[bool]
