"""Which documents a query means: by their names, titles and properties, as conditions on documents.

The words of a query are beginnings of words of names and titles, which the index of names finds; all else is asked of
each document that is looked at.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, false, func, literal_column, not_, or_, select

from webapp.batches import batches
from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.correction_model import Correction
from webapp.documents.model import Document
from webapp.documents.tag_model import DocumentTag
from webapp.library import names, tags
from webapp.library.status_filter import StatusFilter, listed_as
from webapp.readers.filetypes import FILE_TYPES
from webapp.search import filters
from webapp.search.filters import FilterName
from webapp.search.grammar import Filter, Mistake, MistakeCode, ParsedQuery, Phrase, Term, TermGroup, parse

_documents = cast(Table, Document.__table__)
Conditions = Sequence[ColumnElement[bool]]
_ONE: ColumnElement[int] = literal_column("1")
_IDS_PER_STATEMENT = 500


@dataclass(frozen=True)
class Wish:
    """A query as the library asks it: words that all names must have, and conditions."""

    words: Sequence[str] = ()
    conditions: Conditions = ()
    tag: str | None = None
    """A tag that all must have, as it is compared; it is among the conditions, too."""
    is_nothing: bool = False
    """Something was typed in which there is no letter or digit: no document has it."""


def wish(org_id: UUID, text: str) -> Wish:
    """Read what was typed into the library's filter; Mistake where it is wrong."""
    query = parse(text)
    loose = [group for group in query.contents if not group.is_excluded and len(group.terms) == 1]
    words = _words(" ".join(_text(group.terms[0]) for group in loose))
    others = [group for group in query.groups if group not in loose or isinstance(group.terms[0], Phrase)]
    is_nothing = bool(text.strip()) and not query.groups
    return Wish(words, conditions(org_id, others), _tag_of_all(query), is_nothing)


def _tag_of_all(query: ParsedQuery) -> str | None:
    for group in query.filters:
        term = group.terms[0]
        if len(group.terms) == 1 and not group.is_excluded and isinstance(term, Filter) and term.name is FilterName.TAG:
            return filters.tag_of(term.value)
    return None


def conditions(org_id: UUID, groups: Sequence[TermGroup]) -> Conditions:
    """What documents must fulfil, all of it."""
    return [_condition(org_id, group) for group in groups]


def few(org_id: UUID, query: ParsedQuery, most: int) -> list[UUID] | None:
    """The documents that fulfil the filters of a query; None where they are more than `most`."""
    found = select(_documents.c.id).where(_documents.c.org_id == org_id, in_library, *conditions(org_id, query.filters))
    ids = list(session().scalars(found.limit(most + 1)))
    return ids if len(ids) <= most else None


def which(org_id: UUID, query: ParsedQuery, ids: Collection[UUID]) -> set[UUID]:
    """Those of these documents that fulfil the filters of a query."""
    found: set[UUID] = set()
    asked = select(_documents.c.id).where(_documents.c.org_id == org_id, in_library, *conditions(org_id, query.filters))
    for part in batches(ids, _IDS_PER_STATEMENT):
        found.update(session().scalars(asked.where(_documents.c.id.in_(part))))
    return found


def fulfils(id_: ColumnElement[UUID], wanted: Conditions) -> list[ColumnElement[bool]]:
    """Whether the document with this id fulfils conditions, asked for each by itself. A value: a planner can't turn
    it around, and read all documents that fulfil them.
    """
    if not wanted:
        return []
    asked = select(_ONE).where(_documents.c.id == id_, *wanted).limit(_ONE).correlate(id_.table)
    return [asked.scalar_subquery() == _ONE]


def _condition(org_id: UUID, group: TermGroup) -> ColumnElement[bool]:
    # What is not known of a document is not so, also where it is excluded.
    fulfilled = func.coalesce(or_(*(_term(org_id, term) for term in group.terms)), false())
    return not_(fulfilled) if group.is_excluded else fulfilled


def _term(org_id: UUID, term: Term) -> ColumnElement[bool]:
    if isinstance(term, Filter):
        return _FILTERS[term.name](org_id, term.value)
    if isinstance(term, Phrase):
        return _named_in_a_row(org_id, term.text)
    return _named(org_id, term.text)


def _text(term: Term) -> str:
    return term.value if isinstance(term, Filter) else term.text


def _words(text: str) -> list[str]:
    """All words that a name must have; Mistake where they are more than a name has: none is left out."""
    words = names.query_words(text)
    if len(words) > names.QUERY_WORDS_MAX:
        raise Mistake(MistakeCode.TOO_MANY_TERMS, 1)
    return words


def _named(org_id: UUID, value: str) -> ColumnElement[bool]:
    """Of whose name or title each of these words begins a word."""
    words = _words(value)
    return and_(*names.has_all(org_id, _documents.c.id, words)) if words else false()


def _named_in_a_row(org_id: UUID, value: str) -> ColumnElement[bool]:
    """With these words right behind each other; any one character may be between two."""
    escaped = (word.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_") for word in value.split())
    pattern = f"%{'_'.join(escaped)}%"
    d = _documents.c
    return and_(_named(org_id, value), or_(d.filename.ilike(pattern, escape="\\"), d.title.ilike(pattern, escape="\\")))


def _of_kind(_: UUID, value: str) -> ColumnElement[bool]:
    kind, d = filters.kind_of(value), _documents.c
    if kind not in filters.KINDS:
        return d.content_type.in_(sorted(filters.ENDINGS[kind]))
    # Documents of earlier versions have no kind yet.
    types = sorted(each.content_type for each in FILE_TYPES if each.family == kind)
    return or_(d.kind == kind, and_(d.kind.is_(None), d.content_type.in_(types)))


def _in_language(_: UUID, value: str) -> ColumnElement[bool]:
    language, d = filters.language_of(value), _documents.c
    # A file may say "en-GB" of itself.
    return or_(func.lower(d.language) == language, func.lower(d.language).startswith(f"{language}-"))


def _before(_: UUID, value: str) -> ColumnElement[bool]:
    day, d = filters.period_of(value).first, _documents.c
    return or_(d.document_date < day, and_(d.document_date.is_(None), d.created_at < _midnight(day)))


def _after(_: UUID, value: str) -> ColumnElement[bool]:
    day, d = filters.period_of(value).after, _documents.c
    return or_(d.document_date >= day, and_(d.document_date.is_(None), d.created_at >= _midnight(day)))


def _midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def _with_pages(_: UUID, value: str) -> ColumnElement[bool]:
    numbers = filters.numbers_of(value)
    return _documents.c.page_count.between(numbers.least, numbers.most)


def _with_status(_: UUID, value: str) -> ColumnElement[bool]:
    return listed_as(StatusFilter(filters.status_of(value)))


def _in_state(org_id: UUID, value: str) -> ColumnElement[bool]:
    state = filters.state_of(value)
    if state == "favourite":
        return _documents.c.favourite.is_(True)
    if state == "corrected":
        corrected = select(_ONE).where(Correction.org_id == org_id, Correction.document_id == _documents.c.id)
        return corrected.correlate(_documents).limit(_ONE).scalar_subquery() == _ONE
    return listed_as(StatusFilter(state))


def _noted(_: UUID, value: str) -> ColumnElement[bool]:
    return and_(*(_documents.c.note.icontains(word, autoescape=True) for word in value.split()))


def _tagged(org_id: UUID, value: str) -> ColumnElement[bool]:
    ids = tags.within(org_id, filters.tag_of(value))
    if not ids:
        return false()
    tagged = select(_ONE).where(
        DocumentTag.org_id == org_id, DocumentTag.document_id == _documents.c.id, DocumentTag.tag_id.in_(ids)
    )
    return tagged.correlate(_documents).limit(_ONE).scalar_subquery() == _ONE


_FILTERS: dict[FilterName, Callable[[UUID, str], ColumnElement[bool]]] = {
    FilterName.KIND: _of_kind,
    FilterName.IN: _named,
    FilterName.LANG: _in_language,
    FilterName.BEFORE: _before,
    FilterName.AFTER: _after,
    FilterName.PAGES: _with_pages,
    FilterName.STATUS: _with_status,
    FilterName.IS: _in_state,
    FilterName.TAG: _tagged,
    FilterName.NOTE: _noted,
}
