"""The library: what an org has, one page of it at a time, and all that is known of one document."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, func, literal, or_, select, tuple_
from sqlalchemy import delete as delete_rows
from sqlalchemy.orm import InstrumentedAttribute, aliased

from webapp.db import session
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable, ProcessingRun
from webapp.documents.states import DocumentStatus


class Sort(StrEnum):
    """The orders in which the grid can be read."""

    NEWEST = "newest"
    OLDEST = "oldest"
    NAME = "name"
    LARGEST = "largest"


@dataclass(frozen=True)
class Row:
    """A document and its newest run, from which its status follows."""

    document: Document
    run: ProcessingRun | None


class NoCursor(ValueError):
    """A text that no page of this library ended with."""


@dataclass(frozen=True)
class Cursor:
    """A place between two rows of an order. It holds although the row before it was deleted meanwhile."""

    sort: Sort
    value: str
    id: UUID

    def __str__(self) -> str:
        """As it travels in addresses."""
        return urlsafe_b64encode(json.dumps([self.sort, self.value, self.id.hex]).encode()).decode().rstrip("=")

    @classmethod
    def parse(cls, text: str) -> "Cursor":
        """Read what `str` wrote; NoCursor for anything else."""
        try:
            sort, value, id_ = json.loads(urlsafe_b64decode(text + "=" * (-len(text) % 4)))
            found = cls(Sort(sort), value, UUID(id_))
            found.position()
        except (ValueError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise NoCursor from error
        return found

    @classmethod
    def after(cls, sort: Sort, document: Document) -> "Cursor":
        """The place behind a row."""
        value = getattr(document, _ORDERS[sort][0].key)
        return cls(sort, value.isoformat() if isinstance(value, datetime) else str(value), document.id)

    def position(self) -> Any:
        """The row's value in the column that is sorted by; ValueError where no row can have it."""
        return _READ[self.sort](self.value)


@dataclass(frozen=True)
class Page:
    """Some rows, and the cursor that asks for those after them; None on the last page."""

    rows: Sequence[Row]
    next_cursor: Cursor | None


@dataclass(frozen=True)
class Matching:
    """Which documents are meant: all that fulfil everything that is said here."""

    status: DocumentStatus | None = None
    q: str = ""
    model_not: str | None = None
    """Their vectors are of another model than this."""


def get(org_id: UUID, document_id: UUID) -> Document | None:
    """One document of this org, as it stands in this transaction."""
    found = select(Document).where(Document.org_id == org_id, Document.id == document_id)
    return session().scalar(found.execution_options(populate_existing=True))


def content_type(org_id: UUID, document_id: UUID) -> str:
    """What kind of file a document is; the empty text where there is none."""
    found = select(Document.content_type).where(Document.org_id == org_id, Document.id == document_id)
    return session().scalar(found) or ""


def get_row(org_id: UUID, document_id: UUID) -> Row | None:
    """One document of this org with its newest run."""
    document = get(org_id, document_id)
    return _with_runs([document])[0] if document else None


def find_by_content(org_id: UUID, sha256: str) -> Document | None:
    """The document that these bytes are already, if somebody of this org has uploaded them."""
    return session().scalar(select(Document).where(Document.org_id == org_id, Document.sha256 == sha256))


def page(
    org_id: UUID,
    *,
    status: DocumentStatus | None = None,
    q: str = "",
    sort: Sort = Sort.NEWEST,
    cursor: Cursor | None = None,
    limit: int = 50,
) -> Page:
    """A page of the grid: two queries, however many rows. `cursor` is that of the page before, in the same order."""
    documents = select(Document).where(*_conditions(org_id, Matching(status, q)))
    documents = _in_order(documents, sort, cursor)
    found = list(session().scalars(documents.limit(limit + 1).execution_options(populate_existing=True)))
    shown = found[:limit]
    return Page(_with_runs(shown), Cursor.after(sort, shown[-1]) if len(found) > limit else None)


def matching(org_id: UUID, wanted: Matching, *, after: UUID | None = None, limit: int = 200) -> list[UUID]:
    """The documents that are meant, the oldest first; `after` is the last id of those before."""
    ids = select(Document.id).where(*_conditions(org_id, wanted))
    if after is not None:
        ids = ids.where(Document.id > after)
    return list(session().scalars(ids.order_by(Document.id).limit(limit)))


def count_matching(org_id: UUID, wanted: Matching) -> int:
    """How many documents are meant."""
    return session().scalar(select(func.count()).select_from(Document).where(*_conditions(org_id, wanted))) or 0


def embedding_models(org_id: UUID) -> list[str]:
    """The models whose vectors an org's documents have: one, but while they are being changed."""
    models = select(Document.embedding_model).where(Document.org_id == org_id, Document.embedding_model.is_not(None))
    return sorted(model for model in session().scalars(models.distinct()) if model)


def counts(org_id: UUID) -> dict[DocumentStatus, int]:
    """How many documents of an org stand in each status."""
    grouped = select(Document.status, func.count()).where(Document.org_id == org_id).group_by(Document.status)
    found = {DocumentStatus(status): number for status, number in session().execute(grouped)}
    return {status: found.get(status, 0) for status in DocumentStatus}


def part_counts(org_id: UUID, document_id: UUID) -> dict[str, int]:
    """How many fields, tables and runs a document has, in one query."""
    kinds: dict[str, type[Any]] = {"fields": DocumentField, "tables": DocumentTable, "runs": ProcessingRun}
    counted = [
        select(func.count()).where(kind.org_id == org_id, kind.document_id == document_id).scalar_subquery()
        for kind in kinds.values()
    ]
    return dict(zip(kinds, session().execute(select(*counted)).one(), strict=True))


def published_run(org_id: UUID, document_id: UUID) -> ProcessingRun | None:
    """The run whose result readers see."""
    published = select(Document.published_run_id).where(Document.org_id == org_id, Document.id == document_id)
    found = select(ProcessingRun).where(ProcessingRun.org_id == org_id, ProcessingRun.id == published.scalar_subquery())
    return session().scalar(found.execution_options(populate_existing=True))


def fields(org_id: UUID, document_id: UUID) -> Sequence[DocumentField]:
    """The values that were read from a document, in its order."""
    return _parts(DocumentField, org_id, document_id, DocumentField.ordinal)


def tables(org_id: UUID, document_id: UUID) -> Sequence[DocumentTable]:
    """The tables that were read from a document, in its order."""
    return _parts(DocumentTable, org_id, document_id, DocumentTable.ordinal)


def artifacts(org_id: UUID, document_id: UUID) -> Sequence[Artifact]:
    """The blobs that processing a document has made."""
    return _parts(Artifact, org_id, document_id, Artifact.kind)


def artifact(org_id: UUID, document_id: UUID, kind: str) -> Artifact | None:
    """One of those blobs."""
    found = select(Artifact).where(
        Artifact.org_id == org_id, Artifact.document_id == document_id, Artifact.kind == kind
    )
    return session().scalar(found)


def runs(org_id: UUID, document_id: UUID) -> Sequence[ProcessingRun]:
    """The history of a document, newest first."""
    history = select(ProcessingRun).where(ProcessingRun.org_id == org_id, ProcessingRun.document_id == document_id)
    history = history.order_by(ProcessingRun.created_at.desc(), ProcessingRun.id.desc())
    return session().scalars(history.execution_options(populate_existing=True)).all()


def delete(org_id: UUID, document_id: UUID) -> list[str] | None:
    """Remove a document and everything about it; the folders of blobs to remove after the commit.

    None where there is no such document. Go through `webapp.pipeline.lifecycle.delete_document`,
    which stops its jobs first.
    """
    gone = delete_rows(Document).where(Document.org_id == org_id, Document.id == document_id)
    row = session().execute(gone.returning(Document.sha256).execution_options(synchronize_session=False)).one_or_none()
    return None if row is None else blob_folders(org_id, document_id, row.sha256)


def blob_folders(org_id: UUID, document_id: UUID, sha256: str) -> list[str]:
    """Where the blobs of a document lie: its own, and what was read out of its bytes."""
    return [f"{org_id}/documents/{document_id}/", f"{org_id}/extractions/{sha256}/"]


def known_blob_owners(org_id: UUID, document_ids: set[UUID], hashes: set[str]) -> set[str]:
    """Of these documents and contents those that exist, as text: blobs of all others are orphans."""
    ids = select(Document.id).where(Document.org_id == org_id, Document.id.in_(document_ids))
    contents = select(Document.sha256).where(Document.org_id == org_id, Document.sha256.in_(hashes))
    return {str(found) for found in session().scalars(ids)} | set(session().scalars(contents))


def blob_paths(org_id: UUID, ids: Sequence[UUID]) -> dict[UUID, list[str]]:
    """The blobs that documents need: the uploaded file, and what readers of the last result are served."""
    originals = select(Document.id, Document.blob_path).where(Document.org_id == org_id, Document.id.in_(ids))
    served = select(Artifact.document_id, Artifact.path).where(Artifact.org_id == org_id, Artifact.document_id.in_(ids))
    paths: dict[UUID, list[str]] = {}
    for document_id, path in [*session().execute(originals), *session().execute(served)]:
        paths.setdefault(document_id, []).append(path)
    return paths


def _conditions(org_id: UUID, wanted: Matching) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [Document.org_id == org_id]
    if wanted.status is not None:
        conditions.append(Document.status == wanted.status)
    if wanted.q.strip():
        conditions.append(_named_like(wanted.q.strip()))
    if wanted.model_not is not None:
        conditions.append(Document.embedding_model != wanted.model_not)
    return conditions


def _named_like(q: str) -> ColumnElement[bool]:
    words = q.lower()
    names = (Document.filename, Document.title)
    return or_(*(func.lower(name).contains(words, autoescape=True) for name in names))


def _in_order(documents: Select[Document], sort: Sort, cursor: Cursor | None) -> Select[Document]:
    """Order, and go on after the cursor. The id, unique, makes every order total."""
    column, falls = _ORDERS[sort]
    if cursor is not None:
        position = tuple_(column, Document.id)
        passed = tuple_(literal(cursor.position(), column.type), literal(cursor.id, Document.id.type))
        documents = documents.where(position < passed if falls else position > passed)
    if falls:
        return documents.order_by(column.desc(), Document.id.desc())
    return documents.order_by(column, Document.id)


_ORDERS: dict[Sort, tuple[InstrumentedAttribute[Any], bool]] = {
    Sort.NEWEST: (Document.created_at, True),
    Sort.OLDEST: (Document.created_at, False),
    Sort.NAME: (Document.filename, False),
    Sort.LARGEST: (Document.size_bytes, True),
}


def _moment(value: str) -> datetime:
    return datetime.fromisoformat(value).astimezone(UTC)


def _name(value: str) -> str:
    # What cannot be stored cannot be compared with either.
    if "\0" in value or not value.encode():
        raise ValueError("no name of a file")
    return value


def _size(value: str) -> int:
    size = int(value)
    if not 0 <= size < _SIZE_END:
        raise ValueError("no size of a file")
    return size


_SIZE_END = 1 << 63
_READ: dict[Sort, Callable[[str], Any]] = {
    Sort.NEWEST: _moment,
    Sort.OLDEST: _moment,
    Sort.NAME: _name,
    Sort.LARGEST: _size,
}


def _with_runs(documents: Sequence[Document]) -> list[Row]:
    """The newest run of each, in one query."""
    other = aliased(ProcessingRun)
    newest = select(other.id).where(other.document_id == Document.id).correlate(Document)
    newest = newest.order_by(other.created_at.desc(), other.id.desc()).limit(1)
    wanted = select(ProcessingRun).join(Document, ProcessingRun.id == newest.scalar_subquery())
    wanted = wanted.where(Document.id.in_([document.id for document in documents]))
    found = session().scalars(wanted.execution_options(populate_existing=True)) if documents else ()
    by_document = {run.document_id: run for run in found}
    return [Row(document, by_document.get(document.id)) for document in documents]


def _parts(kind: type[Any], org_id: UUID, document_id: UUID, order: InstrumentedAttribute[Any]) -> Sequence[Any]:
    parts = select(kind).where(kind.org_id == org_id, kind.document_id == document_id).order_by(order)
    return session().scalars(parts).all()
