"""A watched folder: what is still is taken once; what is not, is hidden, growing, a link or too much says why."""

import os
from pathlib import Path
from typing import Any

import pytest

from tests.bare import changed
from tests.library.watched import Watched, watch
from tests.pipeline.workplace import Workplace
from webapp.db import transaction
from webapp.jobs.model import Job
from webapp.library import bin as library_bin
from webapp.library.sources import folder as folders
from webapp.library.sources import ledger, polling, registry, taking
from webapp.library.sources.polling import poll, try_out
from webapp.library.sources.trouble import ItemFailed, ItemReason
from webapp.provider_errors import FailureCode, ProviderUnavailable


@pytest.fixture
def watched(workplace: Workplace, tmp_path: Path) -> Watched:
    return watch(workplace, tmp_path / "in")


def test_a_file_is_taken_once_it_is_still(watched: Watched) -> None:
    watched.put("Tax/2025/bill.txt")

    watched.poll()
    assert watched.items() == {"Tax/2025/bill.txt": ("waiting", "new")}
    assert watched.documents() == []
    watched.poll()

    assert watched.items() == {"Tax/2025/bill.txt": ("taken", None)}
    assert watched.documents() == [("Tax/2025", "bill.txt")]
    assert watched.files() == ["Tax/2025/bill.txt"]
    watched.poll(2)
    assert len(watched.place.all(Job)) == len(watched.rows()) == 1
    found = watched.source()
    assert (found.last_error, found.lease_id) == (None, None)
    assert found.last_poll_at is not None


def test_it_waits_as_long_as_the_settings_say(watched: Watched) -> None:
    watched.put("a.txt")
    poll(watched.place, watched.claim())
    poll(watched.place, watched.claim())
    assert watched.items() == {"a.txt": ("waiting", "new")}, "ten seconds have not passed"
    seen = watched.source()
    assert (seen.next_poll_at - seen.last_poll_at).total_seconds() < 11, "it is due as soon as the file can be still"  # type: ignore[operator] # it was polled


def test_a_growing_file_waits_until_it_grows_no_more(watched: Watched) -> None:
    watched.put("scan.txt", b"The beginning")
    watched.poll()
    for size in (20, 30):
        watched.put("scan.txt", b"x" * size)
        watched.poll()
        assert watched.items() == {"scan.txt": ("waiting", "changed")}
    watched.poll()
    assert watched.items() == {"scan.txt": ("taken", None)}
    assert len(watched.documents()) == 1


def test_a_file_that_changes_while_it_is_read_waits(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    file = watched.put("scan.txt", b"The beginning")
    watched.poll()
    real = taking.take

    def write_meanwhile(*given: Any) -> None:
        file.write_bytes(b"The beginning and the end")
        real(*given)

    with monkeypatch.context() as patch:
        patch.setattr(polling, "take", write_meanwhile)
        watched.poll()
    assert watched.items() == {"scan.txt": ("waiting", "changed")}
    assert watched.documents() == []
    watched.poll(2)
    assert watched.place.all(Job)
    assert watched.items() == {"scan.txt": ("taken", None)}


def test_a_file_that_was_taken_and_is_written_anew_is_another_document(watched: Watched) -> None:
    watched.put("list.txt", b"one")
    watched.poll(2)
    watched.put("list.txt", b"one, two")
    watched.poll(2)
    assert [(row.state, row.version.partition("-")[0]) for row in watched.rows()] == [("taken", "3"), ("taken", "8")]
    assert len(watched.documents()) == 2


def test_the_same_bytes_and_a_renamed_file_are_the_same_document(watched: Watched) -> None:
    watched.put("a.txt", b"the same")
    watched.put("b.txt", b"the same")
    watched.poll(2)
    assert set(watched.items().values()) == {("taken", "known"), ("taken", None)}
    (watched.folder / "a.txt").rename(watched.folder / "c.txt")
    watched.poll(2)
    assert watched.items()["c.txt"] == ("taken", "known")
    assert "a.txt" not in watched.items(), "it is gone"
    assert len(watched.documents()) == 1


def test_a_renamed_file_that_waits_is_taken_under_its_new_name(watched: Watched) -> None:
    file = watched.put("movie.part")
    watched.poll(2)
    assert watched.items() == {"movie.part": ("skipped", "temporary")}
    file.rename(watched.folder / "movie.txt")
    watched.poll(2)
    assert watched.items() == {"movie.txt": ("taken", None)}


def test_what_is_not_to_be_taken_is_skipped_and_says_why(watched: Watched, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("not yours")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "note.txt").write_text("not yours")
    for name in (".hidden", "~$report.docx", "a.crdownload", "b.TMP", "c.part", ".git/config", "taken/old.txt"):
        watched.put(name)
    watched.put("empty.txt", b"")
    watched.put("page.pdf", b"<!doctype html><html>Sign in")
    (watched.folder / "link.txt").symlink_to(secret)
    (watched.folder / "folder").symlink_to(tmp_path / "elsewhere")
    os.mkfifo(watched.folder / "pipe")

    watched.poll(2)

    assert {name: reason for name, (state, reason) in watched.items().items() if state == "skipped"} == {
        ".hidden": "hidden", "~$report.docx": "temporary", "a.crdownload": "temporary", "b.TMP": "temporary",
        "c.part": "temporary", ".git/": "hidden", "taken/": "taken_folder", "empty.txt": "empty",
        "page.pdf": "mismatch", "link.txt": "link", "folder": "link", "pipe": "no_file",
    }  # fmt: skip
    assert watched.documents() == []


def test_a_file_that_becomes_a_link_is_not_followed(
    watched: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.txt").write_text("not yours")
    file = watched.put("deep/a.txt", b"mine")
    watched.poll()
    real = taking.take

    def swap(*given: Any) -> None:
        file.unlink()
        file.parent.rmdir()
        file.parent.symlink_to(tmp_path / "secret")
        real(*given)

    monkeypatch.setattr(polling, "take", swap)
    watched.poll()
    assert watched.documents() == []


def test_a_folder_outside_of_what_is_allowed_is_not_read(workplace: Workplace, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "a.txt").write_text("not yours")
    inside = tmp_path / "allowed"
    inside.mkdir()
    for number, path in enumerate((tmp_path / "secret", inside / ".." / "secret", inside / "link")):
        place = watch(workplace, tmp_path / f"in-{number}")
        workplace.settings = changed(workplace.settings, "sources", folders=(inside,))
        with transaction(workplace.org_id):
            registry.change(workplace.org_id, place.source_id, {"place": {"path": str(path)}})
        if path.name == "link":
            path.symlink_to(tmp_path / "secret")
        poll(workplace, place.claim())
        assert place.source().last_error in {"folder_not_allowed", "folder_missing"}
        assert try_out(workplace, place.source()).trouble is not None
        assert place.rows() == []
        with transaction(workplace.org_id):
            registry.remove(workplace.org_id, place.source_id)


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"two\nlines.txt", "\u202etxt.exe".encode(), b"x" * 250 + b".txt"])
def test_names_of_any_bytes_are_taken(watched: Watched, name: bytes) -> None:
    (watched.folder / os.fsdecode(name)).write_bytes(b"Some words.")
    watched.poll(3)
    assert [row.state for row in watched.rows()] == ["taken"]
    assert len(watched.documents()) == 1


@pytest.mark.parametrize(("after_taking", "left"), [("move", ["taken/Tax/a.txt", "taken/b.txt"]), ("delete", [])])
def test_what_was_taken_is_moved_or_deleted(
    workplace: Workplace, tmp_path: Path, after_taking: str, left: list[str]
) -> None:
    watched = watch(workplace, tmp_path / "in", after_taking)
    watched.put("Tax/a.txt", b"one")
    watched.put("b.txt", b"two")
    watched.poll(2)
    assert watched.files() == left
    assert len(watched.documents()) == 2
    watched.put("b.txt", b"three")
    watched.poll(2)
    assert len(watched.documents()) == 3
    assert watched.files() == (sorted([*left, "taken/b (2).txt"]) if left else [])
    assert watched.items() == {}
    assert {row.state for row in watched.rows()} == {"taken"}


def test_a_file_written_anew_since_it_was_taken_is_not_deleted(
    workplace: Workplace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched = watch(workplace, tmp_path / "in", "delete")
    file = watched.put("a.txt", b"one")
    watched.poll()
    real = taking.take

    def write_after(*given: Any) -> None:
        real(*given)
        file.write_bytes(b"one and two")

    with monkeypatch.context() as patch:
        patch.setattr(polling, "take", write_after)
        watched.poll()
    assert file.read_bytes() == b"one and two"
    watched.poll(2)
    assert len(watched.documents()) == 2
    assert watched.files() == []


def test_a_full_disk_lets_files_wait_until_there_is_room(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    watched.put("a.txt", b"one")
    watched.put("b.txt", b"two")
    watched.poll()

    def refuse(*_: Any, **__: Any) -> None:
        raise ProviderUnavailable("no space left", code=FailureCode.STORAGE_FULL)

    with monkeypatch.context() as patch:
        patch.setattr(watched.place.providers.blobs, "check_space", refuse)
        watched.poll()
    assert sorted(reason for _, reason in watched.items().values() if reason) == ["new", "storage_full"], "one says it"
    assert watched.source().last_error == "storage_full"
    watched.poll()
    assert {state for state, _ in watched.items().values()} == {"taken"}
    assert watched.source().last_error is None


def test_a_disk_that_fills_while_a_file_arrives_loses_nothing(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.put("a.txt", b"one")
    watched.poll()

    def refuse(*_: Any, **__: Any) -> None:
        raise ProviderUnavailable("no space left", code=FailureCode.STORAGE_FULL)

    with monkeypatch.context() as patch:
        patch.setattr(watched.place.providers.blobs, "put_file", refuse)
        watched.poll()
    assert watched.items() == {"a.txt": ("waiting", "storage_full")}
    assert list(watched.place.providers.blobs.incoming().iterdir()) == []
    watched.poll()
    assert watched.items() == {"a.txt": ("taken", None)}


def test_a_full_organisation_lets_files_wait_and_too_large_ones_are_skipped(watched: Watched) -> None:
    whole = watched.place.settings
    watched.place.settings = changed(whole, "limits", max_org_gb=20 / 1024**3, max_upload_mb=1)
    watched.put("a.txt", b"x" * 30)
    watched.put("large.bin", bytes(1024**2 + 1))
    watched.poll(2)
    assert watched.items()["a.txt"] == ("waiting", "org_full")
    assert watched.source().last_error == "org_full"
    watched.poll()
    assert watched.items()["large.bin"] == ("skipped", "too_large")
    watched.place.settings = whole
    watched.poll()
    assert watched.items()["a.txt"] == ("taken", None)


def test_what_cannot_be_read_fails_at_last_and_can_be_retried(
    watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    watched.put("a.txt", b"one")
    watched.poll()

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_translated", _Refusing)
        for _ in range(12):
            watched.poll()
    assert watched.items() == {"a.txt": ("failed", "unreadable")}
    [row] = watched.rows()
    with transaction(watched.place.org_id):
        assert ledger.retry(watched.place.org_id, watched.source_id, row.id)
        assert not ledger.retry(watched.place.org_id, watched.source_id, row.id)
    watched.poll()
    assert watched.items() == {"a.txt": ("taken", None)}


class _Refusing:
    """What a file answers that its owner keeps for himself."""

    def __enter__(self) -> None:
        raise ItemFailed(ItemReason.UNREADABLE)

    def __exit__(self, *_: object) -> None:
        pass


def test_a_deleted_document_is_not_taken_again(watched: Watched) -> None:
    watched.put("a.txt", b"one")
    watched.poll(2)
    [row] = watched.rows()
    assert row.document_id
    assert library_bin.delete(watched.place.queue, watched.place.org_id, row.document_id, "ana")
    watched.poll(2)
    assert [row.state for row in watched.rows()] == ["taken"]


def test_a_folder_that_is_away_for_a_while_takes_nothing_twice(watched: Watched) -> None:
    watched.put("a.txt", b"one")
    watched.poll(2)
    away = watched.folder.with_name("away")
    watched.folder.rename(away)
    watched.poll()
    assert watched.source().last_error == "folder_missing"
    watched.folder.mkdir()
    watched.poll()
    assert watched.items() == {}
    watched.folder.rmdir()
    away.rename(watched.folder)
    watched.poll(2)
    assert watched.items() == {"a.txt": ("taken", None)}
    assert len(watched.place.all(Job)) == 1


def test_a_file_that_goes_while_it_waits_and_comes_back_is_taken(watched: Watched, tmp_path: Path) -> None:
    file = watched.put("a.txt", b"one")
    watched.poll()
    file.rename(tmp_path / "a.txt")
    watched.poll()
    assert [(row.state, row.reason) for row in watched.rows()] == [("skipped", "gone")]
    (tmp_path / "a.txt").rename(file)
    watched.poll(2)
    assert watched.items() == {"a.txt": ("taken", None)}


def test_more_files_than_a_poll_looks_at_are_said(watched: Watched, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "FILES_MAX", 3)
    for number in range(5):
        watched.put(f"{number}.txt", b"%d" % number)
    watched.poll(2)
    assert watched.source().last_error == "too_many_files"
    assert len(watched.documents()) == 3


def test_a_trial_says_what_would_be_seen_and_writes_nothing(watched: Watched) -> None:
    watched.put("a.txt")
    watched.put(".hidden")
    trial = try_out(watched.place, watched.source())
    assert (trial.taken, trial.skipped, trial.more, trial.trouble) == (1, 1, False, None)
    assert sorted(each.name for each in trial.examples) == [".hidden", "a.txt"]
    assert watched.rows() == []
