"""GET /search: passages of the whole library, by words and by meaning."""

import logging
from dataclasses import dataclass

import numpy as np
from flask import Blueprint, Response, request, url_for

from webapp.db import reading
from webapp.providers.errors import ProviderError
from webapp.search.query import Hit, search
from webapp.search.vectors import QueryVector
from webapp.search.words import clean_query
from webapp.web import fragments
from webapp.web.access import org_id, services
from webapp.web.errors import Problem

pages = Blueprint("search", __name__)

HITS = 20
HITS_MAX = 100
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class HitView:
    """A hit with its address, and how it compares to the best one."""

    hit: Hit
    url: str
    share: float


@pages.get("/search")
def show() -> Response:
    """The passages that answer best; without a question an invitation to ask."""
    query, limit = clean_query(request.args.get("q", "")), _limit()
    hits = _search(query, limit) if query else []
    best = max((hit.score for hit in hits), default=1.0)
    return fragments.answer(
        page="search/page.html",
        fragment="search/_hits.html",
        data=lambda: {"q": query, "hits": [_hit_json(hit) for hit in hits]},
        q=query,
        hits=[HitView(hit, _url(hit), hit.score / best) for hit in hits],
    )


def _search(query: str, limit: int) -> list[Hit]:
    found = services()
    # The question is embedded before a transaction is opened: none waits for a model.
    vector = _vector(query)
    org = org_id()
    with reading(org):
        return search(org, query, vector, limit, found.settings.data_dir / "index")


def _vector(query: str) -> QueryVector | None:
    """What the question means; where no model answers, words alone must do."""
    embedder = services().providers.embedder
    try:
        [values] = embedder.embed([query])
    except ProviderError as error:
        _log.warning("searching by words alone: %s", error.code)
        return None
    return QueryVector(embedder.model, np.asarray(values, dtype=np.float32))


def _url(hit: Hit) -> str:
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
        return HITS
    if not value.isascii() or not value.isdigit() or not 1 <= int(value[:9]) <= HITS_MAX:
        raise Problem(422, detail=f"limit must be from 1 to {HITS_MAX}.")
    return int(value)


def _hit_json(hit: Hit) -> dict[str, object]:
    return {
        "document_id": hit.document_id,
        "chunk_id": hit.chunk_id,
        "filename": hit.filename,
        "title": hit.title,
        "text": hit.text,
        "heading": hit.heading,
        "page_from": hit.page_from,
        "page_to": hit.page_to,
        "score": hit.score,
    }
