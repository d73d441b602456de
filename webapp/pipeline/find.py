"""Answers a search: embeds the query, then searches the index."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from webapp import db
from webapp.jobs.interruptions import WaitReason
from webapp.library import lookup
from webapp.pipeline.paid_calls.query_vectors import NotAsked, query_vector
from webapp.provider_errors import ProviderError
from webapp.providers.ports import Embedder
from webapp.search.query import Hit, search
from webapp.search.vectors import QueryVector
from webapp.search.words import clean_query
from webapp.services import Services

_log = logging.getLogger(__name__)

LIMIT = 20
LIMIT_MAX = 100


@dataclass(frozen=True)
class SearchResult:
    """The hits; `words_only` where the query could not be embedded, and why."""

    hits: Sequence[Hit]
    words_only: bool = False
    reason: WaitReason | None = None
    """None where the provider does not answer."""


def find(services: Services, org_id: UUID, text: str, limit: int = LIMIT, *, may_be_late: bool = False) -> SearchResult:
    """Search an org's published passages, perhaps as they were some seconds ago.

    No transaction is open while the query is embedded.
    """
    query = clean_query(text)
    if not query:
        return SearchResult([])
    reason, known = None, []
    for embedder in _embedders(services, org_id):
        try:
            known.append(QueryVector(embedder.model, query_vector(services, org_id, embedder, query)))
        except NotAsked as refusal:
            reason = refusal.reason
        except ProviderError as error:
            _log.warning("searching by words alone: %s %s", error.code, error.message)
    folder = services.settings.data_dir / "index"
    hits = db.reading_late(
        org_id, lambda: search(org_id, query, known, min(limit, LIMIT_MAX), folder), may_be_late=may_be_late
    )
    return SearchResult(hits, words_only=not known, reason=None if known else reason)


def _embedders(services: Services, org_id: UUID) -> list[Embedder]:
    """An embedder for each model whose vectors the org has: two while a model is being changed."""
    providers = services.providers
    with db.reading(org_id):
        used = lookup.embedding_models(org_id)
    found = [providers.embedder_for(model) for model in used]
    return [embedder for embedder in found if embedder is not None] or [providers.embedder]
