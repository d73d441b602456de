"""Choosing documents by what they are: how many match, and which, a page of ids at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Table, func, literal_column, select

from webapp.db import session
from webapp.db.bounded import COUNTED_MAX, Count, plan_by_indexes, up_to_most
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.library import filtered, folders, lookup, names, tags
from webapp.library.filtered import Wish
from webapp.library.status_filter import StatusFilter, listed_as

_documents = cast(Table, Document.__table__)

# So many that have a word are looked at, where their number is asked for.
NAMED_MAX = 5_000


@dataclass(frozen=True)
class Matching:
    """Which documents are meant: all that fulfil everything that is said here."""

    status: StatusFilter | None = None
    q: str = ""
    folder: str | None = None
    model_not: str | None = None
    """Their vectors are of another model than this."""


def ids(org_id: UUID, wanted: Matching, *, after: UUID | None = None, limit: int = 200) -> list[UUID]:
    """The documents that are meant, the oldest first; `after` is the last id of those before."""
    plan_by_indexes()
    wish = filtered.wish(org_id, wanted.q)
    if wish.is_nothing:
        return []
    words = wish.words
    id_ = _few(org_id, wanted, wish)
    if id_ is None:
        # Most of them are meant, or at least one in some hundred: they are met soon.
        id_ = _documents.c.id
        found = select(id_).where(*_of_org(org_id, wanted, _other_models(org_id, wanted)), *wish.conditions)
    else:
        found = select(id_).where(_is_meant(id_, org_id, wanted), *filtered.fulfils(id_, wish.conditions))
    # Asked for one document at a time: they are those of the rarest word, or of the walk.
    found = found.where(*names.has_all(org_id, id_, words))
    if after is not None:
        found = found.where(id_ > after)
    return list(session().scalars(found.order_by(id_).limit(limit)))


def _few(org_id: UUID, wanted: Matching, wish: Wish) -> ColumnElement[UUID] | None:
    """Where few have one of the words, the tag, or this status: the ids of these."""
    words, tag = wish.words, wish.tag
    rarest = names.rarest(org_id, words, COUNTED_MAX) if words else None
    if rarest is not None and rarest.is_few:
        return names.having(org_id, rarest.word, COUNTED_MAX).c.document_id
    if tag is not None and tags.are_few(org_id, tag, COUNTED_MAX):
        return tags.having(org_id, tag, COUNTED_MAX).c.document_id
    if wanted.folder is not None and folders.are_few(org_id, wanted.folder, COUNTED_MAX):
        return folders.having(org_id, wanted.folder, COUNTED_MAX).c.document_id
    if wanted.status is None:
        return None
    of_status = select(_documents.c.id).where(_documents.c.org_id == org_id, listed_as(wanted.status))
    if Count.of(session().scalar(select(up_to_most(of_status)))).more:
        return None
    # Or a planner might walk all documents by their ids, and look for these few among them.
    ids_of_status: ColumnElement[UUID] = of_status.cte("of_status").prefix_with("MATERIALIZED").c.id
    return ids_of_status


def is_meant(org_id: UUID, document_id: UUID, wanted: Matching) -> bool:
    """Whether this document is among those that are meant."""
    wish = filtered.wish(org_id, wanted.q)
    if wish.is_nothing:
        return False
    id_ = _documents.c.id
    of_org = _of_org(org_id, wanted, _other_models(org_id, wanted))
    found = select(id_).where(id_ == document_id, *of_org, *wish.conditions, *names.has_all(org_id, id_, wish.words))
    return session().scalar(found) is not None


def count(org_id: UUID, wanted: Matching, *, looked_at: int | None = None) -> Count:
    """How many documents are meant; with `looked_at`, as far as so many were looked at, where no index answers it."""
    plan_by_indexes()
    wish = filtered.wish(org_id, wanted.q)
    if wish.is_nothing:
        return Count()
    if not wish.words:
        models = _other_models(org_id, wanted)
        if models is not None and not models:
            return Count()
        if wish.tag and tags.are_few(org_id, wish.tag, COUNTED_MAX):
            id_ = tags.having(org_id, wish.tag, COUNTED_MAX).c.document_id
            matching = select(id_).where(_is_meant(id_, org_id, wanted), *filtered.fulfils(id_, wish.conditions))
            return Count(session().scalar(select(func.count()).select_from(matching.subquery())) or 0)
        of_org = select(Document.id).where(*_of_org(org_id, wanted, models))
        if looked_at is not None and wish.conditions:
            return _count_among(of_org, wish, looked_at)
        matching = of_org.where(*wish.conditions)
        return Count.of(session().scalar(select(up_to_most(matching))))
    return _count_named(org_id, wanted, wish)


def _count_among(of_org: Select[Any], wish: Wish, looked_at: int) -> Count:
    """Of the newest documents, looked at one by one."""
    newest = of_org.order_by(_documents.c.id.desc()).limit(literal_column(str(looked_at + 1))).subquery()
    looked = select(newest.c.id).limit(literal_column(str(looked_at))).subquery()
    matching = select(looked.c.id).select_from(looked).where(*filtered.fulfils(looked.c.id, wish.conditions))
    there = select(func.count()).select_from(newest).scalar_subquery()
    number, known = session().execute(select(up_to_most(matching), there)).one()
    found = Count.of(number)
    return Count(found.number, found.more or known > looked_at)


def _count_named(org_id: UUID, wanted: Matching, wish: Wish) -> Count:
    """Of those that have the rarest word, as far as they are looked at."""
    words = wish.words
    rarest = names.rarest(org_id, words, NAMED_MAX)
    having = names.having(org_id, rarest.word, NAMED_MAX)
    others = [word for word in words if word != rarest.word]
    matching = select(having.c.document_id).where(*names.has_all(org_id, having.c.document_id, others))
    matching = matching.where(*filtered.fulfils(having.c.document_id, wish.conditions))
    if wanted.status is not None or wanted.model_not is not None or wanted.folder is not None:
        matching = matching.where(_is_meant(having.c.document_id, org_id, wanted))
    number = session().scalar(select(func.count()).select_from(matching.subquery()))
    return Count(number or 0, more=not rarest.is_few)


def _is_meant(id_: ColumnElement[UUID], org_id: UUID, wanted: Matching) -> ColumnElement[bool]:
    """Whether a document is meant, whatever its name. A value: a join may be turned around, and read all documents."""
    of_org = _of_org(org_id, wanted, _other_models(org_id, wanted))
    found: Select[Any] = select(literal_column("1")).where(Document.id == id_, *of_org).limit(literal_column("1"))
    return found.scalar_subquery() == literal_column("1")


def _of_org(org_id: UUID, wanted: Matching, models: Sequence[str] | None) -> list[ColumnElement[bool]]:
    conditions: list[ColumnElement[bool]] = [Document.org_id == org_id, in_library]
    if wanted.status is not None:
        conditions.append(listed_as(wanted.status))
    if wanted.folder is not None:
        conditions.append(folders.is_within(wanted.folder))
    if models is not None:
        conditions.append(Document.embedding_model.in_(models))
    return conditions


def _other_models(org_id: UUID, wanted: Matching) -> list[str] | None:
    if wanted.model_not is None:
        return None
    return [model for model in lookup.embedding_models(org_id) if model != wanted.model_not]
