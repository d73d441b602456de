"""The lease of a source: one process at a time polls it, and one that has lost it writes nothing more."""

from pathlib import Path
from typing import Any

import pytest

from tests.library.watched import Watched, watch
from tests.pipeline.workplace import Workplace, prose
from webapp.db import transaction
from webapp.jobs.model import Job
from webapp.library.sources import polling, registry
from webapp.library.sources.lease import SourceLeaseLost
from webapp.library.sources.polling import poll


@pytest.fixture
def watched(workplace: Workplace, tmp_path: Path) -> Watched:
    return watch(workplace, tmp_path / "in")


def test_one_process_at_a_time_polls_and_a_frozen_one_writes_nothing(watched: Watched) -> None:
    watched.put("a.txt", prose(1))
    watched.poll()
    frozen = watched.claim()
    with pytest.raises(AssertionError, match="another process"):
        watched.claim()
    watched.lose_lease()
    watched.put("b.txt", b"other words")

    other = watched.claim()
    poll(watched.place, frozen)
    assert watched.documents() == [], "it takes nothing"
    assert watched.items() == {"a.txt": ("waiting", "new")}, "and writes nothing down"
    with pytest.raises(SourceLeaseLost), transaction(frozen.org_id):
        frozen.extend()
    poll(watched.place, other)
    assert watched.documents() == [(None, "a.txt")]


def test_a_process_that_freezes_while_it_takes_a_file_adds_no_document(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.put("a.txt", b"one")
    watched.poll()
    blobs, others = watched.place.providers.blobs, []
    real = blobs.put_file

    def freeze(*given: Any) -> None:
        real(*given)
        watched.lose_lease()
        others.append(watched.claim())

    with monkeypatch.context() as patch:
        patch.setattr(blobs, "put_file", freeze)
        poll(watched.place, watched.claim())
    assert (watched.documents(), watched.place.blobs()) == ([], [])
    watched.pass_time()
    poll(watched.place, others[0])
    assert watched.documents() == [(None, "a.txt")]
    assert len(watched.place.all(Job)) == 1


def test_a_paused_and_a_deleted_source_are_polled_no_more(watched: Watched) -> None:
    watched.put("a.txt", b"one")
    watched.poll()
    lease = watched.claim()
    with transaction(lease.org_id):
        registry.change(lease.org_id, watched.source_id, {"is_on": False})
    poll(watched.place, lease)
    assert watched.documents() == []
    with pytest.raises(AssertionError):
        watched.claim()
    with transaction(lease.org_id):
        registry.remove(lease.org_id, watched.source_id)
    poll(watched.place, lease)
    assert (watched.rows(), watched.documents()) == ([], [])


def test_a_poll_ends_when_its_process_does_and_the_next_goes_on(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        watched.put(f"{number}.txt", b"%d" % number)
    watched.poll()
    poll(watched.place, watched.claim(), lambda: len(watched.documents()) == 2)
    assert len(watched.documents()) == 2
    monkeypatch.setattr(polling, "ITEMS_MAX", 2)
    watched.poll()
    assert len(watched.documents()) == 4
    seen = watched.source()
    assert seen.last_poll_at
    assert (seen.next_poll_at - seen.last_poll_at).total_seconds() < 3, "there is more"
    watched.poll()
    assert len(watched.documents()) == 5
