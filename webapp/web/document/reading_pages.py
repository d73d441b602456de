"""How well each page of a document was read: all pages for programs, and for people those that were not read well."""

from uuid import UUID

from flask import Blueprint, Response, url_for

from webapp.db import reading
from webapp.library.pages import page_readings
from webapp.web import fragments
from webapp.web.access import org_id
from webapp.web.document import results
from webapp.web.document.document_pages import show_section
from webapp.web.document.results import find
from webapp.web.shapes import page_json

pages = Blueprint("readings", __name__, url_prefix="/documents/<uuid:document_id>")

PAGES_SHOWN = 200


@pages.get("/pages")
def show(document_id: UUID) -> Response:
    """The pages, some at a time: from a cursor on, or from a page on (`start`)."""
    org, place, not_well = org_id(), results.asked_place(), not fragments.is_for_program()
    with reading(org):
        found = find(document_id)
        results.expect_run(found.document, place.run_id)
        start = max(1, place.start)
        listed = page_readings(org, document_id, start=start, limit=PAGES_SHOWN + 1, not_well=not_well)
    shown = listed[:PAGES_SHOWN]
    cursor = found.cursor(listed[PAGES_SHOWN].number) if len(listed) > PAGES_SHOWN else None
    return show_section(
        found,
        "pages",
        lambda: {"pages": [page_json(one) for one in shown], "next_cursor": cursor},
        readings=shown,
        next_url=url_for(".show", document_id=document_id, cursor=cursor) if cursor else None,
    )
