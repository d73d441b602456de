"""The stage `detect_connections`: finds passages of other documents that are related to a document's own.

It is a job of its own after a result is published, and the document is READY before it. Meanwhile a newer result may
be published, and other documents may change or be deleted: connections that can't be stored any more are left out.
"""

from collections.abc import Iterator
from dataclasses import replace
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
from webapp.search.floors import likeness_of
from webapp.search.neighbours import Near, Nearest, Rules

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
        empty = passages.without_words(context.org_id, {end for near in found for end in (near.source, near.target)})
    for near in found:
        if near.source in empty or near.target in empty:
            continue
        # A quotation, boilerplate, another version.
        is_same = near.score >= likeness_of(model).near_duplicate
        kind = Kind.NEAR_DUPLICATE if is_same else Kind.SIMILAR
        yield Link(near.source, near.target, near.document_id, kind, near.score)


def _rules(context: StageContext, model: str) -> Rules:
    """How near passages must be: as the settings say, else as was measured for the model."""
    rules = context.linking
    return rules if rules.threshold else replace(rules, threshold=likeness_of(model).similar)


def _has_index(context: StageContext, model: str) -> bool:
    with db.reading(context.org_id):
        return neighbours.has_index(context.org_id, model)


def _by_comparing(context: StageContext, model: str) -> list[Near]:
    """Compare block by block, each in a short transaction; rows may come or go in between."""
    org_id, document_id = context.org_id, context.document_id
    with db.reading(org_id):
        own = neighbours.of_document(org_id, document_id, model)
    nearest, after = Nearest(own, _rules(context, model)), None
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
            yield from neighbours.by_index(org_id, document_id, model, part, _rules(context, model))
        context.progress((number + 1) * SOURCES_PER_QUERY / len(sources))


def _sharing(context: StageContext) -> Iterator[Link]:
    """Links by shared values, the rarest first, limited for each passage."""
    with db.reading(context.org_id):
        found = values.shared(context.org_id, context.document_id)
    best: dict[tuple[UUID, UUID], values.Shared] = {}
    for each in found:
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
    if _published(context) is None:
        return Stored(details={"overtaken": True})
    changed = connections.replace(org_id, document_id, links)
    details: dict[str, Any] = {"added": changed.added, "kept": changed.kept, "removed": changed.removed}
    return Stored(details=details | ({"vanished": changed.vanished} if changed.vanished else {}))
