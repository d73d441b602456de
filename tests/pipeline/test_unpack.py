"""Containers become documents with parts, each of which is a document of its own."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from tests import archives, samples
from tests.pipeline.workplace import Workplace
from webapp.db import reading
from webapp.documents.model import Document
from webapp.jobs.interruptions import Snoozed
from webapp.library import deletion, parts
from webapp.providers.local.unpacker import LocalUnpacker
from webapp.readers.archives.members import Limits
from webapp.web.blobs import remove_folders

LIMITS = Limits(members=1000, member_bytes=50 << 20, total_bytes=100 << 20, ratio=200)
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


def test_deleting_a_container_deletes_its_parts_and_all_their_blobs(place: Workplace) -> None:
    container, _ = unpacked(place, archives.zipped({**NOTES, "inner.zip": archives.zipped(NOTES)}), "notes.zip")
    assert len(place.all(Document)) == 12
    for folders in deletion.delete_parts(place.queue, place.org_id, container.id):
        remove_folders(place.providers.blobs, folders)
    remove_folders(place.providers.blobs, deletion.delete_document(place.queue, place.org_id, container.id) or [])
    assert place.all(Document) == []
    assert place.blobs() == []
