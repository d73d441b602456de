"""The JSON that programs get about saved views, and send."""

from typing import Annotated, NotRequired, TypedDict
from uuid import UUID

from msgspec import Meta

from webapp.library.grid import Sort
from webapp.library.status_filter import StatusFilter


class ViewJson(TypedDict):
    """A saved view: which documents it shows, and in which order."""

    id: UUID
    name: str
    query: str
    folder: str | None
    status: str | None
    sort: Sort
    private: Annotated[bool, Meta(description="Whether only the person who saved it sees it.")]
    mistake: Annotated[str | None, Meta(description="Why its query can't be read any more.")]


class ViewsJson(TypedDict):
    """The saved views in their order."""

    views: list[ViewJson]


class CountedViewJson(ViewJson):
    """A saved view, and how many documents it shows: at least so many where there are `more`."""

    matched: int
    more: bool


class NewViewJson(TypedDict):
    """A view to be saved."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    query: NotRequired[str]
    folder: NotRequired[str | None]
    status: NotRequired[StatusFilter | None]
    sort: NotRequired[Sort | None]


class ViewChangeJson(TypedDict):
    """What is to be changed of a view."""

    name: NotRequired[Annotated[str, Meta(min_length=1, max_length=100)]]
    query: NotRequired[str]
    folder: NotRequired[str | None]
    status: NotRequired[StatusFilter | None]
    sort: NotRequired[Sort | None]
    position: NotRequired[Annotated[int, Meta(ge=1, description="Its place in the list, counted from 1.")]]
