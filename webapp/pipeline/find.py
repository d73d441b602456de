"""Answers a search: embeds the query, then searches the index."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from webapp import db
from webapp.jobs.interruptions import WaitReason
from webapp.library import filtered, lookup
from webapp.pipeline.paid_calls.query_vectors import NotAsked, query_vector
from webapp.provider_errors import ProviderError
from webapp.providers.ports import Embedder
from webapp.search import spelling
from webapp.search.grammar import ParsedQuery, parse
from webapp.search.query import FoundHits, Hit, search
from webapp.search.scope import SearchScope
from webapp.search.vectors import QueryVector
from webapp.search.wanted import wanted_of
from webapp.services import Services

_log = logging.getLogger(__name__)

LIMIT = 20
LIMIT_MAX = 100
# So many documents that fulfil a filter are searched by themselves.
DOCUMENTS_SEARCHED_MAX = 1_000


@dataclass(frozen=True)
class SearchResult:
    """The hits; `words_only` where the query could not be embedded, and why."""

    hits: Sequence[Hit]
    words_only: bool = False
    reason: WaitReason | None = None
    """None where the provider does not answer."""
    next_start: int | None = None
    """The number of the next hit; None where there are no more."""
    marked: Sequence[str] = ()
    """The words that were looked for."""
    passages: Sequence[UUID] = ()
    """All passages that were found, best first, of which `hits` are some."""
    did_you_mean: str | None = None
    """Another query, where words of this one occur nowhere, or hardly."""


def find(
    services: Services,
    org_id: UUID,
    text: str,
    limit: int = LIMIT,
    *,
    start: int = 0,
    document_id: UUID | None = None,
    may_be_late: bool = False,
) -> SearchResult:
    """Search an org's published passages, perhaps as they were some seconds ago; Mistake for a query that is wrong.

    With `document_id`, those of one document alone. No transaction is open while the query is embedded.
    """
    query = parse(text)
    wanted = wanted_of(query)
    if wanted.is_empty:
        return SearchResult([])
    reason, known = None, []
    # Phrases and beginnings alone are found by their words, and nothing is paid for.
    for embedder in _embedders(services, org_id) if wanted.words else ():
        try:
            values = query_vector(services, org_id, embedder, wanted.text)
            known.append(QueryVector(embedder.model, values, has_words=embedder.knows_words_of(wanted.text)))
        except NotAsked as refusal:
            reason = refusal.reason
        except ProviderError as error:
            _log.warning("searching by words alone: %s %s", error.code, error.message)
    folder = services.settings.data_dir / "index"
    limit = min(limit, LIMIT_MAX)

    def read() -> tuple[FoundHits, str | None]:
        hits = search(_scope(org_id, query, document_id), wanted, known, limit, folder, start=start)
        may_be_misspelt = start == 0 and hits.with_all_words <= spelling.RARE
        return hits, spelling.corrected(org_id, query) if may_be_misspelt else None

    found, did_you_mean = db.reading_late(org_id, read, may_be_late=may_be_late)
    return SearchResult(
        found.hits,
        words_only=bool(wanted.words) and not known,
        reason=None if known else reason,
        next_start=start + limit if found.has_more else None,
        marked=wanted.marked,
        passages=found.passages,
        did_you_mean=did_you_mean,
    )


def _scope(org_id: UUID, query: ParsedQuery, document_id: UUID | None) -> SearchScope:
    """Where to look: in one document, in the few that fulfil the filters, or in all, where many do."""
    if document_id is not None:
        return SearchScope(org_id, list(filtered.which(org_id, query, {document_id})))
    if not query.filters:
        return SearchScope(org_id)
    documents = filtered.few(org_id, query, DOCUMENTS_SEARCHED_MAX)
    if documents is not None:
        return SearchScope(org_id, documents)
    return SearchScope(org_id, matching=lambda ids: filtered.which(org_id, query, ids))


def _embedders(services: Services, org_id: UUID) -> list[Embedder]:
    """An embedder for each model whose vectors the org has: two while a model is being changed."""
    providers = services.providers
    with db.reading(org_id):
        used = lookup.embedding_models(org_id)
    found = [providers.embedder_for(model) for model in used]
    return [embedder for embedder in found if embedder is not None] or [providers.embedder]
