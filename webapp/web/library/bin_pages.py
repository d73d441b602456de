"""GET /bin: what was deleted, who deleted it, and for how long it can be restored."""

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, flash, jsonify, make_response, redirect, render_template, request, url_for

from webapp.accounts.audit import Action
from webapp.clock import utc_now
from webapp.db import reading, transaction
from webapp.library import bin as library_bin
from webapp.library.bin import BinContents, BinRow
from webapp.web import fragments
from webapp.web.access import ops_only, org_id, services
from webapp.web.errors import Problem
from webapp.web.security_log import note

pages = Blueprint("bin", __name__)

PAGE_ROWS = 50
_DAY_SECONDS = 24 * 3600.0


@dataclass(frozen=True)
class BinPage:
    """One page of the bin."""

    rows: list[BinRow]
    contents: BinContents
    days: float
    next_cursor: str | None

    def days_left(self, row: BinRow) -> int:
        """For how many days it can still be restored, begun ones included."""
        passed = (utc_now() - row.deleted_at).total_seconds() / _DAY_SECONDS
        return max(0, math.ceil(self.days - passed))

    def json(self) -> dict[str, Any]:
        """The page for programs."""
        return {
            "documents": [
                {
                    "id": row.id,
                    "filename": row.filename,
                    "content_type": row.content_type,
                    "size_bytes": row.size_bytes,
                    "deleted_at": row.deleted_at,
                    "deleted_by": row.deleted_by,
                    "days_left": self.days_left(row),
                }
                for row in self.rows
            ],
            "count": self.contents.documents,
            "size_bytes": self.contents.size_bytes,
            "bin_days": self.days,
            "next_cursor": self.next_cursor,
        }


@pages.get("/bin")
def show() -> Response:
    """What lies in the bin, the last that was deleted first."""
    org, before = org_id(), _cursor()
    with reading(org):
        rows = library_bin.page(org, before=before, limit=PAGE_ROWS + 1)
        contents = library_bin.contents(org)
    last = rows[PAGE_ROWS - 1] if len(rows) > PAGE_ROWS else None
    cursor = f"{last.deleted_at.timestamp():.6f}_{last.id.hex}" if last else None
    page = BinPage(rows[:PAGE_ROWS], contents, services().settings.limits.bin_days, cursor)
    if fragments.is_for_program():
        return jsonify(page.json())
    return make_response(render_template("bin/page.html", page=page))


@pages.get("/bin/empty")
@ops_only
def confirm_empty() -> Response:
    """The question before all of it is deleted for good."""
    with reading(org_id()):
        contents = library_bin.contents(org_id())
    return make_response(render_template("bin/empty.html", contents=contents))


@pages.post("/bin/empty")
@ops_only
def empty() -> Response:
    """Let nobody restore any of it: a chore deletes it within minutes."""
    org = org_id()
    with transaction(org):
        number = library_bin.mark_all_going(org)
        note(Action.BIN_EMPTIED, number=number)
    if fragments.is_for_program():
        return make_response(jsonify({"deleted": number}), 202)
    flash(render_template("bin/_emptied.txt", number=number).strip(), "success")
    return make_response(redirect(url_for("bin.show"), 303))


def _cursor() -> tuple[datetime, UUID] | None:
    given = request.args.get("cursor")
    if not given:
        return None
    try:
        moment, _, id_ = given.partition("_")
        return datetime.fromtimestamp(float(moment), UTC), UUID(id_)
    except (ValueError, OverflowError, OSError) as error:
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer.") from error
