"""The JSON that programs get about searches and questions: one type for each answer."""

from typing import Annotated, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.web.api.document_answers import Cursor, DocumentJson


class SimilarPassageJson(TypedDict):
    """A passage that says nearly the same as a hit."""

    document_id: UUID
    chunk_id: UUID
    filename: str
    page_from: int | None


class SimilarPassagesJson(TypedDict):
    """The passages that were left out since they say nearly the same."""

    count: int
    passages: list[SimilarPassageJson]


class HitJson(TypedDict):
    """A passage that was found."""

    document_id: UUID
    chunk_id: UUID
    filename: str
    title: str | None
    title_is_guess: bool | None
    text: str
    heading: str | None
    page_from: int | None
    page_to: int | None
    time_from: float | None
    time_to: float | None
    score: float
    similar: SimilarPassagesJson


class FilterChoiceJson(TypedDict):
    """A way to narrow a search; `term` is what to add to `q`."""

    value: str
    term: str
    count: int


class DocumentChoiceJson(TypedDict):
    """A document to narrow a search to, by `document`."""

    document_id: UUID
    filename: str
    count: int


class FiltersJson(TypedDict):
    """Ways to narrow a search, counted over its best hits."""

    counted: int
    kind: NotRequired[list[FilterChoiceJson]]
    tag: NotRequired[list[FilterChoiceJson]]
    year: NotRequired[list[FilterChoiceJson]]
    document: NotRequired[list[DocumentChoiceJson]]


class SearchAnswerJson(TypedDict):
    """What a search found, the best first."""

    q: str
    words_only: Annotated[bool, Meta(description="Whether vectors could not be used.")]
    hits: list[HitJson]
    next_cursor: Cursor
    did_you_mean: str | None
    documents: NotRequired[Annotated[list[DocumentJson], Meta(description="For a query of filters alone.")]]
    filters: NotRequired[FiltersJson]


class SuggestionJson(TypedDict):
    """How a query could go on."""

    term: str
    q: str
    filter: str
    value: str | None


class SuggestionsJson(TypedDict):
    """How a query that is being typed could go on."""

    suggestions: list[SuggestionJson]


class AnswerSentenceJson(TypedDict):
    """A sentence of an answer, and the numbers of its sources."""

    text: str
    sources: list[int]


class AnswerSourceJson(TypedDict):
    """A passage that an answer was made from."""

    number: int
    document_id: UUID
    chunk_id: UUID | None
    filename: str
    title: str | None
    page_from: int | None


class QuestionAnswerJson(TypedDict):
    """The answer to a question, as far as it is written."""

    id: str | None
    state: str
    model: str | None
    sentences: list[AnswerSentenceJson]
    left_out: Annotated[int, Meta(description="Sentences without a source, which are not shown.")]
    sources: list[AnswerSourceJson]
