"""Archives in which a password locks files: what it opens becomes parts, and later runs need no password."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from uuid import UUID

import pytest

from tests.locked import ARCHIVES, SEVEN_ZIP_PASSWORD, ZIP_PASSWORD, locked_zip
from tests.pipeline.test_unpack import LIMITS
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import reading
from webapp.documents.model import Document
from webapp.library import lookup, parts
from webapp.library.unlocking import needs_password, queue_with_password
from webapp.pipeline.handlers import HANDLERS
from webapp.provider_errors import FailureCode
from webapp.providers.local.opener import LocalOpener
from webapp.providers.local.unpacker import LocalUnpacker
from webapp.readers import versions
from webapp.runs import lifecycle
from webapp.worker import chores
from webapp.worker.attempt import Attempts, Claimed
from webapp.worker.policy import ExecutionPolicy

TWO = {"a.txt": (b"The first note.", "one"), "b.txt": (b"An open note.", None), "c.txt": (b"The third note.", "two")}


@pytest.fixture(scope="module")
def unpacker() -> Iterator[LocalUnpacker]:
    """One unpacker's process for all tests of a module."""
    unpacker = LocalUnpacker(LIMITS)
    yield unpacker
    unpacker.close()


@pytest.fixture
def place(workplace: Workplace, unpacker: LocalUnpacker, local_opener: LocalOpener) -> Workplace:
    workplace.providers = replace(workplace.providers, unpacker=unpacker, opener=local_opener)
    queue = replace(workplace.settings.queue, job_max_attempts=5)
    workplace.settings = replace(workplace.settings, queue=queue)
    return workplace


def _work_off(place: Workplace) -> None:
    """Work until nothing is left to do, whatever it ends in."""
    attempts = Attempts(place, ExecutionPolicy.of(place.settings), HANDLERS)
    place.queue.wake_delayed()
    while leases := place.queue.claim("worker"):
        attempts.run(Claimed(leases[0], float("inf")), threading.Event())


def _uploaded(place: Workplace, data: bytes, name: str) -> UUID:
    document_id = place.upload(data, name).document.id
    _work_off(place)
    return document_id


def _give(place: Workplace, document_id: UUID, password: str) -> None:
    assert queue_with_password(place, place.org_id, document_id, password) is not None
    _work_off(place)


def _parts(place: Workplace, document_id: UUID) -> dict[str | None, Document]:
    with reading(place.org_id):
        ids = parts.page(place.org_id, document_id, limit=1000)
    return {found.path_in_parent: found for found in map(place.document, ids)}


def _copies(place: Workplace) -> list[str]:
    return [path for path in place.blobs() if "/opened-" in path]


def _wants(place: Workplace, document_id: UUID) -> bool:
    with reading(place.org_id):
        row = lookup.get_row(place.org_id, document_id)
    assert row is not None
    return needs_password(row.document, row.run)


def test_each_password_adds_the_files_that_it_opens(place: Workplace) -> None:
    document_id = _uploaded(place, locked_zip(TWO), "notes.zip")
    container = place.document(document_id)
    assert (container.status, container.locked_parts, list(_parts(place, document_id))) == ("READY", 2, ["b.txt"])
    first = _parts(place, document_id)["b.txt"].id
    assert _wants(place, document_id)

    _give(place, document_id, "one")
    assert list(_parts(place, document_id)) == ["a.txt", "b.txt"]
    assert place.document(document_id).warnings == ["“c.txt” is locked by a password, so it was not unpacked."]
    assert "locked" in place.chunks(document_id)[0].text

    _give(place, document_id, "two")
    found, container = _parts(place, document_id), place.document(document_id)
    assert {name: each.status for name, each in found.items()} == dict.fromkeys(TWO, "READY")
    assert found["b.txt"].id == first
    assert "third note" in place.chunks(found["c.txt"].id)[0].text
    assert (container.locked_parts, container.warnings) == (None, None)
    assert "locked" not in place.chunks(document_id)[0].text
    assert _copies(place) == [container.opened_path]
    assert not _wants(place, document_id)
    assert queue_with_password(place, place.org_id, document_id, "two") is None


def test_locked_names_are_asked_for_and_processing_again_needs_no_password(place: Workplace) -> None:
    document_id = _uploaded(place, (ARCHIVES / "locked_names.7z").read_bytes(), "notes.7z")
    assert place.run(document_id).failure_code == FailureCode.ENCRYPTED
    assert _wants(place, document_id)
    _give(place, document_id, SEVEN_ZIP_PASSWORD)
    assert place.document(document_id).status == "READY"
    lamp = _parts(place, document_id)["notes/lamp.txt"]
    assert "lit at dusk" in place.chunks(lamp.id)[0].text

    place.reprocess(document_id)
    _work_off(place)
    assert (place.run(document_id).state, place.document(document_id).warnings) == (
        "SUCCEEDED", ["“empty.txt” is empty, so there is nothing to unpack."],
    )  # fmt: skip
    assert _parts(place, document_id)["notes/lamp.txt"].id == lamp.id


def test_a_wrong_password_leaves_what_was_there(place: Workplace) -> None:
    document_id = _uploaded(place, (ARCHIVES / "aes_7zip.zip").read_bytes(), "notes.zip")
    _give(place, document_id, "another")
    assert place.run(document_id).failure_code == FailureCode.WRONG_PASSWORD
    assert place.document(document_id).locked_parts == 2
    assert len(place.chunks(document_id)) == 1
    assert _wants(place, document_id)
    _give(place, document_id, ZIP_PASSWORD)
    assert {each.status for each in _parts(place, document_id).values()} == {"READY"}


def test_a_retry_after_a_crash_goes_on_with_the_copy(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = _uploaded(place, locked_zip(TWO), "notes.zip")
    queue_with_password(place, place.org_id, document_id, "one")
    lease = place.claim()

    def die(*_: object) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("webapp.pipeline.opened._remove_earlier", die)
        with pytest.raises(Crash):
            place.process(lease)
    lifecycle.reset_worker(place.queue, "worker")
    _work_off(place)
    assert place.run(document_id).state == "SUCCEEDED"
    assert list(_parts(place, document_id)) == ["a.txt", "b.txt"]


def test_reading_again_keeps_what_the_unpacking_said(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = _uploaded(place, locked_zip(TWO), "notes.zip")
    before = place.document(document_id)
    monkeypatch.setitem(versions.VERSIONS, "archives", versions.VERSIONS["archives"] + 1)
    assert chores.read_anew(place) == 1
    _work_off(place)
    after = place.document(document_id)
    assert after.published_run_id != before.published_run_id
    assert (after.warnings, after.locked_parts) == (before.warnings, 2)


def test_archives_that_were_kept_are_unpacked_only_by_who_asks_for_it() -> None:
    assert not versions.is_outdated("kept:application/x-7z-compressed", lambda _: True)
    assert versions.is_outdated("kept:image/png", lambda _: True)
