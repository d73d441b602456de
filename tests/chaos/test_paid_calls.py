"""Real processes whose database is stopped hard or cut off in the middle of paid calls: every call is made once."""

from collections.abc import Iterator

import psycopg
import pytest

from tests.chaos.server import RestartableServer, restartable
from tests.chaos.world import World, world
from tests.journeys.site import WORK_SECONDS
from tests.ledger_check import LINES, OPEN, booked, deviations, paid_at
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(300)]

PARAGRAPHS, BOOKS, STOPS = 300, 10, 4


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with restartable() as server, world(tmp_path_factory.mktemp("paid"), server) as made:
        yield made


@pytest.fixture
def calls(made: World) -> Iterator[World]:
    """The same for each test: nothing is paid for or known yet, and each call takes a while."""
    made.openai.reset()
    made.openai.delay_seconds = 0.3
    for table in ("provider_calls", "embedding_cache"):
        _ask(made, f"DELETE FROM {table}")
    yield made
    made.openai.delay_seconds = 0.0


def _server(made: World) -> RestartableServer:
    assert made.server is not None
    return made.server


def _ask(made: World, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(_server(made).superuser_url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def _upload(made: World, files: dict[str, bytes]) -> list[str]:
    return [str(document["id"]) for document in made.site.upload(files)]


def _wait_for_calls(made: World, number: int) -> None:
    wait_for(lambda: made.openai.calls["embeddings"] >= number, "for calls", WORK_SECONDS)


def _each_text_is_paid_for_once(made: World, documents: list[str]) -> None:
    for document in documents:
        made.site.wait_for_status(document, "READY")
    ids = ", ".join(f"'{document}'" for document in documents)
    ((texts,),) = _ask(made, f"SELECT count(DISTINCT text_sha256) FROM chunks WHERE document_id IN ({ids})")
    assert made.openai.paid_twice() == {}
    assert made.openai.units() == texts
    assert deviations(paid_at(made.openai), booked(_ask(made, LINES), _ask(made, OPEN))) == []


def test_ten_books_with_the_same_text_among_three_processes(calls: World) -> None:
    book = prose(40, start=70_000)
    documents = _upload(calls, {f"book {number}.md": book + b"\n" * number for number in range(BOOKS)})
    _each_text_is_paid_for_once(calls, documents)


def test_a_database_that_is_stopped_hard_in_the_middle_of_calls(calls: World) -> None:
    documents = _upload(calls, {"stopped.md": prose(PARAGRAPHS, start=80_000)})
    for number in range(1, STOPS + 1):
        _wait_for_calls(calls, 3 * number)
        _server(calls).crash()
    _each_text_is_paid_for_once(calls, documents)


@pytest.mark.parametrize("is_after", [False, True], ids=["commit_lost", "answer_lost"])
def test_connections_that_are_cut_around_a_commit(calls: World, is_after: bool) -> None:
    start = 90_000 + 10_000 * is_after
    documents = _upload(calls, {f"cut {is_after}.md": prose(PARAGRAPHS, start=start)})
    for number in range(1, 4):
        _wait_for_calls(calls, 3 * number)
        for worker in calls.workers:
            assert worker.wire is not None
            worker.wire.lose(b"", is_after=is_after)
    _each_text_is_paid_for_once(calls, documents)
