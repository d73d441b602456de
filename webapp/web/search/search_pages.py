"""GET /search: passages of the whole library, by words and by meaning."""

from collections.abc import Sequence
from dataclasses import dataclass

from flask import Blueprint, Response, request, url_for

from webapp.pipeline.find import LIMIT, LIMIT_MAX, SearchResult, find
from webapp.pipeline.markdown import plain
from webapp.search.grammar import Mistake
from webapp.search.query import Hit
from webapp.search.snippet import SnippetPart, snippet
from webapp.web import fragments
from webapp.web.access import org_id, services
from webapp.web.numbers import whole_number
from webapp.web.query_mistakes import sentence
from webapp.web.reads import may_be_late
from webapp.web.shapes import hit_json

pages = Blueprint("search", __name__)


@dataclass(frozen=True)
class HitView:
    """A hit with its address, and how it compares to the best one."""

    hit: Hit
    words: Sequence[str]
    url: str
    share: float

    @property
    def pieces(self) -> Sequence[SnippetPart]:
        """The lines that answer best; made when a page shows them, which programs never do."""
        return snippet(plain(self.hit.text), self.words)


@pages.get("/search")
def show() -> Response:
    """The passages that answer best; without a question an invitation to ask."""
    query, limit = request.args.get("q", "").strip(), _limit()
    try:
        found = find(services(), org_id(), query, limit, may_be_late=may_be_late())
    except Mistake as mistake:
        if fragments.is_for_program():
            raise
        return fragments.invalid(_answer(query, SearchResult([]), sentence(mistake)), "#hits")
    return _answer(query, found)


def _answer(query: str, found: SearchResult, mistake: str | None = None) -> Response:
    best = max((hit.score for hit in found.hits), default=0.0) or 1.0
    return fragments.answer(
        page="search/page.html",
        fragment="search/_hits.html",
        data=lambda: {"q": query, "words_only": found.words_only, "hits": [hit_json(hit) for hit in found.hits]},
        q=query,
        mistake=mistake,
        words_only=found.words_only,
        reason=found.reason,
        hits=[HitView(hit, found.marked, _url(hit), hit.score / best) for hit in found.hits],
    )


def _url(hit: Hit) -> str:
    if hit.time_from is not None:
        # The player begins there.
        return url_for("document.show", document_id=hit.document_id, _anchor=f"t={hit.time_from:.1f}")
    if hit.page_from:
        return url_for(
            "document.show", document_id=hit.document_id, page=hit.page_from, _anchor=f"page-{hit.page_from}"
        )
    return url_for(
        "document.chunks", document_id=hit.document_id, passage=hit.chunk_id, _anchor=f"passage-{hit.chunk_id}"
    )


def _limit() -> int:
    value = request.args.get("limit", "")
    if not value:
        return LIMIT
    return whole_number(value, "limit", LIMIT_MAX)
