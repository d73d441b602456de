"""A watched folder in which something goes wrong: no file is lost, and no other file waits for it."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.library.watched import Watched, watch
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import transaction
from webapp.documents.source_model import SourceItem
from webapp.library.sources import folder as folders
from webapp.library.sources import ledger, taking


@pytest.fixture
def watched(workplace: Workplace, tmp_path: Path) -> Watched:
    return watch(workplace, tmp_path / "in")


@pytest.mark.parametrize("name", [".config", "backup.tmp"])
def test_a_folder_that_was_skipped_is_never_taken(watched: Watched, name: str) -> None:
    (watched.folder / name).mkdir()
    watched.put("a.txt")
    watched.poll()
    [skipped] = [row for row in watched.rows() if row.state == "skipped"]
    with transaction(watched.place.org_id):
        assert not ledger.retry(watched.place.org_id, watched.source_id, skipped.id)
    # As an earlier version would have let it wait, and as a file that becomes a folder.
    with transaction(watched.place.org_id) as session:
        session.get_one(SourceItem, skipped.id).state = "waiting"
        session.get_one(SourceItem, skipped.id).ended_at = None
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208 - of the process
    watched.poll(2)
    assert len(os.listdir("/proc/self/fd")) <= before  # noqa: PTH208 - of the process
    assert watched.items() == {f"{name}/": ("skipped", "no_file"), "a.txt": ("taken", None)}
    assert (watched.source().last_error, watched.source().lease_id) == (None, None)


def test_an_earlier_version_is_not_retried_while_a_later_one_waits(watched: Watched) -> None:
    watched.put("page.pdf", b"<!doctype html><html>Sign in")
    watched.poll(2)
    [first] = watched.rows()
    assert first.state == "skipped"
    watched.put("page.pdf", b"%PDF-1.4 and so on")
    watched.poll()
    with transaction(watched.place.org_id):
        assert not ledger.retry(watched.place.org_id, watched.source_id, first.id)


@pytest.mark.parametrize("after_taking", ["move", "delete"])
def test_a_file_renamed_into_place_at_the_last_moment_is_not_deleted(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after_taking: str
) -> None:
    watched = watch(workplace, tmp_path / "in", after_taking)
    file = watched.put("a.txt", b"one")
    watched.poll()
    (tmp_path / "new.txt").write_bytes(b"the new one")
    real = folders._private_name  # between the first look and the move is this

    def come_between(name: str) -> str:
        if (tmp_path / "new.txt").exists():
            (tmp_path / "new.txt").rename(file)
        return real(name)

    monkeypatch.setattr(folders, "_private_name", come_between)
    watched.poll()
    assert watched.files() == ["a.txt"]
    assert file.read_bytes() == b"the new one"
    watched.poll(2)
    assert len(watched.documents()) == 2
    assert watched.files() == (["taken/a.txt"] if after_taking == "move" else [])


def test_a_process_that_dies_before_it_deletes_leaves_a_file_that_is_not_taken_twice(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watch(workplace, tmp_path / "in", "delete")
    watched.put("a.txt", b"one")
    watched.poll()

    def die(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patch:
        # Neither the check nor the renaming back happens where the process is killed.
        patch.setattr(folders, "_is_version", die)
        patch.setattr(folders, "_rename_back", die)
        with pytest.raises(Crash):
            watched.poll()
    [left] = watched.files()
    assert left.startswith("docmill-")
    assert left.endswith("-a.txt")
    watched.lose_lease()
    watched.pass_time()
    watched.poll(2)
    assert (watched.files(), watched.documents()) == ([], [(None, "a.txt")])


def test_a_file_that_was_put_back_replaces_none(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watch(workplace, tmp_path / "in", "delete")
    file = watched.put("a.txt", b"one")
    watched.poll()
    real = folders._is_version

    def write_meanwhile(*given: Any) -> bool:
        file.write_bytes(b"another one")
        Path(watched.folder, given[0]).write_bytes(b"changed")
        return real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_is_version", write_meanwhile)
        watched.poll()
    assert file.read_bytes() == b"another one"
    assert len(watched.files()) == 2
    watched.poll(3)
    assert (len(watched.documents()), watched.files()) == (3, [])


def test_what_nobody_foresaw_is_shown_and_stops_no_other_file(
    watched: Watched, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    watched.put("a.txt", b"one")
    watched.put("b.txt", b"two")
    watched.poll()
    real = taking._take

    def fail(*given: Any) -> None:
        if given[3].name == "a.txt":
            raise RuntimeError("words of a document")
        real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(taking, "_take", fail)
        watched.poll()
    assert watched.items() == {"a.txt": ("waiting", "unexpected"), "b.txt": ("taken", None)}
    assert "RuntimeError" in caplog.text
    assert "words of a document" not in caplog.text
    watched.poll()
    assert watched.items()["a.txt"] == ("taken", None)

    def break_down(*_: object) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(folders.FolderPlace, "look", break_down)
        watched.poll()
    found = watched.source()
    assert (found.last_error, found.lease_id) == ("unexpected", None)
    watched.poll()
    assert watched.source().last_error is None


def test_a_file_that_could_be_deleted_at_last_does_not_say_otherwise(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watch(workplace, tmp_path / "in", "delete")
    watched.put("a.txt", b"one")
    watched.poll()

    def refuse(*_: object) -> None:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_is_version", refuse)
        watched.poll()
    [row] = watched.rows()
    assert (row.state, row.reason, row.is_settled) == ("taken", "cant_delete", False)
    assert (watched.source().last_error, watched.files()) == ("cant_delete", ["a.txt"])
    watched.poll()
    [row] = watched.rows()
    assert (row.state, row.reason, row.is_settled, watched.files()) == ("taken", None, True, [])
    assert watched.source().last_error is None
