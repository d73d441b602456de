"""GET /search/suggestions: how a query that is being typed could go on."""

from flask import Blueprint, Response, request

from webapp.db import reading_late
from webapp.library.suggestions import suggestions
from webapp.web import fragments
from webapp.web.access import org_id
from webapp.web.reads import may_be_late

pages = Blueprint("suggestions", __name__)


@pages.get("/search/suggestions")
def show() -> Response:
    """Names of filters and their values, eight at most; `q` is what stands before the cursor."""
    org, typed = org_id(), request.args.get("q", "").replace("\0", "")
    found = reading_late(org, lambda: suggestions(org, typed), may_be_late=may_be_late())
    return fragments.answer(
        page="search/_suggestions.html",
        fragment="search/_suggestions.html",
        data=lambda: {
            "suggestions": [
                {"term": each.term, "q": each.query, "filter": each.filter, "value": each.value or None}
                for each in found
            ]
        },
        suggestions=found,
    )
