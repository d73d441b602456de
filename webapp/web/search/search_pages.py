"""GET /search: passages of the whole library, by words and by meaning."""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from flask import Blueprint, Response, request, url_for

from webapp.pipeline.find import LIMIT, LIMIT_MAX, SearchResult, find
from webapp.pipeline.markdown import plain
from webapp.search.grammar import Mistake
from webapp.search.query import Hit
from webapp.search.snippet import SnippetPart, snippet
from webapp.web import fragments
from webapp.web.access import org_id, services
from webapp.web.errors import Problem
from webapp.web.numbers import DIGITS_MAX, whole_number
from webapp.web.query_mistakes import sentence
from webapp.web.reads import may_be_late
from webapp.web.search.landing import landing
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
        found = find(services(), org_id(), query, limit, start=_start(query), may_be_late=may_be_late())
    except Mistake as mistake:
        if fragments.is_for_program():
            raise
        return fragments.invalid(_answer(query, SearchResult([]), sentence(mistake)), "#hits")
    return _answer(query, found)


def _answer(query: str, found: SearchResult, mistake: str | None = None) -> Response:
    cursor = _cursor(query, found.next_start) if found.next_start else None
    best = max((hit.score for hit in found.hits), default=0.0) or 1.0
    return fragments.answer(
        page="search/page.html",
        fragment="search/_hits.html",
        data=lambda: {
            "q": query,
            "words_only": found.words_only,
            "hits": [hit_json(hit) for hit in found.hits],
            "next_cursor": cursor,
            "did_you_mean": found.did_you_mean,
        },
        q=query,
        mistake=mistake,
        is_continued="cursor" in request.args,
        next_url=url_for("search.show", q=query, cursor=cursor) if cursor else None,
        words_only=found.words_only,
        did_you_mean=found.did_you_mean,
        reason=found.reason,
        hits=[HitView(hit, found.marked, _url(hit, found.marked), hit.score / best) for hit in found.hits],
    )


def _url(hit: Hit, words: Sequence[str]) -> str:
    if hit.time_from is not None:
        # The player begins there.
        return url_for("document.show", document_id=hit.document_id, _anchor=f"t={hit.time_from:.1f}")
    place = landing(hit.text, words)
    if hit.page_from:
        anchor = f"page-{hit.page_from}{place}"
        return url_for("document.show", document_id=hit.document_id, page=hit.page_from, _anchor=anchor)
    anchor = f"passage-{hit.chunk_id}{place}"
    return url_for("document.chunks", document_id=hit.document_id, passage=hit.chunk_id, _anchor=anchor)


def _cursor(query: str, start: int) -> str:
    """The place behind the hits that were shown; it belongs to one query."""
    return f"{start}-{sha256(query.encode()).hexdigest()[:12]}"


def _start(query: str) -> int:
    given = request.args.get("cursor", "")
    start = given.partition("-")[0]
    if not given:
        return 0
    if not (start.isascii() and start.isdigit() and len(start) <= DIGITS_MAX and given == _cursor(query, int(start))):
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer to the same q.")
    return int(start)


def _limit() -> int:
    value = request.args.get("limit", "")
    if not value:
        return LIMIT
    return whole_number(value, "limit", LIMIT_MAX)
