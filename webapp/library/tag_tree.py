"""The tags of an org as a tree, with how many documents have each."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Integer, Table, func, literal, literal_column, select, union_all

from webapp.batches import batches
from webapp.db import session
from webapp.db.bounded import Count
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.tag_model import DocumentTag, Tag
from webapp.search.filters import TAG_DIVIDER

_tags, _document_tags = cast(Table, Tag.__table__), cast(Table, DocumentTag.__table__)
_documents = cast(Table, Document.__table__)
LISTED_MAX = 500
TAGGED_MAX = 1_000
"""So many documents of a tag are counted; more of them are said to be more."""
_TAGS_PER_STATEMENT = 100
_ONE: Any = literal_column("1")


@dataclass(frozen=True)
class TagNode:
    """A tag in the tree. `id` is None for one that nothing is given, but that has others in it."""

    name: str
    depth: int
    id: UUID | None = None
    color: str | None = None
    count: Count = field(default_factory=Count)
    """How many documents have it or one in it."""

    @property
    def label(self) -> str:
        """The last part of its name."""
        return self.name.rpartition(TAG_DIVIDER)[2]


def tree(org_id: UUID, q: str = "") -> list[TagNode]:
    """The tags whose names have this in them, each below the one that it lies in: LISTED_MAX of them at most."""
    found = select(_tags).where(_tags.c.org_id == org_id)
    if q:
        found = found.where(_tags.c.word.contains(q.casefold(), autoescape=True))
    rows = sorted(session().execute(found.order_by(_tags.c.word).limit(LISTED_MAX)).all(), key=_place)
    counts = _counts(org_id, rows)
    nodes: list[TagNode] = []
    shown: set[str] = set()
    for row in rows:
        parts = row.name.split(TAG_DIVIDER)
        for depth in range(1, len(parts)):
            name = TAG_DIVIDER.join(parts[:depth])
            if name.casefold() not in shown:
                shown.add(name.casefold())
                nodes.append(TagNode(name, depth - 1))
        shown.add(row.word)
        nodes.append(TagNode(row.name, len(parts) - 1, row.id, row.color, counts[row.id]))
    return nodes


def count(org_id: UUID, tag_ids: Sequence[UUID]) -> Count:
    """How many documents have one of these tags."""
    return _count_of(session().scalar(select(_documents_with(org_id, tag_ids))))


def _place(row: Any) -> list[str]:
    # "a/b" comes right below "a", before "a-z".
    return cast(list[str], row.word.split(TAG_DIVIDER))


def _counts(org_id: UUID, rows: Sequence[Any]) -> dict[UUID, Count]:
    found: dict[UUID, Count] = {}
    for part in batches(enumerate(rows), _TAGS_PER_STATEMENT):
        each = [
            select(literal(place, Integer).label("place"), _documents_with(org_id, _within(row, rows[place:])))
            for place, row in part
        ]
        for place, number in session().execute(union_all(*each)):
            found[rows[place].id] = _count_of(number)
    return found


def _count_of(number: int | None) -> Count:
    return Count(min(number or 0, TAGGED_MAX), (number or 0) > TAGGED_MAX)


def _within(tag: Any, following: Iterable[Any]) -> list[UUID]:
    """The tag and those in it, which follow it."""
    found = []
    for row in following:
        if row.word != tag.word and not row.word.startswith(f"{tag.word}{TAG_DIVIDER}"):
            break
        found.append(row.id)
    return found


def _documents_with(org_id: UUID, tag_ids: Sequence[UUID]) -> Any:
    """How many documents have one of these tags, up to one more than TAGGED_MAX."""
    dt, d = _document_tags.c, _documents.c
    is_listed = select(_ONE).where(d.id == dt.document_id, in_library).correlate(_document_tags).limit(_ONE)
    rows = select(dt.document_id).where(
        dt.org_id == org_id, dt.tag_id.in_(tag_ids), is_listed.scalar_subquery() == _ONE
    )
    # A document may have several of them.
    most = (TAGGED_MAX + 1) * len(tag_ids)
    some = rows.limit(literal_column(str(most))).subquery()
    return select(func.count(some.c.document_id.distinct())).select_from(some).scalar_subquery()
