"""GET /fields: the fields of many documents as one table; GET /fields.csv, .xlsx, .jsonl: as a file."""

import json
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, make_response, request, url_for

from webapp.db import reading_late
from webapp.library.field_table import DOCUMENTS_MAX, FieldRow, FieldTable, FieldValue, field_table
from webapp.library.status_filter import StatusFilter
from webapp.library.typed_cells import plain
from webapp.search.grammar import Mistake
from webapp.web import fragments, sheets
from webapp.web.access import org_id
from webapp.web.library.library_pages import asked_folder, choice
from webapp.web.query_mistakes import sentence
from webapp.web.reads import may_be_late

pages = Blueprint("fields", __name__)


@dataclass(frozen=True)
class FieldQuery:
    """Which documents, which columns, and the order."""

    q: str
    folder: str | None
    status: StatusFilter | None
    chosen: tuple[str, ...]
    sort: str

    def url(self, endpoint: str = "fields.show", **changes: object) -> str:
        """The address of this table with some of its parameters changed."""
        status = self.status.lower() if self.status else None
        kept = {"q": self.q, "folder": self.folder, "status": status, "sort": self.sort, "field": list(self.chosen)}
        return url_for(endpoint, **fragments.without({**kept, **changes}))

    def read(self) -> FieldTable:
        """The table."""
        org = org_id()

        def read() -> FieldTable:
            return field_table(
                org, q=self.q, folder=self.folder, status=self.status, chosen=self.chosen, sort=self.sort
            )

        return reading_late(org, read, may_be_late=may_be_late())


@pages.get("/fields")
def show() -> Response:
    """The table, and a form to choose documents and columns."""
    query = _query()
    try:
        return _answer(query, query.read())
    except Mistake as mistake:
        if fragments.is_for_program():
            raise
        response = _answer(query, FieldTable(), sentence(mistake))
        response.status_code = 422
        return response


@pages.get("/fields.csv")
def download() -> Response:
    """The rows of the table and the chosen columns as CSV, with the values as programs read them.

    Where more documents match than the table has, the file's name says so.
    """
    table = _query().read()
    rows = (
        [row.filename, *(each.plain if each else "" for each in _values(table, row)), _link(row)] for row in table.rows
    )
    return _file(table, sheets.as_csv([_heading(table), *rows]), "csv", sheets.CSV)


@pages.get("/fields.xlsx")
def workbook() -> Response:
    """The same as a workbook: amounts are numbers, dates are days."""
    table = _query().read()
    rows = [
        [row.filename, *(plain(each.plain) if each else None for each in _values(table, row)), _link(row)]
        for row in table.rows
    ]
    return _file(table, sheets.as_xlsx(_heading(table), rows), "xlsx", sheets.XLSX)


@pages.get("/fields.jsonl")
def lines() -> Response:
    """A line of JSON for each document, with page, confidence and link; without `field` all its fields."""
    query = _query()
    table = query.read()
    wanted = set(query.chosen)
    written = []
    for row in table.rows:
        whole = _row_json(row)
        found = {key: value for key, value in whole["fields"].items() if not wanted or key in wanted}
        written.append(
            json.dumps({**whole, "id": str(row.document_id), "fields": found, "link": _link(row)}, ensure_ascii=False)
        )
    return _file(table, "".join(f"{line}\n" for line in written).encode(), "jsonl", "application/jsonl")


def _heading(table: FieldTable) -> list[str]:
    return ["File", *(column.name for column in table.chosen), "Link"]


def _values(table: FieldTable, row: FieldRow) -> list[FieldValue | None]:
    return [row.values.get(column.key) for column in table.chosen]


def _link(row: FieldRow) -> str:
    return url_for("document.fields", document_id=row.document_id, _external=True)


def _file(table: FieldTable, content: bytes, ending: str, content_type: str) -> Response:
    name = f"fields-newest-{DOCUMENTS_MAX}" if table.is_cut else "fields"
    response = make_response(content)
    response.headers["Content-Type"] = content_type
    response.headers["Content-Disposition"] = f'attachment; filename="{name}.{ending}"'
    return response


def _answer(query: FieldQuery, table: FieldTable, mistake: str | None = None) -> Response:
    return fragments.answer(
        page="library/fields.html",
        fragment="library/fields.html",
        data=lambda: _json(table),
        query=query,
        table=table,
        mistake=mistake,
        most=DOCUMENTS_MAX,
    )


def _json(table: FieldTable) -> dict[str, object]:
    return {
        "columns": [{"key": each.key, "name": each.name, "documents": each.documents} for each in table.columns],
        "documents": [_row_json(row) for row in table.rows],
        "is_cut": table.is_cut,
    }


def _row_json(row: FieldRow) -> dict[str, Any]:
    values = {
        key: {
            "value": value.text,
            "normalized": value.normalized,
            "page": value.page,
            "confidence": value.confidence,
            "doubt": value.doubt,
            "verdict": value.verdict,
        }
        for key, value in row.values.items()
    }
    return {"id": row.document_id, "filename": row.filename, "fields": values}


def _query() -> FieldQuery:
    arguments = request.args
    return FieldQuery(
        q=arguments.get("q", "").replace("\0", "").strip(),
        folder=asked_folder(arguments.get("folder", "")),
        status=choice(StatusFilter, "status", arguments.get("status", "")),
        chosen=tuple(dict.fromkeys(each for each in arguments.getlist("field") if each)),
        sort=arguments.get("sort", ""),
    )
