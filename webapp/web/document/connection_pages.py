"""GET /documents/{id}/connections: what the passages of other documents have to do with a document's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, request, url_for

from webapp.db import reading
from webapp.documents.model import Document
from webapp.search import connections, values
from webapp.search.connections import Connected, Kind, Neighbour
from webapp.web import fragments
from webapp.web.access import org_id
from webapp.web.document import graph, results
from webapp.web.document.common_words import Sides, sides
from webapp.web.document.document_pages import show_section
from webapp.web.errors import Problem
from webapp.web.search.landing import address
from webapp.web.shapes import brief_json, passage_json

pages = Blueprint("connections", __name__, url_prefix="/documents/<uuid:document_id>/connections")

PAIRS_SHOWN = 30
DOCUMENTS_SHOWN = 10
PAIRS_OF_DOCUMENT = 3
NEIGHBOURS_SHOWN = 12


@dataclass(frozen=True)
class ConnectionRow:
    """A connection with what both passages hold."""

    connected: Connected
    shared: Sequence[str]

    @property
    def sides(self) -> Sides:
        """Both passages, with what they have in common marked; made when a page shows them."""
        return sides(self.connected, self.shared)

    @property
    def is_equal(self) -> bool:
        """Whether both passages are the same word for word."""
        return self.connected.passage.text == self.connected.other.text

    @property
    def own_url(self) -> str:
        """Where the document's own passage is."""
        passage = self.connected.passage
        return address(passage.document_id, passage.id, passage.text, time_from=passage.time_from)

    @property
    def other_url(self) -> str:
        """Where the other passage is."""
        other = self.connected.other
        return address(other.document_id, other.id, other.text, time_from=other.time_from)


@dataclass(frozen=True)
class RowGroup:
    """The connections with one other document: some of them, and how many there are."""

    document: Document
    total: int
    rows: Sequence[ConnectionRow]
    url: str
    """The address of all of them."""


@pages.get("")
def show(document_id: UUID) -> Response:
    """Pairs of passages and the documents around; `kind` chooses one kind, `other` one document, `cursor` goes on.

    People see them grouped by document, programs the surest pairs first.
    """
    org, kind, other, place = org_id(), _kind(), _other(), results.asked_place()
    is_list = other is not None or fragments.is_for_program()
    with reading(org):
        found = results.find(document_id)
        results.expect_run(found.document, place.run_id)
        read = _pairs(document_id, kind, other, place.start) if is_list else _grouped(document_id, kind, place.start)
        around = connections.neighbours(org, document_id, NEIGHBOURS_SHOWN)
        counts = connections.kind_counts(org, document_id)
    groups, next_start = read
    cursor = found.cursor(next_start) if next_start else None
    nodes = graph.circle(around)
    return show_section(
        found,
        "connections",
        lambda: {
            **_as_json(groups, around, found.counts["connections"]),
            "kinds": counts,
            "looking": found.is_looking,
            "next_start": next_start,
            "next_cursor": cursor,
        },
        groups=groups,
        kind=kind.value if kind else None,
        counts=counts,
        other=other,
        is_looking=found.is_looking,
        nodes=nodes,
        own_label=graph.short(found.document.chosen_title or found.document.filename),
        frame=graph.frame(nodes),
        next_url=_url(document_id, kind, other, cursor) if cursor else None,
    )


_Read = tuple[Sequence[RowGroup], int | None]
"""Groups of connections, and the number of what comes next."""


def _grouped(document_id: UUID, kind: Kind | None, start: int) -> _Read:
    org, most = org_id(), DOCUMENTS_SHOWN
    listed = connections.linked(org, document_id, kind=kind, start=start, limit=most + 1, pairs_each=PAIRS_OF_DOCUMENT)
    rows = iter(_rows(org, [each for one in listed[:most] for each in one.surest]))
    groups = [
        RowGroup(
            one.document, one.connections, list(islice(rows, len(one.surest))), _url(document_id, kind, one.document.id)
        )
        for one in listed[:most]
    ]
    return groups, start + most if len(listed) > most else None


def _pairs(document_id: UUID, kind: Kind | None, other: UUID | None, start: int) -> _Read:
    org = org_id()
    listed = connections.of_document(org, document_id, kind=kind, other_id=other, start=start, limit=PAIRS_SHOWN + 1)
    rows = _rows(org, listed[:PAIRS_SHOWN])
    groups = [
        RowGroup(document, len(of_it), of_it, _url(document_id, kind, document.id))
        for document, found in groupby(rows, key=lambda row: row.connected.document)
        for of_it in [list(found)]
    ]
    return groups, start + PAIRS_SHOWN if len(listed) > PAIRS_SHOWN else None


def _rows(org: UUID, listed: Sequence[Connected]) -> list[ConnectionRow]:
    pairs = {_pair(each): each for each in listed if each.kind is Kind.SHARED_VALUE}
    shared = values.in_common(org, pairs.keys()) if pairs else {}
    return [
        ConnectionRow(each, shared.get(_pair(each), []) if each.kind is Kind.SHARED_VALUE else []) for each in listed
    ]


def _pair(connected: Connected) -> tuple[UUID, UUID]:
    return connected.passage.id, connected.other.id


def _kind() -> Kind | None:
    value = request.args.get("kind", "")
    try:
        return Kind(value) if value else None
    except ValueError as error:
        raise Problem(422, detail=f"kind must be one of: {', '.join(Kind)}.") from error


def _other() -> UUID | None:
    value = request.args.get("other", "")
    try:
        return UUID(value) if value else None
    except ValueError as error:
        raise Problem(422, detail="other must be the id of a document.") from error


def _url(document_id: UUID, kind: Kind | None, other: UUID | None, cursor: str | None = None) -> str:
    named = fragments.without({"kind": kind, "other": other, "cursor": cursor})
    return url_for(".show", document_id=document_id, **named)


def _as_json(groups: Sequence[RowGroup], around: Sequence[Neighbour], total: int) -> dict[str, Any]:
    return {
        "connections": [_row_json(row) for group in groups for row in group.rows],
        "documents": [
            {**brief_json(each.document), "connections": each.connections, "score": each.score} for each in around
        ],
        "total": total,
    }


def _row_json(row: ConnectionRow) -> dict[str, Any]:
    connected = row.connected
    return {
        "kind": connected.kind,
        "score": connected.score,
        "values": row.shared,
        "chunk": passage_json(connected.passage),
        "other": {**passage_json(connected.other), "document": brief_json(connected.document)},
    }
