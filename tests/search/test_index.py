"""Writing the index: only differences are written, and nothing is left of what is gone."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import delete, select, text
from sqlalchemy.exc import IntegrityError

from tests.search.passages import Searcher, chunk, new_document, new_org, put, texts_of
from webapp.clock import monotonic
from webapp.db import db, reading, transaction
from webapp.documents.model import Document
from webapp.search import index
from webapp.search.index import IndexChange, in_free_places
from webapp.search.model import Chunk, Connection


def test_a_first_result_is_added(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id)

    assert put(searcher.org_id, document_id, ["one", "two", "three"]) == IndexChange(added=3, kept=0, removed=0)
    assert texts_of(searcher.org_id, document_id) == ["one", "two", "three"]


def test_what_did_not_change_keeps_its_row_and_its_connections(searcher: Searcher) -> None:
    org_id = searcher.org_id
    document_id, other_id = new_document(org_id), new_document(org_id)
    put(org_id, document_id, ["one", "two", "three"])
    put(org_id, other_id, ["elsewhere"])
    ends = {"source_chunk_id": chunk(document_id, 0, "two").id, "target_chunk_id": chunk(other_id, 0, "elsewhere").id}
    with transaction(org_id) as opened:
        opened.add(Connection(org_id=org_id, kind="similar", score=0.9, **ends))
        before = dict(opened.execute(select(Chunk.text, Chunk.created_at)).all())

    replaced = put(org_id, document_id, ["zero", "two", "one"])

    assert replaced == IndexChange(added=1, kept=2, removed=1)
    assert texts_of(org_id, document_id) == ["zero", "two", "one"]
    with reading(org_id) as opened:
        after = dict(opened.execute(select(Chunk.text, Chunk.created_at)).all())
        assert opened.scalars(select(Connection.score)).all() == [0.9]
    assert {text: after[text] for text in ("one", "two", "elsewhere")} == {
        text: before[text] for text in ("one", "two", "elsewhere")
    }


def test_passages_can_change_places(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id)
    letters = list("abcdefgh")
    put(searcher.org_id, document_id, letters)

    assert put(searcher.org_id, document_id, letters[::-1]) == IndexChange(added=0, kept=8, removed=0)
    assert texts_of(searcher.org_id, document_id) == letters[::-1]


def test_a_passage_takes_on_a_new_heading_page_and_model(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id)
    put(searcher.org_id, document_id, ["one"])

    put(searcher.org_id, document_id, ["one"], heading="News", page_from=2, page_to=3, embedding_model="newer")

    with reading(searcher.org_id) as opened:
        row = opened.scalars(select(Chunk)).one()
        assert (row.heading, row.page_from, row.page_to, row.embedding_model) == ("News", 2, 3, "newer")
    assert [hit.heading for hit in searcher.by_words("news")] == ["News"]


def test_a_failed_replacement_leaves_the_old_result(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id)
    put(searcher.org_id, document_id, ["one", "two"])

    doubled = [chunk(document_id, 0, "one"), chunk(document_id, 0, "three")]
    with pytest.raises(IntegrityError), transaction(searcher.org_id):
        index.replace(searcher.org_id, document_id, doubled)

    assert texts_of(searcher.org_id, document_id) == ["one", "two"]


@pytest.mark.slow
def test_three_thousand_passages_are_replaced_in_bulk(searcher: Searcher) -> None:
    document_id = new_document(searcher.org_id)
    texts = [f"passage number {number}" for number in range(3000)]
    put(searcher.org_id, document_id, texts)

    started = monotonic()
    replaced = put(searcher.org_id, document_id, ["a new beginning", *texts[:1500], *texts[1501:]])

    assert replaced == IndexChange(added=1, kept=2999, removed=1)
    assert monotonic() - started < 10
    assert texts_of(searcher.org_id, document_id)[:2] == ["a new beginning", texts[0]]


def test_a_deleted_document_is_in_no_index_any_more(searcher: Searcher) -> None:
    document_id, kept_id = new_document(searcher.org_id), new_document(searcher.org_id)
    put(searcher.org_id, document_id, ["the secret recipe"])
    put(searcher.org_id, kept_id, ["the public recipe"])
    assert len(searcher.by_both("recipe")) == 2

    with transaction(searcher.org_id) as opened:
        opened.execute(delete(Document).where(Document.id == document_id))

    assert [hit.document_id for hit in searcher.by_both("secret recipe")] == [kept_id]
    if db.engine.dialect.name == "sqlite":
        with reading(searcher.org_id) as opened:
            assert opened.scalar(text("SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'secret'")) == 0
            assert opened.scalar(text("SELECT count(*) FROM chunks_fts_ids")) == 1
            opened.execute(text("SELECT rank FROM chunks_fts WHERE chunks_fts MATCH 'recipe' ORDER BY rank")).all()


def test_a_deleted_org_leaves_nothing(searcher: Searcher) -> None:
    other = new_org()
    put(other, new_document(other), ["somebody else's words"])
    with transaction(everywhere=True) as opened:
        opened.execute(text("DELETE FROM orgs WHERE id = :id"), {"id": other.hex if _on_sqlite() else other})

    with reading(everywhere=True) as opened:
        assert opened.scalars(select(Chunk.id)).all() == []
        if _on_sqlite():
            assert opened.scalar(text("SELECT count(*) FROM chunks_fts_ids")) == 0


def _on_sqlite() -> bool:
    return bool(db.engine.dialect.name == "sqlite")


@given(st.permutations(range(12)), st.sets(st.integers(0, 20), min_size=12, max_size=12))
def test_moves_never_meet(order: list[int], targets: set[int]) -> None:
    places = {UUID(int=number): number for number in range(12)}
    wanted = dict(zip(places, (sorted(targets)[number] for number in order), strict=True))

    for who, place in in_free_places([(places[who], wanted[who], who) for who in places]):
        assert place not in places.values()
        places[who] = place

    assert places == wanted


def test_a_row_that_moves_is_written_once() -> None:
    moves = [(number, number + 1, UUID(int=number)) for number in range(100)]

    assert len(list(in_free_places(moves))) == 100
