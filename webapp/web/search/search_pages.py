"""GET /search: passages of the whole library or of one document, by words and by meaning."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from uuid import UUID

from flask import Blueprint, Response, request, url_for

from webapp.db import reading, reading_late
from webapp.library import facets, grid
from webapp.library.facets import Facets, FoundDocument
from webapp.pipeline.best_sentence import best_sentence
from webapp.pipeline.find import LIMIT, LIMIT_MAX, SearchResult, find
from webapp.search.grammar import Mistake, ParsedQuery, parse
from webapp.web import fragments
from webapp.web.access import current_user, get_document, org_id, services
from webapp.web.document_view import DocumentView, document_views
from webapp.web.errors import Problem
from webapp.web.numbers import DIGITS_MAX, whole_number
from webapp.web.query_mistakes import sentence
from webapp.web.reads import may_be_late
from webapp.web.search.hit_views import DocumentHits, HitView, grouped, view_of
from webapp.web.search.narrowing import Narrowing, narrowing
from webapp.web.shapes import document_json, hit_json

pages = Blueprint("search", __name__)

DOCUMENTS_SHOWN = 20


@dataclass(frozen=True)
class Asked:
    """A query as it was sent, and the document that it is about, where that is one."""

    q: str
    query: ParsedQuery
    document_id: UUID | None = None


@dataclass(frozen=True)
class Shown:
    """What the page has to show for a query."""

    found: SearchResult = field(default_factory=lambda: SearchResult([]))
    groups: Sequence[DocumentHits] = ()
    narrowing: Narrowing = field(default_factory=Narrowing)
    document: FoundDocument | None = None
    best: HitView | None = None
    best_parts: Sequence[Any] = ()
    documents: Sequence[DocumentView] | None = None
    """What a query of filters alone means; None where words are asked for, too."""
    has_more_documents: bool = False
    mistake: str | None = None


@pages.get("/search")
def show() -> Response:
    """The passages that answer best; for filters alone the documents that fulfil them; without both an invitation."""
    q, limit = request.args.get("q", "").strip(), _limit()
    document_id = _document_id()
    start = _start(q, document_id)
    try:
        asked = Asked(q, parse(q), document_id)
    except Mistake as mistake:
        if fragments.is_for_program():
            raise
        return fragments.invalid(
            _answer(Asked(q, ParsedQuery(), document_id), Shown(mistake=sentence(mistake))), "#hits"
        )
    if asked.query.groups and not asked.query.contents and document_id is None:
        return _answer(asked, _documents(asked))
    return _answer(asked, _hits(asked, limit, start))


def _hits(asked: Asked, limit: int, start: int) -> Shown:
    org = org_id()
    if asked.document_id is not None:
        get_document(asked.document_id)
    found = find(services(), org, asked.q, limit, start=start, document_id=asked.document_id, may_be_late=may_be_late())
    is_counted = bool(found.passages) and (not fragments.is_for_program() or request.args.get("filters") == "1")
    ids = {hit.document_id for hit in found.hits} | ({asked.document_id} if asked.document_id else set())
    with reading(org):
        counted = facets.count(org, found.passages) if is_counted else Facets(0)
        documents = facets.documents(org, ids)
    document = documents.get(asked.document_id) if asked.document_id else None
    best = best_sentence(found.hits, found.marked) if start == 0 else None
    return Shown(
        found=found,
        groups=grouped(found.hits, documents, found.marked, asked.q),
        narrowing=narrowing(asked.q, asked.query, document, counted),
        document=document,
        best=view_of(best.hit, found.marked, asked.q) if best else None,
        best_parts=best.parts if best else (),
    )


def _documents(asked: Asked) -> Shown:
    """Filters alone say which documents, and not which of their passages."""
    org = org_id()

    def read() -> Shown:
        page = grid.page(org, q=asked.q, limit=DOCUMENTS_SHOWN)
        views = document_views(services().queue, page.rows)
        return Shown(
            narrowing=narrowing(asked.q, asked.query, None, Facets(0)),
            documents=views,
            has_more_documents=page.next_cursor is not None,
        )

    return reading_late(org, read, may_be_late=may_be_late())


def _answer(asked: Asked, shown: Shown) -> Response:
    found = shown.found
    cursor = _cursor(asked.q, asked.document_id, found.next_start) if found.next_start else None
    around = fragments.without({"q": asked.q, "document": asked.document_id})
    return fragments.answer(
        page="search/page.html",
        fragment="search/_hits.html",
        data=lambda: _as_json(asked, shown, cursor),
        q=asked.q,
        document_id=asked.document_id,
        shown=shown,
        is_only_without=bool(asked.query.contents) and all(each.is_excluded for each in asked.query.contents),
        can_ask=_can_ask(),
        # A link from elsewhere must not make a paid call: only who submits the form of this page asks.
        asks_itself=asked.q.endswith("?") and fragments.wants_fragment(),
        is_continued="cursor" in request.args,
        first_url=url_for("search.show", **around),
        next_url=url_for("search.show", **around, cursor=cursor) if cursor else None,
        words_only=found.words_only,
        reason=found.reason,
    )


def _can_ask() -> bool:
    """Whether the page offers to answer the question, which costs money: not to those who only read."""
    user = current_user()
    may = user is not None and user.may_write
    return may and services().providers.answerer is not None and "cursor" not in request.args


def _as_json(asked: Asked, shown: Shown, cursor: str | None) -> dict[str, Any]:
    found = shown.found
    answer: dict[str, Any] = {
        "q": asked.q,
        "words_only": found.words_only,
        "hits": [hit_json(hit) for hit in found.hits],
        "next_cursor": cursor,
        "did_you_mean": found.did_you_mean,
    }
    optional: list[tuple[str, bool, Callable[[], Any]]] = [
        ("documents", shown.documents is not None, lambda: [document_json(view) for view in shown.documents or ()]),
        ("filters", request.args.get("filters") == "1", shown.narrowing.as_json),
    ]
    return answer | {name: make() for name, is_there, make in optional if is_there}


def _cursor(query: str, document_id: UUID | None, start: int) -> str:
    """The place behind the hits that were shown; it belongs to one query."""
    asked = query if document_id is None else f"{document_id} {query}"
    return f"{start}-{sha256(asked.encode()).hexdigest()[:12]}"


def _start(query: str, document_id: UUID | None) -> int:
    given = request.args.get("cursor", "")
    start = given.partition("-")[0]
    if not given:
        return 0
    is_number = start.isascii() and start.isdigit() and len(start) <= DIGITS_MAX
    if not (is_number and given == _cursor(query, document_id, int(start))):
        raise Problem(422, detail="cursor must be the next_cursor of an earlier answer to the same q.")
    return int(start)


def _document_id() -> UUID | None:
    value = request.args.get("document", "")
    try:
        return UUID(value) if value else None
    except ValueError as error:
        raise Problem(422, detail="document must be the id of a document.") from error


def _limit() -> int:
    value = request.args.get("limit", "")
    if not value:
        return LIMIT
    return whole_number(value, "limit", LIMIT_MAX)
