"""How many documents one batch takes: containers bring all that lies in them, so a few may be as much as hundreds."""

from collections.abc import Sequence
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Table, func, select

from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document

_documents = cast(Table, Document.__table__)
DOCUMENTS_MAX = 500


def of_library(org_id: UUID, ids: Sequence[UUID]) -> Sequence[UUID]:
    """The first of these documents, one at least: with their parts as many as one transaction changes."""
    part = _documents.alias("part").c
    has_parts = select(part.id).where(part.parent_id == _documents.c.id).exists()
    return _bounded(org_id, ids, has_parts, _below)


def of_bin(org_id: UUID, ids: Sequence[UUID]) -> Sequence[UUID]:
    """The same of documents in the bin, with all that was deleted with them."""
    part = _documents.alias("part").c
    lies_with_it = part.org_id == org_id, part.deleted_with == _documents.c.id, part.deleted_at.is_not(None)
    has_parts = select(part.id).where(*lies_with_it, part.id != _documents.c.id).exists()
    return _bounded(org_id, ids, has_parts, _deleted_with)


def is_large(org_id: UUID, document_id: UUID) -> bool:
    """Whether a document of the library has more parts than one transaction changes."""
    return _number(_below(org_id, document_id)) >= DOCUMENTS_MAX


def is_large_in_bin(org_id: UUID, document_id: UUID) -> bool:
    """Whether more was deleted with a document in the bin than one transaction changes, itself included."""
    return _number(_deleted_with(org_id, document_id)) > DOCUMENTS_MAX


def _number(documents: Select[Any]) -> int:
    some = documents.limit(DOCUMENTS_MAX + 1).subquery()
    return session().scalar(select(func.count()).select_from(some)) or 0


def _bounded(org_id: UUID, ids: Sequence[UUID], has_parts: ColumnElement[bool], parts: Any) -> Sequence[UUID]:
    d = _documents.c
    containers = set(session().scalars(select(d.id).where(d.org_id == org_id, d.id.in_(ids), has_parts)))
    number = 0
    for place, each in enumerate(ids):
        number += 1
        if each in containers:
            some = parts(org_id, each).limit(DOCUMENTS_MAX).subquery()
            number += session().scalar(select(func.count()).select_from(some)) or 0
        if number > DOCUMENTS_MAX and place:
            return ids[:place]
    return ids


def _below(_: UUID, document_id: UUID) -> Select[Any]:
    outer = select(_documents.c.id).where(_documents.c.parent_id == document_id, in_library)
    below = outer.cte("below", recursive=True)
    inner = _documents.alias("inner").c
    return select(below.union_all(select(inner.id).where(inner.parent_id == below.c.id)).c.id)


def _deleted_with(org_id: UUID, document_id: UUID) -> Select[Any]:
    d = _documents.c
    return select(d.id).where(d.org_id == org_id, d.deleted_with == document_id, d.deleted_at.is_not(None))
