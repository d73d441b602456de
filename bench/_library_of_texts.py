"""A library of openly available texts: the descriptions of the installed packages, and this repository's documents."""

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import distributions
from typing import Any
from uuid import UUID, uuid4, uuid5

import numpy as np

from bench._place import ROOT
from tests.search.passages import new_document, new_org
from webapp.db import transaction
from webapp.pipeline.chunk import make_chunks
from webapp.providers.local.embed import LocalEmbedder
from webapp.readers.extraction import Extraction
from webapp.search import index
from webapp.search.index import NewChunk
from webapp.search.vectors import QueryVector

PASSAGES_PER_TEXT_MAX = 40
_CHARACTERS_MIN = 500
_TAG = re.compile(r"</?\w[^<>]*>|<!--")


@dataclass(frozen=True)
class Text:
    """A text as passages; `question` is one line that says what it is about, and does not occur in it."""

    name: str
    question: str | None
    passages: Sequence[str]


def texts(passages_max: int) -> list[Text]:
    """So many passages of texts, the same ones each time."""
    found: list[Text] = []
    for text in _all():
        if sum(len(each.passages) for each in found) + len(text.passages) > passages_max:
            continue
        found.append(text)
    return found


def _all() -> Iterator[Text]:
    for path in sorted((ROOT / "docs").glob("*.md")):
        yield Text(path.name, None, passages(_TAG.sub("", path.read_text(encoding="utf-8"))))
    for each in sorted(distributions(), key=lambda one: one.name):
        summary, text = each.metadata["Summary"], each.read_text("METADATA") or ""
        body = text.partition("\n\n")[2]
        # Tags of HTML are no text: pages don't show them, so nobody copies them.
        if summary and len(body) > _CHARACTERS_MIN and not _TAG.search(body):
            yield Text(each.name, summary, passages(body.replace(summary, ""))[:PASSAGES_PER_TEXT_MAX])


def passages(text: str) -> list[str]:
    """A text cut as documents are."""
    extraction = Extraction(markdown=text, page_count=None, extractor="bench", version="1")
    return [chunk.text for chunk in make_chunks(uuid4(), extraction)]


def shelve(library: Sequence[Text], embedder: LocalEmbedder | None, org_id: UUID | None = None) -> UUID:
    """Put texts into the index, as publish does it; the org that has them, a new one unless it is given."""
    org_id = org_id or new_org()
    for text in library:
        document_id = new_document(org_id, f"{text.name}.md")
        vectors: list[Any] = [None] * len(text.passages)
        if embedder is not None:
            vectors = embed(embedder, text.passages)
        chunks = [
            NewChunk(
                id=uuid5(document_id, str(place)),
                ordinal=place,
                text=passage,
                text_sha256="0" * 64,
                heading=None,
                page_from=None,
                page_to=None,
                embedding=vectors[place],
                embedding_model=embedder.model if embedder else None,
            )
            for place, passage in enumerate(text.passages)
        ]
        with transaction(org_id):
            index.replace(org_id, document_id, chunks, {})
    return org_id


def embed(embedder: LocalEmbedder, some: Sequence[str]) -> list[Any]:
    """A vector for each of these texts."""
    parts = [some[start : start + embedder.batch_size] for start in range(0, len(some), embedder.batch_size)]
    return [np.asarray(vector, dtype=np.float32) for part in parts for vector in embedder.embed(part)]


def query_vector(embedder: LocalEmbedder, query: str) -> QueryVector:
    """What a search compares with passages."""
    values = np.asarray(embedder.embed_query(query), dtype=np.float32)
    return QueryVector(embedder.model, values, has_words=embedder.knows_words_of(query))


def shuffled(library: Sequence[Text], count: int, seed: int = 1) -> Iterator[Text]:
    """As many passages as one likes, of sentences of these texts in another order: 100 to a text."""
    chance = random.Random(seed)
    sentences = [line for text in library for passage in text.passages for line in passage.split("\n") if line.strip()]
    for number in range(0, count, 100):
        some = [" ".join(chance.sample(sentences, 12))[:900] + f" No {number + place}." for place in range(100)]
        yield Text(f"shuffled-{number}", None, some)


def nonsense(count: int, seed: int = 1) -> list[str]:
    """Random strings, of one word and of several."""
    chance, letters = random.Random(seed), "abcdefghijklmnopqrstuvwxyz0123456789"
    return [
        " ".join("".join(chance.choices(letters, k=chance.randint(5, 14))) for _ in range(chance.choice((1, 1, 2, 3))))
        for _ in range(count)
    ]
