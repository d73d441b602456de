"""Taking files in: blob and rows or neither, one document for the same bytes, clear refusals."""

import hashlib
import io
import threading
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.exc import OperationalError

from tests import samples
from tests.pipeline.workplace import Crash, Workplace
from tests.search.passages import new_org
from webapp.db import transaction
from webapp.documents.model import Document, ProcessingRun, RunEvent
from webapp.documents.states import EventKind
from webapp.jobs.model import Job
from webapp.library import intake as ingest_module
from webapp.library.intake import IncomingFile, Ingested, RefusalCode, Refused, receive
from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.runs import lifecycle


def leftovers(workplace: Workplace) -> list[Path]:
    return list(workplace.providers.blobs.incoming().iterdir())


def nothing_is_left(workplace: Workplace) -> bool:
    tables = (Document, ProcessingRun, Job, RunEvent)
    return not (any(workplace.all(table) for table in tables) or workplace.blobs() or leftovers(workplace))


def test_an_upload_becomes_a_document_a_run_a_job_and_an_event(workplace: Workplace) -> None:
    data = samples.report_pdf()

    ingested = workplace.upload(data, "report.pdf")

    document = workplace.document(ingested.document.id)
    assert (document.filename, document.content_type, document.size_bytes, document.status) == (
        "report.pdf", "application/pdf", len(data), "PROCESSING",
    )  # fmt: skip
    assert document.sha256 == hashlib.sha256(data).hexdigest()
    assert workplace.providers.blobs.read_bytes(document.blob_path) == data
    assert ingested.run.state == "QUEUED"
    assert ingested.duplicate_of is None
    (job,) = workplace.all(Job)
    assert (job.run_id, job.status, job.stage) == (ingested.run.id, "PENDING", "process_document")
    assert [event.kind for event in workplace.all(RunEvent)] == [EventKind.RUN_QUEUED]
    assert leftovers(workplace) == []


def test_the_answer_can_be_read_after_the_transaction(workplace: Workplace) -> None:
    document = workplace.upload(b"some words").document

    assert document.created_at.tzinfo is not None
    assert document.updated_at is not None
    assert document.title is None


def test_the_same_bytes_are_the_same_document(workplace: Workplace) -> None:
    first = workplace.upload(b"some words", "first.txt")

    second = workplace.upload(b"some words", "second.txt")

    assert second.duplicate_of == second.document.id == first.document.id
    assert second.document.filename == "first.txt"
    assert second.run.id == first.run.id
    assert len(workplace.all(Job)) == len(workplace.blobs()) == 1
    assert leftovers(workplace) == []


def test_another_org_has_its_own(workplace: Workplace) -> None:
    first = workplace.upload(b"some words")

    second = workplace.upload(b"some words", org_id=new_org())

    assert second.duplicate_of is None
    assert second.document.id != first.document.id
    assert len(workplace.blobs()) == 2


def test_ten_uploads_at_the_same_instant_are_one_document(workplace: Workplace, bare_app: Flask) -> None:
    start, answers = threading.Barrier(10), list[Ingested]()

    def upload() -> None:
        with bare_app.app_context():
            start.wait(20)
            answers.append(workplace.upload(b"some words"))

    threads = [threading.Thread(target=upload) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)

    assert len(answers) == 10
    assert len({answer.document.id for answer in answers}) == 1
    assert [answer.duplicate_of for answer in answers].count(None) == 1
    assert len(workplace.all(Document)) == len(workplace.all(Job)) == len(workplace.blobs()) == 1
    assert leftovers(workplace) == []


@pytest.mark.parametrize(
    ("data", "filename", "code", "label"),
    [
        (b"", "empty.pdf", RefusalCode.EMPTY, None),
        (b"Only some words.", "report.pdf", RefusalCode.MISMATCH, "plain text"),
        (b"<!doctype html><html>Sign in", "scan.png", RefusalCode.MISMATCH, "HTML page"),
        (b"Only some words.", "all.zip", RefusalCode.MISMATCH, "plain text"),
    ],
    ids=["empty", "text called pdf", "page called picture", "text called archive"],
)
def test_what_cannot_be_used_is_refused(
    workplace: Workplace, data: bytes, filename: str, code: RefusalCode, label: str | None
) -> None:
    with pytest.raises(Refused) as refused:
        workplace.upload(data, filename)

    assert refused.value.code is code
    assert refused.value.data["filename"] == filename
    assert refused.value.data.get("label") == label
    assert nothing_is_left(workplace)


@pytest.mark.parametrize(
    ("data", "filename", "content_type"),
    [
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 100, "scan.png", "image/png"),
        (b"PK\x03\x04" + b"\0" * 100, "letter.pdf", "application/zip"),
        (b"MZ" + b"\0" * 100, "report.pdf", "application/vnd.microsoft.portable-executable"),
        (b"\x00\x01\x02\x03" * 50, "report.txt", "application/octet-stream"),
        (b"\x00", "../../etc/passwd", "application/octet-stream"),
    ],
    ids=["image", "zip", "program", "bytes called text", "a byte"],
)
def test_what_nothing_reads_is_accepted_as_what_it_is(
    workplace: Workplace, data: bytes, filename: str, content_type: str
) -> None:
    document = workplace.upload(data, filename).document

    assert (document.content_type, document.status) == (content_type, "PROCESSING")
    assert document.filename == filename.rpartition("/")[2]
    assert workplace.providers.blobs.read_bytes(document.blob_path) == data


def test_a_text_under_the_name_of_another_kind_of_text_is_read_as_what_it_is(workplace: Workplace) -> None:
    page = b"<!doctype html><html><body>Not found</body></html>"
    assert workplace.upload(page, "table.csv").document.content_type == "text/html"
    assert workplace.upload(b"Only some words.", "page.html").document.content_type == "text/plain"


def test_a_pdf_is_one_whatever_its_name_says(workplace: Workplace) -> None:
    assert workplace.upload(samples.report_pdf(), "report.txt").document.content_type == "application/pdf"


def test_a_file_that_is_too_large_is_refused_while_it_comes(workplace: Workplace) -> None:
    incoming = IncomingFile(workplace.providers.blobs.incoming(), bytes_max=1000)
    incoming.write(b"x" * 1000)

    with pytest.raises(Refused) as refused:
        incoming.write(b"x")

    assert refused.value.code is RefusalCode.TOO_LARGE
    assert refused.value.data == {"bytes_max": 1000}
    assert leftovers(workplace) == []


def test_an_incoming_file_can_be_read_back_and_discarded(workplace: Workplace) -> None:
    incoming = receive(workplace.providers.blobs.incoming(), io.BytesIO(b"some words"), 1000)
    incoming.seek(0)

    assert io.BufferedReader(incoming).read() == b"some words"
    assert incoming.head == b"some words"
    incoming.discard()
    incoming.discard()
    assert leftovers(workplace) == []


def test_a_client_that_goes_away_leaves_nothing(workplace: Workplace) -> None:
    class Cut(io.RawIOBase):
        def read(self, size: int = -1) -> bytes:
            raise ConnectionResetError

    with pytest.raises(ConnectionResetError):
        receive(workplace.providers.blobs.incoming(), Cut(), 1000)

    assert leftovers(workplace) == []


def test_a_full_disk_leaves_nothing(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: str, source: Path) -> None:
        raise ProviderUnavailable("no room", code=FailureCode.STORAGE_FULL)

    monkeypatch.setattr(workplace.providers.blobs, "put_file", full)
    with pytest.raises(ProviderUnavailable):
        workplace.upload(b"some words")

    assert nothing_is_left(workplace)


@pytest.mark.parametrize("error", [RuntimeError("oops"), Crash(), OperationalError("x", {}, Exception("gone"))])
def test_rows_that_cannot_be_written_leave_no_blob(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def failing(*args: Any, **more: Any) -> None:
        raise error

    monkeypatch.setattr(lifecycle, "queue_first_run", failing)
    with pytest.raises(type(error)):
        workplace.upload(b"some words")

    assert nothing_is_left(workplace)


def test_a_commit_whose_answer_was_lost_is_looked_up(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = ingest_module._commit

    def lost(*args: Any) -> None:
        commit(*args)
        raise OperationalError("COMMIT", {}, Exception("the connection is gone"))

    monkeypatch.setattr(ingest_module, "_commit", lost)
    ingested = workplace.upload(b"some words")

    assert ingested.duplicate_of is None
    assert workplace.providers.blobs.exists(ingested.document.blob_path)
    assert len(workplace.all(Job)) == 1


def test_a_document_that_was_deleted_can_come_again(workplace: Workplace) -> None:
    first = workplace.upload(b"some words").document
    with transaction(workplace.org_id) as opened:
        opened.delete(opened.get_one(Document, first.id))

    assert workplace.upload(b"some words").duplicate_of is None
