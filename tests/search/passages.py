"""Documents with passages, put into the index as publish does it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4, uuid5

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import select

from tests.hashed_words import HashedWords
from webapp.accounts import orgs
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.search import index
from webapp.search.grammar import parse
from webapp.search.index import IndexChange, NewChunk
from webapp.search.model import Chunk
from webapp.search.query import Hit, search
from webapp.search.scope import SearchScope
from webapp.search.vectors import QueryVector, nearest
from webapp.search.wanted import wanted_of
from webapp.search.word_rows import DocumentNames

EMBEDDER = HashedWords()


def new_org() -> UUID:
    with transaction(everywhere=True):
        return orgs.create(uuid4().hex).id


def new_document(org_id: UUID, filename: str = "a.txt") -> UUID:
    document = Document(
        org_id=org_id,
        filename=filename,
        content_type="text/plain",
        size_bytes=1,
        sha256=uuid4().hex * 2,
        blob_path="nowhere",
    )
    with transaction(org_id) as opened:
        opened.add(document)
    return document.id


def chunk(document_id: UUID, ordinal: int, text: str, **more: Any) -> NewChunk:
    """A passage whose id follows from document and text, with its vector."""
    values = {
        "heading": None,
        "page_from": 1,
        "page_to": 1,
        "embedding": EMBEDDER.embed([text])[0],
        "embedding_model": EMBEDDER.model,
        **more,
    }
    return NewChunk(id=uuid5(document_id, text), ordinal=ordinal, text=text, text_sha256="0" * 64, **values)


def put(
    org_id: UUID, document_id: UUID, texts: Sequence[str], names: DocumentNames | None = None, **more: Any
) -> IndexChange:
    """Let the document hold these texts."""
    chunks = [chunk(document_id, place, text, **more) for place, text in enumerate(texts)]
    with transaction(org_id):
        return index.replace(org_id, document_id, chunks, names=names)


def put_vectors(org_id: UUID, model: str, vectors: NDArray[np.float32]) -> list[UUID]:
    """A document with a passage for each vector; the ids in their order."""
    document_id = new_document(org_id)
    chunks = [
        chunk(document_id, place, f"passage {place}", embedding=vector, embedding_model=model)
        for place, vector in enumerate(vectors)
    ]
    with transaction(org_id):
        index.replace(org_id, document_id, chunks)
    return [each.id for each in chunks]


def texts_of(org_id: UUID, document_id: UUID) -> list[str]:
    with reading(org_id) as opened:
        return list(opened.scalars(select(Chunk.text).where(Chunk.document_id == document_id).order_by(Chunk.ordinal)))


def random_directions(count: int, dimensions: int, seed: int = 1) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).normal(size=(count, dimensions)).astype(np.float32)
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), dtype=np.float32)


@dataclass(frozen=True)
class Searcher:
    """Asks one org, and keeps its matrices in one folder."""

    org_id: UUID
    folder: Path

    def by_words(self, text: str, limit: int = 10, start: int = 0) -> list[Hit]:
        with reading(self.org_id):
            return self._search(text, [], limit, start)

    def by_both(self, text: str, limit: int = 10) -> list[Hit]:
        vector = QueryVector(EMBEDDER.model, np.asarray(EMBEDDER.embed([text])[0], dtype=np.float32))
        with reading(self.org_id):
            return self._search(text, [vector], limit)

    def _search(self, text: str, vectors: list[QueryVector], limit: int, start: int = 0) -> list[Hit]:
        wanted = wanted_of(parse(text))
        return list(search(SearchScope(self.org_id), wanted, vectors, limit, self.folder, start=start).hits)

    def by_vector(self, text: str, limit: int = 10) -> list[str]:
        """The texts whose vectors come nearest."""
        return self.texts(self.near(EMBEDDER.model, np.asarray(EMBEDDER.embed([text])[0], dtype=np.float32), limit))

    def near(self, model: str, vector: NDArray[np.float32], limit: int = 10) -> list[UUID]:
        with reading(self.org_id):
            return [
                near.id for near in nearest(SearchScope(self.org_id), QueryVector(model, vector), limit, self.folder)
            ]

    def texts(self, ids: Sequence[UUID]) -> list[str]:
        with reading(self.org_id) as opened:
            rows = opened.execute(select(Chunk.id, Chunk.text).where(Chunk.id.in_(ids))).all()
        found = {row.id: row.text for row in rows}
        return [found[chunk_id] for chunk_id in ids]
