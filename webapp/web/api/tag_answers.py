"""The JSON that programs get about tags."""

from typing import Annotated, TypedDict
from uuid import UUID

from msgspec import Meta


class TagJson(TypedDict):
    """A tag, and how many documents have it or one in it: at least so many where there are `more`."""

    id: UUID
    name: str
    color: Annotated[str | None, Meta(description="blue, yellow, green, brown, red or purple; null is grey.")]
    documents: int
    more: bool


class TagsJson(TypedDict):
    """The tags of the library."""

    tags: list[TagJson]


class ChangedTagJson(TypedDict):
    """A tag, and the renaming, which can be undone by its id; null where the name stayed."""

    tag: TagJson
    change_id: UUID | None


class DeletedTagJson(TypedDict):
    """The deletion, which can be undone by its id."""

    change_id: UUID | None
