"""A document of 30,000 passages is published in one transaction, which may take its time but never idles."""

import re
from typing import Any
from uuid import UUID, uuid4, uuid5

import numpy as np
import psycopg
import pytest
from sqlalchemy import func, select, text

from tests.bare import DatabaseUnderTest, dispose, make_bare_app
from tests.pipeline.workplace import Fallible, Workplace, make_workplace, prose
from tests.worker.bench import wait_for
from webapp.clock import monotonic
from webapp.config import Settings
from webapp.db import engines, reading, transaction
from webapp.db.half_sent import end_half_sent
from webapp.pipeline import publish
from webapp.pipeline.description import description_of
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import Extraction, Page
from webapp.readers.filetypes import PDF
from webapp.runs.stages import PUBLISH
from webapp.search import index, values
from webapp.search.index import NewChunk
from webapp.search.model import Chunk

PASSAGES, DIMENSIONS = 30_000, 64


@pytest.fixture
def place(settings: Settings, local_extractor: LocalExtractor) -> Any:
    """A workplace with the product's own limit of idling in a transaction."""
    app = make_bare_app(settings)
    with app.app_context():
        yield make_workplace(settings, local_extractor)
    dispose(app)


def chunks_of(document_id: UUID, first: int) -> list[NewChunk]:
    """Passages of which each has a code; those of the next result begin one later."""
    vectors = np.random.default_rng(7).standard_normal((PASSAGES, DIMENSIONS)).astype(np.float32)
    return [
        NewChunk(
            id=uuid5(document_id, str(number)),
            ordinal=ordinal,
            text=f"Passage {number} of order KX-{100_000 + number}, and some words about harbours and lights. " * 4,
            text_sha256="0" * 64,
            heading=f"Chapter {number // 100}",
            page_from=number // 10,
            page_to=number // 10,
            embedding=vectors[ordinal],
            embedding_model="hashed-words-64",
        )
        for ordinal, number in enumerate(range(first, first + PASSAGES))
    ]


def publish_large(place: Workplace, first: int) -> float:
    """Publish the result of the job that is next in line, by the product's own step; the seconds that it took."""
    context = place.context(place.claim())
    chunks = chunks_of(context.document_id, first)
    with reading(place.org_id):
        stored = index.stored_chunks(place.org_id, context.document_id)
    pages = tuple(Page(number, "text") for number in range(1, 3_001))
    extraction = Extraction("tests", "1", "text", pages=pages, page_count=3_000, title="Large")
    result = publish.Result(
        extraction=extraction,
        chunks=chunks,
        stored=stored,
        embedding=chunks[0].embedding,
        model="hashed-words-64",
        description=description_of(extraction, PDF),
        artifacts={},
        found_values=values.values_in(chunks, []),
    )
    began_at = monotonic()
    context.step(
        PUBLISH, lambda: result, lambda found: publish._store(context, found), lambda: publish.end_published(context)
    )
    return monotonic() - began_at


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.timeout(300)
def test_thirty_thousand_passages_are_published(place: Workplace, record_property: Any) -> None:
    document_id = place.upload(b"some words").document.id
    seconds = [publish_large(place, first=0)]
    place.claim()
    place.reprocess(document_id)
    # All but one keep their rows, and each of them moves.
    seconds.append(publish_large(place, first=1))
    record_property("seconds", seconds)
    document = place.document(document_id)
    assert (document.status, document.title) == ("READY", "Large")
    with reading(place.org_id) as opened:
        found = opened.execute(select(func.count(), func.min(Chunk.ordinal), func.max(Chunk.ordinal))).one()
        last = opened.scalars(select(Chunk.text).where(Chunk.ordinal == PASSAGES - 1)).one()
    assert tuple(found) == (PASSAGES, 0, PASSAGES - 1)
    assert last.startswith(f"Passage {PASSAGES} ")


_MANY_CHUNKS = """
INSERT INTO chunks (id, org_id, document_id, ordinal, text, text_sha256, created_at)
SELECT gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), n, repeat('x', 500), '', now()
FROM generate_series(1, 2000) AS n
"""


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_chunk_is_found_by_its_id_whatever_the_statistics_say(bare_app: Any, database: DatabaseUnderTest) -> None:
    """Statistics of a moment at which a first large document was being stored: many pages, and no rows."""
    assert database.superuser_url is not None
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        connection.execute("SET session_replication_role = replica")
        connection.execute(_MANY_CHUNKS)
        connection.execute("UPDATE pg_class SET relpages = 5000, reltuples = 0 WHERE relname = 'chunks'")
    moved = f"EXPLAIN UPDATE chunks SET ordinal = 1 WHERE org_id = '{uuid4()}' AND id = '{uuid4()}'"
    with reading(everywhere=True) as opened:
        plan = "\n".join(opened.scalars(text(moved)))
    assert re.search(r"Index Cond: .*\bid =", plan), plan


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
class TestTimeouts:
    def shown(self, name: str) -> str:
        with reading(everywhere=True) as opened:
            return str(opened.scalar(text(f"SHOW {name}")))

    def test_a_session_that_idles_in_its_transaction_ends_and_a_long_one_does_not(
        self, bare_app: Any, database: DatabaseUnderTest
    ) -> None:
        assert self.shown("idle_in_transaction_session_timeout") == "10s"
        assert self.shown("statement_timeout") == "0"
        with reading(everywhere=True) as opened:
            known = opened.scalar(text("SELECT setting FROM pg_settings WHERE name = 'transaction_timeout'"))
        assert known in {None, "0"}

    def test_a_statement_that_is_half_sent_holds_rows_for_a_limited_time(
        self, workplace: Workplace, database: DatabaseUnderTest
    ) -> None:
        """Its client froze while it was sending; to the server it is not idle in its transaction."""
        url = database.url.replace("postgresql+psycopg", "postgresql")
        with psycopg.connect(url, application_name="docmill") as frozen:
            frozen.execute("SELECT set_config('app.scope', 'system', true)")
            frozen.execute("SELECT FROM orgs FOR UPDATE")
            frozen.pgconn.enter_pipeline_mode()
            # The first message of a statement, and no end of it.
            frozen.pgconn.send_prepare(b"half", b"SELECT 1")
            frozen.pgconn.flush()
            wait_for(lambda: end_half_sent(0.3) == 1)
            # Not NOWAIT: the server ends the session a moment after it was told to.
            with transaction(everywhere=True) as opened:
                opened.execute(text("SELECT FROM orgs FOR UPDATE"))
            assert end_half_sent(0.3) == 0
            frozen.pgconn.finish()

    def test_behind_a_pooler_each_transaction_says_it(
        self, settings: Settings, database: DatabaseUnderTest, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A pooler drops what a connection asks for when it is made, and hands each transaction to another session."""
        monkeypatch.setattr(engines, "is_direct", lambda connection: False)
        monkeypatch.setattr(engines, "_SERVER_KEEPALIVES", "-c idle_in_transaction_session_timeout=0 -c lock_timeout=0")
        app = make_bare_app(settings)
        with app.app_context():
            assert self.shown("idle_in_transaction_session_timeout") == "10s"
            assert self.shown("lock_timeout") == "30s"
        dispose(app)

    def test_many_rows_are_never_sent_ahead_of_their_answers(
        self, workplace: Workplace, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The driver's own way would: a client that is frozen meanwhile looks to the server as if it were at work."""

        def pipelined(cursor: Any, *_: Any) -> None:
            raise AssertionError("rows were sent ahead of their answers")

        monkeypatch.setattr(psycopg.Cursor, "executemany", pipelined)
        document = workplace.connected(prose(4), "story.md")
        assert len(workplace.chunks(document.id)) > 2
        workplace.with_embedder(Fallible(model="another"))
        workplace.reprocess(document.id)
        workplace.process()
        assert {chunk.embedding_model for chunk in workplace.chunks(document.id)} == {"another"}
