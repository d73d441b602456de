"""Containers become documents with parts, each of which is a document of its own."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import update

from tests import archives, samples
from tests.crash_points import Life, commits_kill
from tests.pipeline.remote_place import Dying
from tests.pipeline.workplace import Crash, Workplace
from tests.search.passages import new_org
from tests.tnefs import tnef
from webapp.clock import now
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.jobs.interruptions import Snoozed
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError, LeaseLost
from webapp.library import deletion, parts
from webapp.library.deletion import remove_folders
from webapp.library.parts import TreeLimits
from webapp.pipeline import unpack
from webapp.provider_errors import BadInput, FailureCode
from webapp.providers.local.unpacker import LocalUnpacker
from webapp.readers.archives.members import UnpackLimits
from webapp.runs.stages import UNPACK

LIMITS = UnpackLimits(members=1000, member_bytes=50 << 20, total_bytes=100 << 20, ratio=200)
NOTES = {f"notes/{number}.txt": f"Note {number} tells of harbours and lights.".encode() for number in range(5)}


@pytest.fixture(scope="module")
def unpacker() -> Iterator[LocalUnpacker]:
    """One unpacker's process for all tests of a module."""
    unpacker = LocalUnpacker(LIMITS)
    yield unpacker
    unpacker.close()


@pytest.fixture
def place(workplace: Workplace, unpacker: LocalUnpacker) -> Workplace:
    workplace.providers = replace(workplace.providers, unpacker=unpacker)
    return workplace


def work_off(place: Workplace, **more: object) -> None:
    """Work until nothing is left to do."""
    place.queue.wake_delayed()
    while leases := place.queue.claim("worker"):
        try:
            place.process(leases[0], **more)
        except Snoozed:
            raise AssertionError("nothing has to wait here") from None


def parts_of(place: Workplace, container: Document) -> list[Document]:
    with reading(place.org_id):
        ids = parts.page(place.org_id, container.id, limit=1000)
    return [place.document(each) for each in ids]


def delete(place: Workplace, document_id: UUID | None) -> None:
    """As the page does: what lies in it first, some at a time."""
    assert document_id is not None
    for folders in deletion.delete_parts(place.queue, place.org_id, document_id):
        remove_folders(place.providers.blobs, folders)
    remove_folders(place.providers.blobs, deletion.delete_document(place.queue, place.org_id, document_id) or [])


def unpacked(place: Workplace, data: bytes, name: str) -> tuple[Document, list[Document]]:
    """A container that is done, and its parts."""
    document_id = place.upload(data, name).document.id
    work_off(place)
    container = place.document(document_id)
    return container, parts_of(place, container)


def test_an_archive_is_ready_with_its_parts(place: Workplace) -> None:
    container, found = unpacked(place, archives.zipped(NOTES), "notes.zip")
    assert (container.status, container.parent_id) == ("READY", None)
    assert [each.path_in_parent for each in found] == list(NOTES)
    assert [each.filename for each in found] == [f"{number}.txt" for number in range(5)]
    assert {(each.status, each.parent_id) for each in found} == {("READY", container.id)}
    assert all("harbours" in place.chunks(each.id)[0].text for each in found)
    assert "notes/3.txt" in place.chunks(container.id)[0].text
    # Its mark, by which it is read again once a newer version reads archives better.
    assert container.read_by == "archives-1"


def test_mail(place: Workplace) -> None:
    pdf = samples.report_pdf()
    container, found = unpacked(
        place, archives.mail("See the report.", {"report.pdf": pdf, "a.txt": b"Words."}), "m.eml"
    )
    assert container.status == "READY"
    assert "See the report" in place.chunks(container.id)[0].text
    assert [(each.filename, each.content_type, each.status) for each in found] == [
        ("report.pdf", "application/pdf", "READY"),
        ("a.txt", "text/plain", "READY"),
    ]


def test_what_outlook_packs_into_a_winmail_dat(place: Workplace) -> None:
    packed = tnef({"report.pdf": samples.report_pdf()}, text=b"<p>Here is the report.</p>")
    container, found = unpacked(place, archives.mail("See the report.", {"winmail.dat": packed}), "m.eml")
    assert [(each.filename, each.content_type, each.status) for each in found] == [
        ("winmail.dat", "application/ms-tnef", "READY")
    ]
    inner = parts_of(place, found[0])
    assert [(each.path_in_parent, each.status) for each in inner] == [
        ("report.pdf", "READY"),
        ("message.html", "READY"),
    ]
    assert container.status == "READY"


def test_a_pdf_with_files_in_it(place: Workplace) -> None:
    container, found = unpacked(
        place, archives.pdf_with_files({"factur-x.xml": b"<?xml version='1.0'?><a>Oil</a>"}), "i.pdf"
    )
    assert (container.status, container.page_count) == ("READY", 1)
    assert [(each.filename, each.content_type, each.status) for each in found] == [
        ("factur-x.xml", "application/xml", "READY")
    ]


def test_what_is_not_unpacked_is_said_one_by_one(place: Workplace) -> None:
    locked = {"open.txt": b"An open note.", "locked.txt": b"A secret.", "empty.txt": b"", "../../etc/passwd": b"root"}
    container, found = unpacked(place, archives.encrypted_zip(locked, "locked.txt"), "mixed.zip")
    assert container.status == "READY"
    assert [each.path_in_parent for each in found] == ["open.txt", "etc/passwd"]
    assert container.warnings == [
        "“locked.txt” is locked by a password, so it was not unpacked.",
        "“empty.txt” is empty, so there is nothing to unpack.",
    ]


def test_what_nothing_reads_is_kept_and_programs_packages_stay_whole(place: Workplace) -> None:
    files = {
        "a.bin": bytes(range(256)) * 8,
        "tool.jar": archives.zipped({"META-INF/MANIFEST.MF": b"x", "A.class": b"y"}),
    }
    _, found = unpacked(place, archives.tarred(files, "w:gz"), "files.tgz")
    assert [each.is_kept for each in found] == [True, True]


def test_the_same_bytes_are_rows_of_their_own_that_share_file_and_answers(place: Workplace) -> None:
    logo = NOTES["notes/1.txt"]
    _, first = unpacked(place, archives.zipped({"a/logo.txt": logo, "b/logo.txt": logo}), "one.zip")
    _, second = unpacked(place, archives.zipped({"c/logo.txt": logo, "x.txt": b"Another note."}), "two.zip")
    same = [*first, second[0]]
    assert len({each.id for each in same}) == 3
    assert len({each.blob_path for each in same}) == len({each.answers_folder for each in same}) == 1
    read_before = place.extractor.calls
    upload = place.upload(logo, "logo.txt")
    work_off(place)
    assert upload.duplicate_of is None, "a part is not the document that an upload finds"
    assert place.document(upload.document.id).answers_folder == same[0].answers_folder
    assert place.extractor.calls == read_before, "what was read of a part is known of the upload"
    delete(place, same[0].parent_id)
    assert place.providers.blobs.exists(second[0].blob_path)
    assert place.document(second[0].id).status == "READY"


def test_processing_again_neither_doubles_nor_loses_parts(place: Workplace) -> None:
    container, found = unpacked(place, archives.zipped(NOTES), "notes.zip")
    delete(place, found[2].id)
    place.reprocess(container.id)
    work_off(place)
    again = parts_of(place, place.document(container.id))
    assert [each.path_in_parent for each in again] == list(NOTES)
    assert {each.id for each in found} - {each.id for each in again} == {found[2].id}


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (TreeLimits(files=3), "More lies in this file than may be unpacked. The rest is kept in the original."),
        (TreeLimits(depth=0), "This file lies too deep within others"),
    ],
)
def test_limits_of_the_whole_tree(
    place: Workplace, monkeypatch: pytest.MonkeyPatch, limits: TreeLimits, said: str
) -> None:
    monkeypatch.setattr(unpack, "PARTS_PER_BATCH", 3)
    document_id = place.upload(archives.zipped(NOTES), "notes.zip").document.id
    work_off(place, tree_limits=limits)
    container = place.document(document_id)
    assert container.status == "READY"
    assert any(warning.startswith(said) for warning in container.warnings or [])
    assert len(parts_of(place, container)) == (3 if limits.depth else 0)


def test_an_org_that_is_full_gets_no_parts_beyond_its_limit(place: Workplace) -> None:
    document_id = place.upload(archives.zipped(NOTES), "notes.zip").document.id
    with pytest.raises(BadInput) as refused:
        work_off(place, tree_limits=TreeLimits(org_bytes=1))
    assert refused.value.code is FailureCode.ORG_FULL
    assert [each.id for each in place.all(Document)] == [document_id]


def test_deleting_a_container_deletes_its_parts_and_all_their_blobs(place: Workplace) -> None:
    container, _ = unpacked(place, archives.zipped({**NOTES, "inner.zip": archives.zipped(NOTES)}), "notes.zip")
    assert len(place.all(Document)) == 12
    delete(place, container.id)
    assert place.all(Document) == []
    assert place.blobs() == []


def test_nobody_deletes_what_belongs_to_others(place: Workplace) -> None:
    document_id = place.upload(archives.zipped(NOTES), "notes.zip").document.id
    assert list(deletion.delete_parts(place.queue, new_org(), document_id)) == []
    work_off(place)
    assert place.document(document_id).status == "READY"


def test_a_container_that_is_deleted_while_it_is_unpacked_gets_no_more_parts(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = place.upload(archives.zipped(NOTES), "notes.zip").document.id
    store = parts.store

    def delete_first(*arguments: Any) -> Any:
        stored = store(*arguments)
        delete(place, document_id)
        return stored

    monkeypatch.setattr(parts, "store", delete_first)
    with pytest.raises(LeaseLost):
        work_off(place)
    assert place.all(Document) == []


def test_a_file_that_was_to_be_shared_and_goes_meanwhile_is_stored_anew(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = unpacked(place, archives.zipped({"a.txt": NOTES["notes/1.txt"]}), "one.zip")
    store = parts.store
    deleted: list[UUID] = []

    def delete_after(*arguments: Any) -> Any:
        stored = store(*arguments)
        if not deleted:
            deleted.append(first.id)
            delete(place, first.id)
        return stored

    monkeypatch.setattr(parts, "store", delete_after)
    _, (found,) = unpacked(place, archives.zipped({"b.txt": NOTES["notes/1.txt"]}), "two.zip")
    assert found.status == "READY"
    assert place.providers.blobs.exists(found.blob_path)


@pytest.mark.slow
def test_a_worker_may_die_at_any_moment_of_the_unpacking(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right before and right after each commit and each blob's write: no part is lost, none is there twice."""
    monkeypatch.setattr(unpack, "PARTS_PER_BATCH", 2)
    monkeypatch.setattr(unpack, "LOAD_FILES", 3)
    life = Life()
    place.providers = replace(
        place.providers,
        blobs=Dying(place.providers.blobs, life, frozenset({"put_bytes", "put_file"})),  # type: ignore[arg-type]
    )
    with commits_kill(life):
        number = 0
        while _dies_while_unpacking(place, life, number + 1):
            number += 1
    assert number >= 10, "there are moments to die at"


def _dies_while_unpacking(place: Workplace, life: Life, number: int) -> bool:
    files = {f"{one}.txt": f"{one} of {number}".encode() for one in range(4)}
    document_id = place.upload(archives.zipped(files), "notes.zip").document.id
    place.process()
    lease = place.claim()
    assert lease.stage == UNPACK
    life.begin("claiming", number)
    died = False
    try:
        place.process(lease)
    except Crash:
        died = True
    life.begin()
    with transaction(everywhere=True) as session:
        place.queue.reset_stale(-60, JobError("worker_died", "the worker died"))
        session.execute(update(Job).where(Job.status == "PENDING").values(available_at=now(), wakes_at=None))
    work_off(place)
    container = place.document(document_id)
    assert (container.status, container.warnings) == ("READY", None)
    assert [each.path_in_parent for each in parts_of(place, container)] == list(files)
    delete(place, document_id)
    return died
