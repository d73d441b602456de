"""Where there is nothing to weigh, a smaller statement takes from the first line: the same jobs, or none."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any
from uuid import UUID

import pytest

from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.emulators.wire import Wire, wired
from tests.jobs.letterbox import SqlLetterbox, enqueue, ids
from webapp.clock import new_id
from webapp.db import transaction
from webapp.jobs import postgresql
from webapp.jobs.connections import hot
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.hot import Hot, Lane, Taken, Wanted
from webapp.jobs.states import Priority
from webapp.jobs.turns import Standing

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
EVERY, LIGHT, OTHERS = Lane([], is_inside=False), Lane(["light"], is_inside=True), Lane(["light"], is_inside=False)


class Undone(Exception):
    """Ends a transaction on purpose."""


@contextmanager
def undone() -> Iterator[None]:
    """Whatever is done in here has not happened afterwards."""
    try:
        with transaction(everywhere=True):
            yield
            raise Undone
    except Undone:
        pass


def tried(claim: Callable[[Hot, Wanted], Taken | None], limit: int, lane: Lane) -> list[UUID] | None:
    """What it would take."""
    with undone(), hot() as here:
        taken = claim(here, Wanted("a", new_id(), limit, lane, Standing([], [], [])))
    return None if taken is None else ids(taken.leases)


def from_first_line(limit: int = 10, lane: Lane = EVERY) -> list[UUID] | None:
    return tried(postgresql.claim_from_first_line, limit, lane)


def after_weighing(limit: int = 10, lane: Lane = EVERY) -> list[UUID] | None:
    return tried(lambda here, wanted: postgresql.claim(here, wanted, None), limit, lane)


def of_one_line(letterbox: SqlLetterbox) -> None:
    for delay in (0, 0, 1000, 0, 0):
        enqueue(letterbox, delay_seconds=delay)
    enqueue(letterbox, held=True)
    letterbox.pass_time(1)
    enqueue(letterbox)


@pytest.mark.parametrize("limit", [1, 3, 5, 40])
@pytest.mark.parametrize("lane", [EVERY, LIGHT, OTHERS], ids=["every", "light", "others"])
def test_both_take_the_same(letterbox: SqlLetterbox, limit: int, lane: Lane) -> None:
    assert from_first_line(limit, lane) == after_weighing(limit, lane) == []
    of_one_line(letterbox)
    expected = after_weighing(limit, lane)
    assert from_first_line(limit, lane) == expected
    assert len(expected or []) == (0 if lane is LIGHT else min(limit, 5))
    letterbox.queue.claim("b", 3)
    assert from_first_line(limit, lane) == after_weighing(limit, lane)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_stands_in_line_both_take_the_same(letterbox: SqlLetterbox, seed: int) -> None:
    chance, answers = Random(seed), set()
    runs = [run for org in (letterbox.new_org(), letterbox.new_org()) for run in letterbox.new_runs(12, org)]
    for _ in range(40):
        stages = chance.sample(("a", "light", "z"), chance.choice((1, 1, 2)))
        priorities = chance.sample((Priority.PERSON, Priority.BULK), chance.choice((1, 2)))
        chosen = runs[:12] if chance.random() < 0.7 else chance.sample(runs, 12)
        for run in chosen[: chance.choice((1, 4, 12))]:
            traits = {"held": chance.random() < 0.1, "delay_seconds": chance.choice((0, 0, 0, 1000))}
            job = run.job(chance.choice(stages), priority=chance.choice(priorities), **traits)
            letterbox.queue.enqueue([job])
        limit, lane = chance.choice((1, 2, 5, 40)), chance.choice((EVERY, LIGHT, OTHERS))
        found = from_first_line(limit, lane)
        answers.add(None if found is None else bool(found))
        if found is not None:
            assert found == after_weighing(limit, lane)
        for run in runs:
            letterbox.queue.cancel_run(run.id)
    assert answers == {None, True, False}


def test_a_line_whose_time_has_not_come_has_nothing(letterbox: SqlLetterbox) -> None:
    enqueue(letterbox, delay_seconds=1000)
    assert from_first_line() == after_weighing() == []


OF_ANOTHER = {
    "stage before": {"stage": "a"},
    "stage behind": {"stage": "z"},
    "stage behind, later": {"stage": "z", "delay_seconds": 1000},
}


@pytest.mark.parametrize("more", OF_ANOTHER.values(), ids=OF_ANOTHER)
def test_two_stages_are_weighed(letterbox: SqlLetterbox, more: dict[str, Any]) -> None:
    enqueue(letterbox)
    other = enqueue(letterbox, **more)
    assert from_first_line(1) is None
    letterbox.queue.cancel_run(other.run_id)
    assert from_first_line(1) == after_weighing(1)


def test_two_orgs_are_weighed(letterbox: SqlLetterbox) -> None:
    mine = enqueue(letterbox)
    (theirs,) = letterbox.new_runs(1, letterbox.new_org())
    letterbox.queue.enqueue([theirs.job()])
    assert from_first_line(1) is None
    letterbox.queue.cancel_run(theirs.id)
    assert from_first_line(1) == [mine.id]


def test_what_is_less_urgent_is_not_weighed_where_the_first_line_has_enough(letterbox: SqlLetterbox) -> None:
    (bulk,) = letterbox.new_runs(1, letterbox.new_org())
    letterbox.queue.enqueue([bulk.job(priority=Priority.BULK)])
    jobs = [enqueue(letterbox) for _ in range(3)]
    for limit in (1, 3):
        assert from_first_line(limit) == after_weighing(limit) == ids(jobs[:limit])
    assert from_first_line(4) is None
    assert len(after_weighing(4) or []) == 4
    letterbox.queue.release(letterbox.queue.claim("b", 4))
    letterbox.queue.snooze(letterbox.queue.claim("b", 1)[0], 1000)
    assert from_first_line(1) == after_weighing(1) == [jobs[1].id]


def test_a_first_line_whose_time_has_not_come_hides_nothing(letterbox: SqlLetterbox) -> None:
    enqueue(letterbox, delay_seconds=1000)
    due = enqueue(letterbox, priority=Priority.BULK)
    assert from_first_line(1) is None
    assert after_weighing(1) == [due.id]
    assert ids(letterbox.queue.claim("a", 1)) == [due.id]


CONTROLS: dict[str, Callable[[SqlLetterbox], None]] = {
    "paused": lambda letterbox: letterbox.queue.pause("process_document"),
    "all paused": lambda letterbox: letterbox.queue.pause(EVERY_STAGE),
    "limited": lambda letterbox: letterbox.queue.limit("process_document", 1),
    "slowed": lambda letterbox: letterbox.queue.slow("process_document", 5),
}


@pytest.mark.parametrize("control", CONTROLS.values(), ids=CONTROLS)
def test_what_is_said_about_a_stage_is_weighed(
    letterbox: SqlLetterbox, control: Callable[[SqlLetterbox], None]
) -> None:
    enqueue(letterbox)
    enqueue(letterbox)
    control(letterbox)
    assert from_first_line() == []
    assert len(letterbox.queue.claim("a", 10)) < 2


def test_jobs_that_others_are_taking_are_passed_by(letterbox: SqlLetterbox) -> None:
    jobs = [enqueue(letterbox) for _ in range(3)]

    with undone():
        assert ids(letterbox.queue.claim("b", 2)) == ids(jobs[:2])
        assert letterbox.together(from_first_line) == [[jobs[2].id]]
    with undone():
        assert ids(letterbox.queue.claim("b", 3)) == ids(jobs)
        assert letterbox.together(from_first_line) == [None]


@pytest.fixture
def wired_letterbox(database: DatabaseUnderTest, tmp_path: Path) -> Iterator[tuple[Wire, SqlLetterbox]]:
    with wired(database.url) as (wire, url):
        app = make_bare_app(settings_for(tmp_path / "data", DATABASE_URL=url))
        with app.app_context():
            yield wire, SqlLetterbox(app)
        dispose(app)


@pytest.mark.parametrize("light", [[], ["light"]], ids=["all", "all but some"])
def test_a_claim_is_one_round_trip_once_it_knows_the_lines(
    wired_letterbox: tuple[Wire, SqlLetterbox], light: list[str]
) -> None:
    wire, letterbox = wired_letterbox

    def claims() -> list[int]:
        """The round trips of claims, one after the other."""
        costs = []
        for _ in range(4):
            before = wire.round_trips
            assert len(letterbox.queue.claim("a", 1, without=light)) == 1
            costs.append(wire.round_trips - before)
        return costs

    def fill() -> None:
        for _ in range(4):
            enqueue(letterbox)

    fill()
    assert claims()[-1] == 1
    enqueue(letterbox, stage="light", delay_seconds=1000)
    enqueue(letterbox, stage="light", priority=Priority.BULK)
    fill()
    assert claims()[0] > 1
    fill()
    assert claims() == [1, 1, 1, 1]
