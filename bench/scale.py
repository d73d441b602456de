"""How search grows: PostgreSQL with some passages and with ten times as many, beside a plain query of pgvector's index.

Run as `python -m bench.scale [--passages 50000] [--times 10]`. The texts are sentences of openly available texts in
another order (bench/_library_of_texts.py). The vectors are made up: directions around 3,000 topics, as those of
passages are; a question's vector is near one of them. An org of a hundredth of the passages shares the tables. Rows are
copied past the application, and the indexes made at the end, so that it takes minutes and not hours.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID, uuid5

import numpy as np
import psycopg
from numpy.typing import NDArray
from pgvector.psycopg import register_vector

from bench import _library_of_texts as of_texts
from bench._library_of_texts import Text
from bench._place import Place, place
from bench._table import row, title
from tests.search.passages import new_org
from webapp.db import reading
from webapp.db.passage_words import INDEX
from webapp.search import neighbours
from webapp.search.grammar import parse
from webapp.search.index import NewChunk
from webapp.search.neighbours import Rules
from webapp.search.query import search
from webapp.search.scope import SearchScope
from webapp.search.vectors import INDEXED_MODELS, QueryVector, nearest
from webapp.search.wanted import wanted_of
from webapp.search.word_rows import DocumentNames, tsvector_of, words_of

MODEL, DIMENSIONS = next(iter(INDEXED_MODELS.items()))
TOPICS, SPREAD, SMALL_SHARE, PER_DOCUMENT, LINKED = 3_000, 0.6, 100, 100, 500
ASKED, TOP = 60, 10
VECTOR_INDEX = f"ix_chunks_embedding_{MODEL.partition('-')[0]}"
Vectors = NDArray[np.float32]


@dataclass
class Library:
    """The two orgs of a database, and what is asked of them."""

    at: Place
    large: UUID
    small: UUID
    questions: Sequence[str]
    peer: psycopg.Connection
    """A superuser's connection, with pgvector and nothing of ours."""
    passages: int = 0
    documents: int = 0

    def ask(self, text: str, vector: Vectors) -> None:
        """The whole search, as a page asks for it; the vector of the question is known."""
        wanted = wanted_of(parse(text))
        with reading(self.large):
            search(
                SearchScope(self.large), wanted, [QueryVector(MODEL, vector)], 20, self.at.settings.data_dir / "index"
            )


def main() -> None:
    """Measure at a size, then at a larger one, in one database."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passages", type=int, default=50_000)
    parser.add_argument("--times", type=int, default=10)
    options = parser.parse_args()
    texts = of_texts.texts(3_000)
    questions = [text.question for text in texts if text.question][:ASKED]
    more = of_texts.shuffled(texts, options.passages * max(1, options.times))
    with place("postgresql") as at, psycopg.connect(str(at.owner_url), autocommit=True) as peer:
        peer.execute("SET hnsw.ef_search = 100")
        peer.execute("SET maintenance_work_mem = '2GB'")
        register_vector(peer)
        library = Library(at, new_org(), new_org(), questions, peer)
        small = _measure(library, more, options.passages)
        if options.times > 1:
            large = _measure(library, more, options.passages * options.times)
            grown = large / small
            row(f"p50 at {options.times} times as many", f"{grown:.1f} times", wanted="≤ 2", holds=grown <= 2)


def _measure(library: Library, more: Iterator[Text], passages: int) -> float:
    """Fill up to so many passages, and show the figures; the seconds of half the searches."""
    began_at = time.perf_counter()
    _fill(library, more, passages)
    took = time.perf_counter() - began_at
    title(f"{library.passages:,} passages of two orgs on PostgreSQL, filled in {took:.0f} s")
    chance = np.random.default_rng(5)
    asked = [(text, _about(chance, 1)[0]) for text in library.questions]
    plain = _times(lambda each: _plain(library.peer, each[1]), asked)
    whole = _times(lambda each: library.ask(*each), asked)
    p50, p95 = (1000 * float(np.percentile(whole, share)) for share in (50, 95))
    beside = (
        f"pgvector alone {1000 * float(np.percentile(plain, 50)):.1f}, {1000 * float(np.percentile(plain, 95)):.1f}"
    )
    row(
        "whole search",
        f"p50 {p50:.1f}, p95 {p95:.1f} ms",
        wanted="p50 ≤ 15, p95 ≤ 40",
        beside=beside,
        holds=p50 <= 15 and p95 <= 40,
    )
    for name, org_id in (("the large org", library.large), ("the org of 1%", library.small)):
        _show_recall(library, name, org_id, [vector for _, vector in asked])
    _show_linking(library)
    return float(np.percentile(whole, 50))


def _times(ask: Callable[[tuple[str, Vectors]], object], asked: Sequence[tuple[str, Vectors]]) -> list[float]:
    taken = []
    for each in itertools.chain(asked, asked):
        began_at = time.perf_counter()
        ask(each)
        taken.append(time.perf_counter() - began_at)
    # The first round warms caches and plans.
    return taken[len(asked) :]


def _plain(peer: psycopg.Connection, vector: Vectors) -> None:
    """What pgvector takes for the nearest 100 of all rows, with no org, no words and no order of hits."""
    near = f"embedding::vector({DIMENSIONS}) <=> %s::vector({DIMENSIONS})"
    asked = f"SELECT id FROM chunks WHERE embedding_model = '{MODEL}' ORDER BY {near} LIMIT 100"
    peer.execute(asked.encode(), (vector,)).fetchall()


def _show_recall(library: Library, name: str, org_id: UUID, vectors: Sequence[Vectors]) -> None:
    right, took = 0, []
    for vector in vectors:
        with reading(org_id):
            began_at = time.perf_counter()
            found = nearest(SearchScope(org_id), QueryVector(MODEL, vector), 100, library.at.settings.data_dir)
            took.append(time.perf_counter() - began_at)
        exact = library.peer.execute(_EXACT, (org_id, vector)).fetchall()
        right += len({each.id for each in found[:TOP]} & {chunk_id for (chunk_id,) in exact})
    share = right / (TOP * len(vectors))
    p50 = 1000 * float(np.percentile(took, 50))
    row(f"recall@{TOP} of vectors, {name}", f"{share:.3f}, p50 {p50:.1f} ms", wanted="≥ .98", holds=share >= 0.98)


_EXACT = f"""
    SELECT id FROM chunks WHERE org_id = %s
    ORDER BY CASE WHEN embedding_model IS NOT NULL THEN embedding <=> %s END LIMIT {TOP}
""".encode()


def _show_linking(library: Library) -> None:
    first = library.peer.execute(
        "SELECT document_id FROM chunks WHERE org_id = %s LIMIT 1", (library.large,)
    ).fetchone()
    assert first
    some = library.peer.execute("SELECT id FROM chunks WHERE document_id = %s LIMIT %s", (first[0], LINKED)).fetchall()
    with reading(library.large):
        began_at = time.perf_counter()
        neighbours.by_index(library.large, first[0], MODEL, [chunk_id for (chunk_id,) in some], Rules())
        took = time.perf_counter() - began_at
    row(f"linking {len(some)} passages", f"{took:.2f} s", wanted="≤ 2 s", holds=took <= 2)


def _fill(library: Library, more: Iterator[Text], passages: int) -> None:
    """Add passages until there are so many, and make the indexes that were there before."""
    peer = library.peer
    made = [
        found[0] for name in (VECTOR_INDEX, INDEX) if (found := peer.execute(_DEFINED, (name,)).fetchone()) is not None
    ]
    peer.execute(f"DROP INDEX {VECTOR_INDEX}, {INDEX}".encode())
    chance = np.random.default_rng(library.passages)
    while library.passages < passages:
        number = library.documents = library.documents + 1
        org_id = library.small if number % SMALL_SHARE == 0 else library.large
        # The first document of the large org is the one that is linked.
        texts = [text for _ in range(LINKED // PER_DOCUMENT if number == 1 else 1) for text in next(more).passages]
        _add(peer, org_id, uuid5(org_id, str(number)), texts, _about(chance, len(texts)))
        library.passages += len(texts)
    for definition in made:
        peer.execute(definition.encode())
    peer.execute("VACUUM ANALYZE chunks")
    peer.execute("VACUUM ANALYZE chunk_words")
    peer.execute("ANALYZE documents")


_DEFINED = "SELECT indexdef FROM pg_indexes WHERE indexname = %s"


def _add(peer: psycopg.Connection, org_id: UUID, document_id: UUID, texts: Sequence[str], vectors: Vectors) -> None:
    chunks = [_chunk(document_id, place, text) for place, text in enumerate(texts)]
    name = DocumentNames(f"{document_id.hex[:6]}.md", language="en")
    peer.execute(_DOCUMENT, (document_id, org_id, name.filename, document_id.hex * 2, name.mark))
    with peer.cursor() as cursor:
        with cursor.copy(_CHUNKS) as copy:
            copy.set_types(["uuid", "uuid", "uuid", "int4", "text", "text", "vector", "text", "timestamptz"])
            for each, vector in zip(chunks, vectors, strict=True):
                copy.write_row((each.id, org_id, document_id, each.ordinal, each.text, "0" * 64, vector, MODEL, _NOW))
        with cursor.copy(_WORDS) as copy:
            for each in chunks:
                words = words_of(each, name)
                copy.write_row((each.id, org_id, document_id, words.signature, tsvector_of(org_id, each.id, words)))


_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_DOCUMENT = """
    INSERT INTO documents (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at,
        updated_at, words_by) VALUES (%s, %s, %s, 'text/plain', 1, %s, 'nowhere', 'PROCESSING', now(), now(), %s)
"""
_CHUNKS = """
    COPY chunks (id, org_id, document_id, ordinal, text, text_sha256, embedding, embedding_model, created_at)
    FROM STDIN (FORMAT BINARY)
"""
_WORDS = "COPY chunk_words (chunk_id, org_id, document_id, signature, words) FROM STDIN"


def _chunk(document_id: UUID, place: int, text: str) -> NewChunk:
    return NewChunk(uuid5(document_id, str(place)), place, text, "0" * 64, None, None, None, None, None)


def _about(chance: np.random.Generator, count: int) -> Vectors:
    """Directions that gather around topics, as those of real passages do."""
    rows = _TOPICS[chance.integers(0, TOPICS, count)] + SPREAD * _directions(chance, count)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def _directions(chance: np.random.Generator, count: int) -> Vectors:
    rows = chance.normal(size=(count, DIMENSIONS)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


_TOPICS = _directions(np.random.default_rng(1), TOPICS)


if __name__ == "__main__":
    main()
