"""GET /fields: the fields of many documents as one table, for people and programs; GET /fields.csv: as a file."""

import csv
import io
import re
from dataclasses import dataclass

from flask import Blueprint, Response, make_response, request, url_for

from webapp.db import reading_late
from webapp.library.field_table import DOCUMENTS_MAX, FieldRow, FieldTable, field_table
from webapp.library.status_filter import StatusFilter
from webapp.search.grammar import Mistake
from webapp.web import fragments
from webapp.web.access import org_id
from webapp.web.library.library_pages import asked_folder, choice
from webapp.web.query_mistakes import sentence
from webapp.web.reads import may_be_late

pages = Blueprint("fields", __name__)

# Spreadsheets compute what begins like this, unless it is a number.
_FORMULA = re.compile(r"[=+\-@\t\r]")
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")


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
    query = _query()
    table = query.read()
    written = io.StringIO()
    writer = csv.writer(written)
    writer.writerow(["File", *(_harmless(column.name) for column in table.chosen), "Link"])
    for row in table.rows:
        values = [row.values.get(column.key) for column in table.chosen]
        link = url_for("document.fields", document_id=row.document_id, _external=True)
        writer.writerow([_harmless(row.filename), *(_harmless(each.plain) if each else "" for each in values), link])
    # The mark tells Excel that it is UTF-8.
    response = make_response(("\ufeff" + written.getvalue()).encode())
    response.headers["Content-Type"] = "text/csv; charset=utf-8"
    name = f"fields-newest-{DOCUMENTS_MAX}.csv" if table.is_cut else "fields.csv"
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _harmless(text: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) and not _NUMBER.fullmatch(text) else text


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


def _row_json(row: FieldRow) -> dict[str, object]:
    values = {
        key: {
            "value": value.text,
            "normalized": value.normalized,
            "page": value.page,
            "confidence": value.confidence,
            "doubt": value.doubt,
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
