"""Suggestions while a query is typed: names of filters, and values that an org's documents have.

What is typed last is completed: the beginning of a filter's name, or of a value behind its colon.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import cast
from uuid import UUID

from sqlalchemy import Table, select

from webapp.clock import utc_now
from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.documents.tag_model import Tag
from webapp.library import grid
from webapp.search import filters
from webapp.search.filters import BadValue, FilterName
from webapp.search.grammar import QUERY_CHARACTERS_MAX, Filter, Mistake

SHOWN_MAX = 8
# Languages are looked for among the newest documents, so that it costs the same in a large library.
DOCUMENTS_READ = 1_000
YEARS = 5
_TERM = re.compile(
    r"(?:^|(?<=\s))-?"
    r"(?P<term>(?:(?P<name>[A-Za-z]{2,20}):)?"
    r"(?:\"(?P<quoted>[^\"]*)|(?P<plain>[^\s\"]*)))$"
)
_tags = cast(Table, Tag.__table__)
_documents = cast(Table, Document.__table__)


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A term that could be meant, and the query with it in place of what was typed last."""

    term: str
    query: str
    filter: str
    """The filter that it is of."""
    value: str = ""
    """Empty where it is the name of a filter, which still needs a value."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return bool(self.value)


def suggestions(org_id: UUID, typed: str) -> list[Suggestion]:
    """What could be meant by the last term of a query; nothing where it cannot be completed."""
    found = _TERM.search(typed[:QUERY_CHARACTERS_MAX])
    if found is None:
        return []
    before = typed[: found.start("term")]
    if found["name"] is not None:
        name = found["name"].lower()
        if name not in {*FilterName}:
            return []
        begun = found["plain"] if found["quoted"] is None else found["quoted"]
        return [_value(before, FilterName(name), value) for value in _values(org_id, FilterName(name), begun)]
    word = (found["plain"] or "").lower()
    if found["quoted"] is not None or not word:
        return []
    names = [Suggestion(f"{name}:", f"{before}{name}:", name) for name in FilterName if name.startswith(word)]
    values = [
        _value(before, name, value)
        for name in (FilterName.TAG, FilterName.KIND, FilterName.STATUS)
        for value in _values(org_id, name, word)
        if len(word) > 1
    ]
    return [*names, *values][:SHOWN_MAX]


def _value(before: str, name: FilterName, value: str) -> Suggestion:
    term = str(Filter(name, value))
    return Suggestion(term, f"{before}{term} ", name, value)


def _values(org_id: UUID, name: FilterName, begun: str) -> Sequence[str]:
    return _VALUES[name](org_id, begun.strip())[:SHOWN_MAX]


def tag_names(org_id: UUID, begun: str) -> list[str]:
    """Names of tags that begin like this, in alphabetical order."""
    try:
        word = filters.tag_of(begun) if begun else ""
    except BadValue:
        return []
    tags = select(_tags.c.name).where(_tags.c.org_id == org_id, _tags.c.word.startswith(word, autoescape=True))
    return list(session().scalars(tags.order_by(_tags.c.word).limit(SHOWN_MAX)))


def _file_names(org_id: UUID, begun: str) -> list[str]:
    """File names of documents that the filter `in:` would find, the newest first."""
    if not any(map(str.isalnum, begun)):
        return []
    try:
        rows = grid.page(org_id, q=f'in:"{begun}"', limit=SHOWN_MAX).rows
    except Mistake:
        return []
    return list(dict.fromkeys(filters.plain_tag(row.document.filename) for row in rows))


def _languages(org_id: UUID, begun: str) -> list[str]:
    d = _documents.c
    documents = select(d.language).where(d.org_id == org_id, in_library).order_by(d.id.desc())
    newest = documents.limit(DOCUMENTS_READ).subquery()
    codes = session().scalars(select(newest.c.language).distinct().where(newest.c.language.is_not(None)))
    return _beginning(sorted({code.lower().partition("-")[0] for code in codes}), begun)


def _kinds(_: UUID, begun: str) -> list[str]:
    # People think of kinds first; the ends of file names are many.
    return _beginning([*sorted(filters.KINDS), *sorted(filters.ENDINGS)], begun.replace("-", "_"))


def _years(_: UUID, begun: str) -> list[str]:
    today: date = utc_now().date()
    return _beginning([str(today.year - ago) for ago in range(YEARS)], begun)


def _beginning(values: Sequence[str], begun: str) -> list[str]:
    start = begun.casefold()
    return [value for value in values if value.startswith(start)]


def _one_of(*values: str) -> Callable[[UUID, str], list[str]]:
    return lambda _, begun: _beginning(values, begun)


_VALUES: dict[FilterName, Callable[[UUID, str], list[str]]] = {
    FilterName.TAG: tag_names,
    FilterName.KIND: _kinds,
    FilterName.IN: _file_names,
    FilterName.LANG: _languages,
    FilterName.BEFORE: _years,
    FilterName.AFTER: _years,
    FilterName.PAGES: _one_of("1", "<=5", "10-20", ">100"),
    FilterName.STATUS: _one_of(*sorted(filters.STATUSES)),
    FilterName.IS: _one_of(*sorted((*filters.STATES, *filters.MARKS))),
    FilterName.NOTE: _one_of(),
}
