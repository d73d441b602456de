"""The stage `detect_connections`: finds passages of other documents that are related to a document's own.

It is a job of its own after a result is published, and the document is READY before it. Meanwhile a newer result may
be published, and other documents may change or be deleted: connections that can't be stored any more are left out.
"""

from collections.abc import Iterator
from itertools import groupby, islice
from typing import Any
from uuid import UUID

from sqlalchemy import select

from webapp import db
from webapp.batches import batches
from webapp.documents.model import Document
from webapp.jobs.queue import Lease, NewJob
from webapp.jobs.states import Priority
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.runs.stages import CONNECT, DETECT_CONNECTIONS
from webapp.search import connections, neighbours, passages, values
from webapp.search.connections import Kind, Link
from webapp.search.link_floors import link_floor_of
from webapp.search.neighbours import Near, Nearest

SOURCES_PER_QUERY = 200
# Nothing is paid for here, so more attempts cost nothing.
ATTEMPTS_LEAST = 3


def follow_up(lease: Lease, job_attempts: int) -> NewJob:
    """The job to enqueue after a result is published."""
    return NewJob(
        org_id=lease.org_id,
        run=lease.run,
        stage=DETECT_CONNECTIONS,
        max_attempts=max(ATTEMPTS_LEAST, job_attempts),
        priority=Priority.BACKGROUND,
    )


def detect_connections(context: StageContext) -> None:
    """Find the connections of what this run has published, and store them together with the job's end."""
    context.step(
        CONNECT,
        lambda: _find(context),
        lambda links: _store(context, links),
        end=lambda: context.queue.complete(context.lease),
    )


def _find(context: StageContext) -> list[Link]:
    published = _published(context)
    if published is None:
        return []
    return [*_near(context, published), *_sharing(context)]


def _published(context: StageContext) -> str | None:
    """The model of the result's vectors; None if another run's result, which has its own job, is published now."""
    with db.reading(context.org_id) as session:
        row = session.execute(
            select(Document.published_run_id, Document.embedding_model).where(
                Document.org_id == context.org_id, Document.id == context.document_id
            )
        ).one_or_none()
    if row is None or row.published_run_id != context.run_id:
        return None
    return str(row.embedding_model)


def _near(context: StageContext, model: str) -> Iterator[Link]:
    found = list(_by_index(context, model) if _has_index(context, model) else _by_comparing(context, model))
    with db.reading(context.org_id):
        scraps = passages.scraps(context.org_id, {end for near in found for end in (near.source, near.target)})
    same_text = link_floor_of(model).same_text
    for near in found:
        if near.source in scraps or near.target in scraps:
            continue
        kind = Kind.NEAR_DUPLICATE if near.score >= same_text else Kind.SIMILAR
        yield Link(near.source, near.target, near.document_id, kind, near.score)


def _has_index(context: StageContext, model: str) -> bool:
    with db.reading(context.org_id):
        return neighbours.has_index(context.org_id, model)


def _by_comparing(context: StageContext, model: str) -> list[Near]:
    """Compare block by block, each in a short transaction; rows may come or go in between."""
    org_id, document_id = context.org_id, context.document_id
    with db.reading(org_id):
        own = neighbours.of_document(org_id, document_id, model)
    nearest, after = Nearest(own, context.linking, model), None
    while True:
        context.check()
        with db.reading(org_id):
            block = neighbours.of_others(org_id, document_id, model, after)
        if not block.ids:
            return nearest.found()
        nearest.meet(block)
        after = block.ids[-1]


def _by_index(context: StageContext, model: str) -> Iterator[Near]:
    org_id, document_id = context.org_id, context.document_id
    with db.reading(org_id):
        sources = list(neighbours.of_document(org_id, document_id, model).ids)
    for number, part in enumerate(batches(sources, SOURCES_PER_QUERY)):
        context.check()
        with db.reading(org_id):
            yield from neighbours.by_index(org_id, document_id, model, part, context.linking)
        context.progress((number + 1) * SOURCES_PER_QUERY / len(sources))


def _sharing(context: StageContext) -> Iterator[Link]:
    """Links by shared values, the rarest first, limited for each passage."""
    with db.reading(context.org_id):
        found = values.shared(context.org_id, context.document_id)
        scraps = passages.scraps(context.org_id, {end for each in found for end in (each.source, each.target)})
    best: dict[tuple[UUID, UUID], values.Shared] = {}
    for each in found:
        if each.source in scraps or each.target in scraps:
            continue
        key = (each.source, each.target)
        if key not in best or each.rarity > best[key].rarity:
            best[key] = each
    ordered = sorted(best.values(), key=lambda each: (each.source, -each.rarity, each.target))
    for _, of_passage in groupby(ordered, key=lambda each: each.source):
        for each in islice(of_passage, context.linking.count):
            yield Link(each.source, each.target, each.document_id, Kind.SHARED_VALUE, each.rarity)


def _store(context: StageContext, links: list[Link]) -> Stored:
    """Store all links; none if another result was published meanwhile, which has its own job."""
    org_id, document_id = context.org_id, context.document_id
    connections.lock_documents(org_id, {document_id, *(link.document_id for link in links)})
    model = _published(context)
    if model is None:
        return Stored(details={"overtaken": True})
    changed = connections.replace(org_id, document_id, links)
    connections.remove(org_id, _outdated(org_id, document_id, model))
    details: dict[str, Any] = {"added": changed.added, "kept": changed.kept, "removed": changed.removed}
    return Stored(details=details | ({"vanished": changed.vanished} if changed.vanished else {}))


def _outdated(org_id: UUID, document_id: UUID, model: str) -> list[Link]:
    """What other documents found in this one by vectors of an earlier model, while it had no newer ones.

    The present vectors give another score. Where the two are still near, this document has just found the other one.
    """
    found = connections.found_by_others(org_id, document_id, model)
    scores = neighbours.scores(org_id, [(link.source, link.target) for link in found], model)
    return [
        link
        for link, score in zip(found, scores, strict=True)
        if score is not None and abs(score - link.score) > connections.SCORE_TOLERANCE
    ]
