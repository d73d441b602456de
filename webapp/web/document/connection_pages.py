"""GET /documents/{id}/connections: what the passages of other documents have to do with a document's own."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, request, url_for

from webapp.db import reading
from webapp.search import connections, values
from webapp.search.connections import Connected, Kind, Neighbour
from webapp.web import fragments
from webapp.web.access import org_id
from webapp.web.document import graph, results
from webapp.web.document.document_pages import show_section
from webapp.web.errors import Problem
from webapp.web.shapes import brief_json, passage_json

pages = Blueprint("connections", __name__, url_prefix="/documents/<uuid:document_id>/connections")

SHOWN = 30
NEIGHBOURS_SHOWN = 12


@dataclass(frozen=True)
class ConnectionRow:
    """A connection with what both passages hold."""

    connected: Connected
    shared: Sequence[str]


@pages.get("")
def show(document_id: UUID) -> Response:
    """Pairs of passages, the surest first, and the documents around; `kind` chooses one kind, `cursor` goes on."""
    org, kind, place = org_id(), _kind(), results.asked_place()
    with reading(org):
        found = results.find(document_id)
        results.expect_run(found.document, place.run_id)
        listed = connections.of_document(org, document_id, kind=kind, start=place.start, limit=SHOWN + 1)
        rows = _rows(org, listed[:SHOWN])
        around = connections.neighbours(org, document_id, NEIGHBOURS_SHOWN)
    next_start = place.start + SHOWN if len(listed) > SHOWN else None
    cursor = found.cursor(next_start) if next_start else None
    nodes = graph.circle(around)
    return show_section(
        found,
        "connections",
        lambda: {
            **_as_json(rows, around, found.counts["connections"]),
            "next_start": next_start,
            "next_cursor": cursor,
        },
        rows=rows,
        kind=kind.value if kind else None,
        kinds=[each.value for each in Kind],
        nodes=nodes,
        own_label=graph.short(found.document.chosen_title or found.document.filename),
        frame=graph.frame(nodes),
        next_url=_url(document_id, kind, cursor) if cursor else None,
    )


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


def _url(document_id: UUID, kind: Kind | None, cursor: str) -> str:
    return url_for(".show", document_id=document_id, **fragments.without({"kind": kind, "cursor": cursor}))


def _as_json(rows: Sequence[ConnectionRow], around: Sequence[Neighbour], total: int) -> dict[str, Any]:
    return {
        "connections": [_row_json(row) for row in rows],
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
