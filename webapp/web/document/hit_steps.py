"""The hits of one query in one document, in the order of its text: the one that is shown, and those around it."""

from dataclasses import dataclass
from uuid import UUID

from flask import request, url_for

from webapp.db import reading
from webapp.pipeline.find import LIMIT_MAX, find
from webapp.search import passages
from webapp.search.grammar import Mistake, parse
from webapp.web.access import org_id, services
from webapp.web.document.text_view import AskedPassage
from webapp.web.reads import may_be_late
from webapp.web.search.landing import address


@dataclass(frozen=True)
class HitSteps:
    """Where a reader is among the hits; `number` is None where the shown passage is none of them."""

    q: str
    total: int
    has_more: bool
    number: int | None
    previous_url: str | None
    next_url: str | None
    all_url: str


def first(document_id: UUID) -> HitSteps | None:
    """The way to the first hit of the query that the address has; None where it has none. Mistake."""
    q = request.args.get("q", "")
    if not q.strip():
        return None
    parse(q)
    return around(document_id, AskedPassage(None, "", q))


def around(document_id: UUID, shown: AskedPassage) -> HitSteps | None:
    """The hits around a passage; None where no query led to it."""
    if not shown.q.strip():
        return None
    org = org_id()
    try:
        found = find(services(), org, shown.q, LIMIT_MAX, document_id=document_id, may_be_late=may_be_late())
    except Mistake:
        return None
    with reading(org):
        numbers = passages.numbers_of(org, [hit.chunk_id for hit in found.hits])
    hits = sorted((hit for hit in found.hits if hit.chunk_id in numbers), key=lambda hit: numbers[hit.chunk_id])
    urls = [address(document_id, hit.chunk_id, hit.text, q=shown.q, time_from=hit.time_from) for hit in hits]
    ids = [hit.chunk_id for hit in hits]
    at = ids.index(shown.id) if shown.id in ids else None
    return HitSteps(
        q=shown.q,
        total=len(hits),
        has_more=found.next_start is not None,
        number=None if at is None else at + 1,
        previous_url=urls[at - 1] if at else None,
        next_url=urls[0 if at is None else at + 1] if hits and (at is None or at + 1 < len(hits)) else None,
        all_url=url_for("search.show", q=shown.q, document=document_id),
    )
