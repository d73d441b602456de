"""PUT and DELETE /documents/{id}/tables/{n}/cells/{row}/{column}: what people say of a cell, with a page of its own."""

from uuid import UUID

from flask import Blueprint, Response, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts import actors
from webapp.db import reading, transaction
from webapp.library import correcting, tables
from webapp.library.correcting import NotThere
from webapp.library.tables import Cell, ShownTable
from webapp.library.typed_values import WrongValue
from webapp.runs import transitions
from webapp.web import fragments, shapes
from webapp.web.access import get_document, org_id, principal, writers_only
from webapp.web.document import said
from webapp.web.document.said import Saying
from webapp.web.errors import Problem

pages = Blueprint("cell", __name__, url_prefix="/documents/<uuid:document_id>/tables/<int:number>/cells")
_GONE = "This document has no such table, or the table no such cell. Tables count from 1, rows and columns from 0."


@pages.get("/<int:row>/<int:column>")
@writers_only
def edit(document_id: UUID, number: int, row: int, column: int) -> Response:
    """The form of one cell: on a page of its own, or in the table."""
    return _show(document_id, number, (row, column))


@pages.put("/<int:row>/<int:column>")
def put(document_id: UUID, number: int, row: int, column: int) -> Response:
    """Correct a cell, confirm it, or say that it is empty."""
    get_document(document_id)
    try:
        table = _say(document_id, number, (row, column), said.in_json())
    except WrongValue as wrong:
        raise Problem(422, "value", detail=said.sentence(wrong), members={"code": wrong.code}) from wrong
    return _as_json(table)


@pages.delete("/<int:row>/<int:column>")
def delete(document_id: UUID, number: int, row: int, column: int) -> Response:
    """Let what was found hold again."""
    _say(document_id, number, (row, column), None)
    return Response(status=204)


@pages.post("/<int:row>/<int:column>")
def say(document_id: UUID, number: int, row: int, column: int) -> Response:
    """The form of the page."""
    get_document(document_id)
    cell = (row, column)
    try:
        table = _say(document_id, number, cell, said.in_form())
    except WrongValue as wrong:
        response = _show(document_id, number, cell, wrong=said.sentence(wrong), typed=request.form.get("value", ""))
        if fragments.wants_fragment():
            return fragments.invalid(response, f"#cell-{number}-{row}-{column}")
        response.status_code = 422
        return response
    if fragments.wants_fragment():
        shown = {"table": table, "row": row, "column": column, "is_edited": True, "is_changed": True}
        return fragments.replacing("document/_cell.html", document=get_document(document_id), **shown)
    # A browser gives the focus to the link that the address names.
    anchor = f"cell-{number}-{row}-{column}-edit"
    return make_response(
        redirect(url_for("document.tables", document_id=document_id, edit=number, _anchor=anchor), 303)
    )


def _show(document_id: UUID, number: int, cell: Cell, **more: str) -> Response:
    org, (row, column) = org_id(), cell
    with reading(org):
        document = get_document(document_id)
        table = _table(org, document_id, number, cell)
        correction = table.said.get(cell)
        who = actors.names(org, [correction.by]) if correction else {}
    template = "document/_cell_form.html" if fragments.wants_fragment() else "document/cell.html"
    shown = {"table": table, "row": row, "column": column, "correction": correction, "who": who}
    return make_response(render_template(template, document=document, **shown, **more))


def _table(org: UUID, document_id: UUID, number: int, cell: Cell) -> ShownTable:
    table = tables.of_document(org, document_id).get(number)
    if table is None or not table.has(cell):
        raise Problem(404, detail=_GONE)
    return table


def _say(document_id: UUID, number: int, cell: Cell, saying: Saying | None) -> ShownTable:
    """Store what is said of a cell, or take it back; the table as it is then."""
    org, by = org_id(), principal().ref
    try:
        with transaction(org):
            transitions.lock(document_id, org)
            table = _table(org, document_id, number, cell)
            correction = table.said.get(cell)
            if saying is not None:
                said.expect_seen(saying, tables.found_rows(table)[cell[0]][cell[1]])
                what = correcting.said_of_cell(table, cell, saying.verdict, saying.typed)
                correcting.correct_cell(org, document_id, by, table, cell, what)
            elif correction is not None:
                correcting.undo(org, document_id, correction)
            return _table(org, document_id, number, cell)
    except transitions.DocumentMissing as error:
        raise Problem(404) from error
    except NotThere as error:
        raise Problem(404, detail=_GONE) from error


def _as_json(table: ShownTable) -> Response:
    org = org_id()
    with reading(org):
        who = actors.names(org, [each.by for each in table.said.values()])
    return jsonify(shapes.table_json(table, who))
