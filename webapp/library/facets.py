"""What the documents of found passages are: for the heads of the hits, and for filters with counts beside them."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from uuid import UUID

from sqlalchemy import func, select

from webapp.batches import batches
from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.tag_model import DocumentTag, Tag
from webapp.readers.filetypes import filetype
from webapp.search.model import Chunk

PASSAGES_MAX = 1_000
VALUES_MAX = 8
_IDS_PER_STATEMENT = 500


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """What the head of a document's hits shows of it."""

    id: UUID
    filename: str
    title: str | None
    kind: str | None
    date: date
    date_is_upload: bool

    @property
    def name(self) -> str:
        """What people call it."""
        return self.title or self.filename


@dataclass(frozen=True)
class Facets:
    """How many of the passages that were counted are of each kind, tag, year and document; the most frequent first."""

    counted: int
    kinds: Sequence[tuple[str, int]] = ()
    tags: Sequence[tuple[str, int]] = ()
    years: Sequence[tuple[int, int]] = ()
    documents: Sequence[tuple[FoundDocument, int]] = field(default=())


def documents(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, FoundDocument]:
    """These documents of an org, by their ids; those that are gone are left out."""
    columns: Any = select(
        Document.id,
        Document.filename,
        Document.title,
        Document.title_is_guess,
        Document.kind,
        Document.content_type,
        Document.document_date,
        Document.created_at,
    )
    found = {}
    for part in batches(ids, _IDS_PER_STATEMENT):
        for row in session().execute(columns.where(Document.org_id == org_id, Document.id.in_(part), in_library)):
            found[row.id] = FoundDocument(
                row.id,
                row.filename,
                None if row.title_is_guess else row.title,
                # Documents of earlier versions have no kind yet.
                row.kind or filetype(row.content_type).family,
                row.document_date or row.created_at.date(),
                row.document_date is None,
            )
    return found


def count(org_id: UUID, passages: Sequence[UUID]) -> Facets:
    """Count the best passages, PASSAGES_MAX of them at most, by what their documents are."""
    numbers = _passages_of_documents(org_id, passages[:PASSAGES_MAX])
    found = documents(org_id, numbers.keys())
    kinds: Counter[str] = Counter()
    years: Counter[int] = Counter()
    for document in found.values():
        if document.kind:
            kinds[document.kind] += numbers[document.id]
        years[document.date.year] += numbers[document.id]
    return Facets(
        counted=sum(numbers[document_id] for document_id in found),
        kinds=_most(kinds),
        tags=_most(_tags(org_id, numbers)),
        years=sorted(_most(years), reverse=True),
        documents=[(found[id_], number) for id_, number in _most(numbers) if id_ in found],
    )


def _passages_of_documents(org_id: UUID, passages: Sequence[UUID]) -> Counter[UUID]:
    numbers: Counter[UUID] = Counter()
    of_documents = select(Chunk.document_id, func.count()).where(Chunk.org_id == org_id).group_by(Chunk.document_id)
    for part in batches(passages, _IDS_PER_STATEMENT):
        for document_id, number in session().execute(of_documents.where(Chunk.id.in_(part))):
            numbers[document_id] += number
    return numbers


def _tags(org_id: UUID, numbers: Mapping[UUID, int]) -> Counter[str]:
    found: Counter[str] = Counter()
    tagged = select(Tag.name, DocumentTag.document_id).join(
        DocumentTag, (DocumentTag.org_id == Tag.org_id) & (DocumentTag.tag_id == Tag.id)
    )
    for part in batches(numbers, _IDS_PER_STATEMENT):
        rows = tagged.where(DocumentTag.org_id == org_id, DocumentTag.document_id.in_(part))
        for name, document_id in session().execute(rows):
            found[name] += numbers[document_id]
    return found


def _most(numbers: Counter[Any]) -> list[tuple[Any, int]]:
    """The most frequent ones; equals in a fixed order."""
    ordered: Iterable[tuple[Any, int]] = sorted(numbers.items(), key=lambda each: (-each[1], str(each[0])))
    return list(ordered)[:VALUES_MAX]
