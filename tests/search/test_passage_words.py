"""On PostgreSQL passages are found by an index where the application is not the owner, and the same ones without it."""

from collections.abc import Iterator

import pytest
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError

from tests.conftest import DatabaseUnderTest
from tests.postgres_keeper import RUNTIME
from tests.search.conftest import only_postgresql
from tests.search.passages import Searcher, new_document, new_org, put
from webapp.db import passage_words, reading, session
from webapp.search import tsquery
from webapp.search.match import Atom, TermMatch

TEXTS = ["The keeper lights the lamp.", "A lamp of the keeper's wife, and a lamp.", "A storm at sea.", "Lamps and oil."]
QUERIES = ["keeper lamp", '"the lamp"', "lamp -oil", "storm OR oil", "lam*", "keeper storm oil", "nothing"]
_CALL = "SELECT docmill_passages_found(CAST('lamp' AS tsquery), 10, 10)"


@pytest.fixture
def shelf(searcher: Searcher) -> Searcher:
    put(searcher.org_id, new_document(searcher.org_id), TEXTS)
    other = new_org()
    put(other, new_document(other), [f"{text} Theirs." for text in TEXTS])
    return searcher


@pytest.fixture
def without_function(database: DatabaseUnderTest) -> Iterator[None]:
    """As it is where the application itself is the owner."""
    engine = create_engine(database.owner_url, poolclass=NullPool)
    with engine.begin() as connection:
        passage_words.take_away(connection)
    tsquery.forget_the_index()
    yield
    with engine.begin() as connection:
        passage_words.allow(connection, [RUNTIME])
    tsquery.forget_the_index()


def found(searcher: Searcher) -> list[set[str]]:
    return [{hit.text for hit in searcher.by_words(query)} for query in QUERIES]


EXPECTED = [
    {TEXTS[0], TEXTS[1], TEXTS[3]}, {TEXTS[0]}, {TEXTS[0], TEXTS[1]}, {TEXTS[2], TEXTS[3]},
    {TEXTS[0], TEXTS[1], TEXTS[3]}, set(TEXTS), set(),
]  # fmt: skip


@only_postgresql
def test_the_index_finds_what_comparing_finds(shelf: Searcher) -> None:
    with reading(shelf.org_id):
        assert tsquery._has_index()
    assert found(shelf) == EXPECTED


@only_postgresql
def test_without_the_function_the_same_is_found(shelf: Searcher, without_function: None) -> None:
    with reading(shelf.org_id):
        assert not tsquery._has_index()
    assert found(shelf) == EXPECTED


@only_postgresql
def test_the_function_shows_only_the_passages_of_the_transactions_org(shelf: Searcher) -> None:
    with reading(shelf.org_id):
        assert len(session().execute(text(_CALL)).all()) == 2
    with reading(everywhere=True), pytest.raises(DBAPIError, match="about no org"):
        session().execute(text(_CALL))


@only_postgresql
def test_a_rare_word_is_found_beside_common_ones(searcher: Searcher) -> None:
    common = [f"The system reads page {number} of the system." for number in range(400)]
    put(searcher.org_id, new_document(searcher.org_id), [*common, "A wobbulator, by itself."])

    assert searcher.by_words("system page wobbulator")[0].text == "A wobbulator, by itself."
    with reading(searcher.org_id):
        one = tsquery._by_index(TermMatch(((Atom("system"),),)), 5)
    assert len(one) == 5
