"""The JSON that programs get about fields, tables and what people say of them: one type for each answer."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.library.corrections import Verdict
from webapp.web.api.document_answers import BriefDocumentJson, Polygon, Time

Value = Annotated[str, Meta(min_length=1, max_length=5000)]


class SayingJson(TypedDict):
    """What is said of a value: exactly one of `value`, `absent` and `confirmed`."""

    value: NotRequired[Value]
    absent: NotRequired[Literal[True]]
    confirmed: NotRequired[Literal[True]]
    found: NotRequired[Annotated[str, Meta(description="The value that you saw: 409 where another one was found.")]]


class CorrectionJson(TypedDict):
    """What a person says of a value; `found` is what they saw."""

    id: UUID
    verdict: Verdict
    found: str | None
    by: str | None
    at: Time


class CorrectedFieldJson(TypedDict):
    """A value with a name, such as an invoice number, with what a person says of it."""

    ordinal: Annotated[int | None, Meta(description="Its number, from 0; null where it is no longer found.")]
    name: str
    nth: Annotated[int, Meta(description="How many fields of this name are before it.")]
    value: Annotated[str | None, Meta(description="What holds; null where a person says that there is none.")]
    found: Annotated[str | None, Meta(description="What was found; null where it is no longer found.")]
    confidence: float | None
    page: int | None
    polygon: Polygon
    kind: str | None
    normalized: str | None
    doubt: str | None
    correction: CorrectionJson | None


class FieldsJson(TypedDict):
    """The fields of a document."""

    run_id: UUID | None
    fields: list[CorrectedFieldJson]


class CellJson(TypedDict):
    """A cell's value in a form that programs read: a number with a point, a date as YYYY-MM-DD."""

    row: int
    column: int
    value: Any


class CorrectedCellJson(CorrectionJson):
    """A cell of which a person said something, and its text."""

    row: int
    column: int
    value: str


class TableJson(TypedDict):
    """A table: rows of cells."""

    number: Annotated[int, Meta(description="From 1.")]
    page: int | None
    caption: str | None
    rows: list[Any]
    columns: list[Any] | None
    values: list[CellJson]
    corrections: list[CorrectedCellJson]


class TablesJson(TypedDict):
    """The tables of a document."""

    run_id: UUID | None
    tables: list[TableJson]


class DoubtJson(TypedDict):
    """A field that somebody should check, and what skips it."""

    document: BriefDocumentJson
    field: CorrectedFieldJson
    behind: str


class DoubtsJson(TypedDict):
    """The field that comes next, and how far the queue is worked through."""

    left: Annotated[int, Meta(description="How many fields are left to check, counted up to 1,000.")]
    more: Annotated[bool, Meta(description="Whether there are more.")]
    checked: int
    untouched_share: Annotated[float | None, Meta(description="The share that was right as it was found.")]
    next: DoubtJson | None
