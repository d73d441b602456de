"""A process that polls a folder dies at each moment, also by kill -9: no file is lost, and none is taken twice."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.bare import AS_FAST_AS_IT_GOES, DatabaseUnderTest
from tests.crash_points import Life, commits_kill
from tests.library.watched import Watched, watch
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import transaction
from webapp.documents.source_model import Source
from webapp.jobs.model import Job
from webapp.library.sources.folder import FolderPlace
from webapp.library.sources.polling import poll

FILES = 3
# Each process dies a moment later than the one before; then it begins anew.
MOMENTS = range(1, 9)
PROCESSES_MAX = 80


@pytest.fixture
def life() -> Iterator[Life]:
    life = Life()
    with commits_kill(life):
        yield life


def _die_around_settling(life: Life, monkeypatch: pytest.MonkeyPatch) -> None:
    real = FolderPlace.settle

    def settle(place: FolderPlace, item: Any) -> bool:
        life.tick()
        done = real(place, item)
        life.tick()
        return done

    monkeypatch.setattr(FolderPlace, "settle", settle)


@pytest.mark.parametrize("after_taking", ["leave", "move", "delete"])
def test_deaths_at_each_commit(
    workplace: Workplace, tmp_path: Path, after_taking: str, life: Life, monkeypatch: pytest.MonkeyPatch
) -> None:
    _die_around_settling(life, monkeypatch)
    watched = watch(workplace, tmp_path / "in", after_taking)
    for number in range(FILES):
        watched.put(f"Tax/{number}.txt", b"note %d" % number)
    watched.put("again.txt", b"note 0")
    deaths = 0
    for number in range(PROCESSES_MAX):
        life.begin("claiming", MOMENTS[number % len(MOMENTS)])
        try:
            poll(watched.place, watched.claim())
        except Crash:
            deaths += 1
        life.begin()
        watched.lose_lease()
        watched.pass_time()
        if _is_done(watched):
            break
    assert deaths >= 2 * FILES
    _nothing_is_lost_and_nothing_twice(watched, after_taking)


def _is_done(watched: Watched) -> bool:
    rows = watched.rows()
    return len(rows) == FILES + 1 and all(row.state == "taken" and row.is_settled for row in rows)


def _nothing_is_lost_and_nothing_twice(watched: Watched, after_taking: str) -> None:
    assert len(watched.documents()) == len(watched.place.all(Job)) == FILES
    assert len({row.document_id for row in watched.rows()}) == FILES
    names = ["Tax/0.txt", "Tax/1.txt", "Tax/2.txt", "again.txt"]
    left = {"leave": names, "move": [f"taken/{name}" for name in names], "delete": []}
    assert watched.files() == left[after_taking]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("database", "point"),
    [("postgresql", "ledger"), ("sqlite", "take_in"), ("sqlite", "settle")],
    indirect=["database"],
)
def test_kill_9(watched_alone: Watched, database: DatabaseUnderTest, point: str) -> None:
    """A real process that is killed: before a file's document is committed, right after, and once it has been moved."""
    watched = watched_alone
    for number in range(FILES):
        watched.put(f"{number}.txt", b"note %d" % number)
    watched.poll()
    with transaction(everywhere=True) as session:
        session.get_one(Source, watched.source_id).next_poll_at = watched.rows()[0].next_try_at
    environment = {
        **os.environ,
        **AS_FAST_AS_IT_GOES,
        "DATABASE_URL": database.url,
        "DATA_DIR": str(watched.place.settings.data_dir),
        "SECRET_KEY": "a key for tests only",
        "SOURCE_FOLDERS": str(watched.folder.parent),
    }
    done = subprocess.run([sys.executable, "-m", "tests.library.killed_poller", point], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert watched.source().lease_id is not None, "nobody gave it back"
    watched.lose_lease()
    watched.pass_time()
    watched.poll(2)
    assert len(watched.documents()) == len(watched.place.all(Job)) == FILES
    assert watched.files() == [f"taken/{number}.txt" for number in range(FILES)]


@pytest.fixture
def watched_alone(workplace: Workplace, tmp_path: Path) -> Watched:
    return watch(workplace, tmp_path / "in", "move")
