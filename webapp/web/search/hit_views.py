"""Hits as the result page shows them: grouped by document, each with its address and its snippet."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from webapp.library.facets import FoundDocument
from webapp.pipeline.markdown import plain
from webapp.search.query import Hit
from webapp.search.snippet import SnippetPart, snippet
from webapp.web.search.landing import address

HITS_OPEN = 3
"""So many hits of a document are shown at once; the others are folded below them."""


@dataclass(frozen=True)
class HitView:
    """A hit with its address."""

    hit: Hit
    words: Sequence[str]
    url: str

    @property
    def pieces(self) -> Sequence[SnippetPart]:
        """The lines that answer best; made when a page shows them, which programs never do."""
        return snippet(plain(self.hit.text), self.words)


@dataclass(frozen=True)
class DocumentHits:
    """The hits of one document, best first."""

    document: FoundDocument
    hits: Sequence[HitView]

    @property
    def shown(self) -> Sequence[HitView]:
        """Those that are seen at once."""
        return self.hits[:HITS_OPEN]

    @property
    def folded(self) -> Sequence[HitView]:
        """The others."""
        return self.hits[HITS_OPEN:]


def view_of(hit: Hit, words: Sequence[str], q: str) -> HitView:
    """A hit as it is shown for a query."""
    url = address(hit.document_id, hit.chunk_id, hit.text, q=q, time_from=hit.time_from)
    return HitView(hit, words, url)


def grouped(
    hits: Sequence[Hit], documents: Mapping[UUID, FoundDocument], words: Sequence[str], q: str
) -> list[DocumentHits]:
    """The hits by their documents, in the order of each document's best hit; a document that is gone has none."""
    groups: dict[UUID, list[HitView]] = {}
    for hit in hits:
        if hit.document_id in documents:
            groups.setdefault(hit.document_id, []).append(view_of(hit, words, q))
    return [DocumentHits(documents[document_id], found) for document_id, found in groups.items()]
