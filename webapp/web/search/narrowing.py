"""The filters beside the hits: those that a query has, to be removed, and those that it could have, with counts."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import url_for

from webapp.library.facets import Facets, FoundDocument
from webapp.search.filters import FilterName
from webapp.search.grammar import Filter, ParsedQuery
from webapp.web.fragments import without

# Years that the filters before: and after: can name.
_YEARS = range(1000, 9999)


@dataclass(frozen=True)
class Choice:
    """A filter that can be added: its value, and how many of the counted passages are left then."""

    value: str
    count: int
    url: str
    term: str = ""
    """What is added to the query; empty for a document, which is a parameter of its own."""
    document: FoundDocument | None = None


@dataclass(frozen=True)
class ChoiceGroup:
    """Filters by one property: kind, tag, year or document."""

    name: str
    choices: Sequence[Choice]


@dataclass(frozen=True)
class Chosen:
    """A filter that the query has, and the address without it."""

    text: str
    url: str
    document: FoundDocument | None = None


@dataclass(frozen=True)
class Narrowing:
    """What can be added to a query, and what can be removed from it; `counted` is how many passages were counted."""

    groups: Sequence[ChoiceGroup] = ()
    chosen: Sequence[Chosen] = ()
    counted: int = 0

    def as_json(self) -> dict[str, Any]:
        """The counts for programs; `term` is what to add to q."""
        return {
            "counted": self.counted,
            **{group.name: [_choice_json(each) for each in group.choices] for group in self.groups},
        }


def narrowing(q: str, query: ParsedQuery, document: FoundDocument | None, found: Facets) -> Narrowing:
    """The filters of a query and of what it found."""
    document_id = document.id if document else None

    def adding(value: str, count: int, *filters: Filter) -> Choice:
        term = " ".join(map(str, filters))
        return Choice(value, count, _url(f"{q} {term}", document_id), term)

    groups = [
        ChoiceGroup("kind", [adding(kind, number, Filter(FilterName.KIND, kind)) for kind, number in found.kinds]),
        ChoiceGroup("tag", [adding(tag, number, Filter(FilterName.TAG, tag)) for tag, number in found.tags]),
        ChoiceGroup(
            "year",
            [adding(str(year), number, *_within(year)) for year, number in found.years if year in _YEARS],
        ),
        ChoiceGroup(
            "document",
            [Choice(each.name, number, _url(q, each.id), document=each) for each, number in found.documents],
        ),
    ]
    return Narrowing(_telling(groups, found.counted), _chosen(q, query, document), found.counted)


def _telling(groups: Iterable[ChoiceGroup], counted: int) -> list[ChoiceGroup]:
    """Those that leave something out: what all passages have in common narrows nothing."""
    return [group for group in groups if len(group.choices) > 1 or any(each.count < counted for each in group.choices)]


def _within(year: int) -> tuple[Filter, Filter]:
    return Filter(FilterName.AFTER, f"{year - 1:04}"), Filter(FilterName.BEFORE, f"{year + 1:04}")


def _chosen(q: str, query: ParsedQuery, document: FoundDocument | None) -> list[Chosen]:
    document_id = document.id if document else None
    chosen = [
        Chosen(
            str(group), _url(str(ParsedQuery(tuple(each for each in query.groups if each is not group))), document_id)
        )
        for group in query.filters
    ]
    return chosen if document is None else [Chosen(document.name, _url(q, None), document), *chosen]


def _url(q: str, document_id: UUID | None) -> str:
    return url_for("search.show", **without({"q": q.strip(), "document": document_id}))


def _choice_json(choice: Choice) -> dict[str, Any]:
    if choice.document is not None:
        return {"document_id": choice.document.id, "filename": choice.document.filename, "count": choice.count}
    return {"value": choice.value, "term": choice.term, "count": choice.count}
