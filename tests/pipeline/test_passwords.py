"""Files that a password opens: what becomes of the password and of the opened copy, however an attempt ends."""

import logging
import threading
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import select

from tests.locked import PASSWORD, SENTENCE, WRONG, locked_docx, locked_pdf, plain_docx
from tests.pipeline.workplace import Crash, Workplace
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.jobs.model import Job
from webapp.jobs.queue import Lease, LeaseLost
from webapp.jobs.sealed_passwords import CantUnseal, PasswordSeal
from webapp.jobs.states import JobStatus
from webapp.library.deletion import delete_document
from webapp.library.missing import find_missing
from webapp.library.pictures import Size, page_picture
from webapp.library.unlocking import queue_with_password
from webapp.pipeline.handlers import HANDLERS
from webapp.provider_errors import FailureCode, ProviderUnavailable
from webapp.providers.local.opener import LocalOpener
from webapp.providers.local.pictures import LocalPictures
from webapp.runs import lifecycle, time_limit
from webapp.worker.attempt import Attempts, Claimed, Outcome
from webapp.worker.policy import ExecutionPolicy


@pytest.fixture
def place(workplace: Workplace, local_opener: LocalOpener) -> Workplace:
    workplace.providers = replace(workplace.providers, opener=local_opener)
    queue = replace(workplace.settings.queue, job_max_attempts=5)
    workplace.settings = replace(workplace.settings, queue=queue)
    return workplace


def _attempt(place: Workplace, stopping: threading.Event | None = None) -> Outcome:
    """One attempt at the next job, by a worker."""
    attempts = Attempts(place, ExecutionPolicy.of(place.settings), HANDLERS)
    return attempts.run(Claimed(place.claim(), float("inf")), stopping or threading.Event())


def _locked(place: Workplace, data: bytes | None = None, filename: str = "ledger.docx") -> UUID:
    """A document that failed because its file is locked."""
    document_id = place.upload(data or locked_docx(), filename).document.id
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.ENCRYPTED
    return document_id


def _code(place: Workplace, document_id: UUID) -> str | None:
    return place.run(document_id).failure_code


def _give(place: Workplace, document_id: UUID, password: str = PASSWORD) -> UUID | None:
    return queue_with_password(place, place.org_id, document_id, password)


def _sealed(place: Workplace) -> list[bytes | None]:
    with reading(place.org_id) as session:
        return list(session.scalars(select(Job.sealed_password).order_by(Job.id)))


def _copies(place: Workplace) -> list[str]:
    return [path for path in place.blobs() if "/opened-" in path]


def test_the_password_opens_the_file_and_is_gone(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    assert [sealed is not None for sealed in _sealed(place)] == [False, True]

    assert _attempt(place) is Outcome.COMPLETED
    document = place.document(document_id)
    assert document.status == "READY"
    assert [SENTENCE in chunk.text for chunk in place.chunks(document_id)] == [True]
    assert _copies(place) == [document.opened_path] == [document.readable_path]
    assert place.providers.blobs.read_bytes(document.readable_path) == plain_docx()
    assert place.providers.blobs.read_bytes(document.blob_path) == locked_docx()
    assert set(_sealed(place)) == {None}


def test_later_runs_need_no_password(place: Workplace) -> None:
    document_id = _locked(place, locked_pdf("lantern"), "ledger.pdf")
    _give(place, document_id, "lantern")
    assert _attempt(place) is Outcome.COMPLETED
    _empty_answers(place)
    _attempt(place)

    place.reprocess(document_id)
    assert _attempt(place) is Outcome.COMPLETED
    assert (place.document(document_id).pages_read, len(_copies(place))) == (2, 1)
    artist = LocalPictures()
    try:
        providers = replace(place.providers, artist=artist)
        picture = page_picture(providers, place.document(document_id), 2, Size.SMALL)
    finally:
        artist.close()
    assert picture is not None
    assert picture.startswith(b"\x89PNG")


def _empty_answers(place: Workplace) -> None:
    for path in place.blobs():
        if "/extractions/" in path:
            place.providers.blobs.delete(path)


@pytest.mark.parametrize("password", [PASSWORD.lower(), "x" * 255])
def test_a_wrong_password_says_so_and_is_gone(place: Workplace, password: str) -> None:
    document_id = _locked(place)
    _give(place, document_id, password)
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.WRONG_PASSWORD
    assert (set(_sealed(place)), _copies(place)) == ({None}, [])

    _give(place, document_id)
    assert _attempt(place) is Outcome.COMPLETED


def test_what_needs_no_password_gets_no_run(place: Workplace) -> None:
    document_id = place.processed(b"Some words.", "words.txt").id
    assert _give(place, document_id) is None
    locked = _locked(place)
    assert _give(place, locked) is not None
    # One that was given already is waited for.
    assert _give(place, locked) is None


def test_the_password_is_nowhere_else(place: Workplace, caplog: pytest.LogCaptureFixture) -> None:
    """Neither in a row, nor in a log, nor in a file, before and after."""
    caplog.set_level(logging.DEBUG)
    document_id = _locked(place)
    for password in (WRONG, PASSWORD):
        _give(place, document_id, password)
        lease = place.claim()
        everything = repr([lease, *_rows(place, Job), *_rows(place, Document)])
        assert password not in everything
        Attempts(place, ExecutionPolicy.of(place.settings), HANDLERS).run(
            Claimed(lease, float("inf")), threading.Event()
        )
        everything = repr([*_rows(place, Job), place.run(document_id).error, caplog.text])
        assert password not in everything
    files = [path for path in place.settings.data_dir.rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if PASSWORD.encode() in path.read_bytes()]


def _rows(place: Workplace, table: type[Any]) -> list[Any]:
    """All columns of all rows, as they are in the database."""
    with reading(place.org_id) as session:
        return [tuple(row) for row in session.execute(select(table.__table__))]


def test_a_worker_that_dies_takes_the_password_along(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    lease = place.claim()
    _die(place, lease, monkeypatch)
    (stray,) = _copies(place)

    lifecycle.reset_worker(place.queue, "worker")
    assert set(_sealed(place)) == {None}
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.PASSWORD_GONE

    _give(place, document_id)
    assert _attempt(place) is Outcome.COMPLETED
    assert _copies(place) == [place.document(document_id).opened_path]
    assert stray not in _copies(place)


def _die(place: Workplace, lease: Lease, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process is gone between storing the copy and committing where it lies."""

    def die(*_: Any) -> None:
        raise Crash

    with monkeypatch.context() as patched:
        patched.setattr("webapp.pipeline.opened._store", die)
        with pytest.raises(Crash):
            place.process(lease)


def test_a_worker_that_lost_its_lease_leaves_nothing(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    frozen = place.claim()
    lifecycle.reset_worker(place.queue, "worker")
    place.queue.wake_delayed()
    (taken,) = place.queue.claim("another")

    with pytest.raises(LeaseLost):
        place.process(replace(frozen, payload=frozen.payload))
    assert _copies(place) == []
    assert place.document(document_id).opened_path is None
    assert place.queue.sealed_password(taken) is None


def test_a_frozen_worker_that_had_the_password_leaves_nothing(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    frozen = place.claim()
    unsealed = place.seal.unseal

    def freeze(sealed: bytes, document_id: UUID) -> str:
        lifecycle.reset_worker(place.queue, "worker")
        return unsealed(sealed, document_id)

    monkeypatch.setattr(place.seal, "unseal", freeze)
    with pytest.raises(LeaseLost):
        place.process(frozen)
    assert (_copies(place), place.document(document_id).opened_path) == ([], None)


def test_a_drain_keeps_the_password_for_the_next_worker(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    stopping = threading.Event()
    stopping.set()
    assert _attempt(place, stopping) is Outcome.RELEASED
    assert [sealed is not None for sealed in _sealed(place)] == [False, True]

    assert _attempt(place) is Outcome.COMPLETED
    assert place.document(document_id).status == "READY"
    assert set(_sealed(place)) == {None}


def test_an_attempt_that_failed_before_the_file_was_opened_forgets_it(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    opener = place.providers.opener
    place.providers = replace(place.providers, opener=_Away())
    assert _attempt(place) is Outcome.RETRIED
    assert set(_sealed(place)) == {None}

    place.providers = replace(place.providers, opener=opener)
    _make_due(place)
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.PASSWORD_GONE


class _Away:
    """A FileOpener whose processes don't start."""

    def open(self, *_: Any, **__: Any) -> None:
        raise ProviderUnavailable("the parser process does not start")


def _make_due(place: Workplace) -> None:
    with transaction(everywhere=True) as session:
        for job in session.scalars(select(Job).where(Job.status == JobStatus.PENDING)):
            job.wakes_at = None


def test_an_attempt_that_failed_after_the_file_was_opened_goes_on_with_the_copy(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    place.extractor.failures = [ProviderUnavailable("away") for _ in range(2)]
    assert _attempt(place) is Outcome.RETRIED
    assert set(_sealed(place)) == {None}

    _make_due(place)
    assert _attempt(place) is Outcome.COMPLETED
    assert place.document(document_id).status == "READY"


def test_cancelling_and_deleting_remove_it(place: Workplace) -> None:
    document_id = _locked(place)
    run_id = _give(place, document_id)
    assert run_id is not None
    assert lifecycle.cancel_run(place.queue, place.org_id, document_id, run_id)
    assert set(_sealed(place)) == {None}

    place.reprocess(document_id)
    _attempt(place)
    _give(place, document_id)
    assert _attempt(place) is Outcome.COMPLETED
    folders = delete_document(place.queue, place.org_id, document_id)
    for folder in folders or ():
        place.providers.blobs.delete_prefix(folder)
    assert place.blobs() == []


def test_ops_retry_asks_for_the_password_again(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id, WRONG)
    assert _attempt(place) is Outcome.FAILED
    failed = place.all(Job)[-1]
    lifecycle.retry_job(place.queue, place.org_id, failed.id, 5, by="ops")
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.ENCRYPTED


def test_a_run_that_timed_out_keeps_no_password(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    lease = place.claim()
    time_limit.time_out_own_run(place.queue, lease, continue_max=3)
    assert set(_sealed(place)) == {None}


def test_where_the_copy_is_gone_the_password_is_asked_for(place: Workplace) -> None:
    document_id = _locked(place)
    _give(place, document_id)
    assert _attempt(place) is Outcome.COMPLETED
    _attempt(place)
    _empty_answers(place)
    (copy,) = _copies(place)
    place.providers.blobs.delete(copy)
    assert [missing.path for missing in find_missing(place, place.org_id)] == [copy]

    place.reprocess(document_id)
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.ENCRYPTED
    assert len(place.chunks(document_id)) == 1
    _give(place, document_id)
    assert _attempt(place) is Outcome.COMPLETED
    assert list(find_missing(place, place.org_id)) == []


def test_another_key_or_another_document_unseals_nothing(place: Workplace) -> None:
    document_id = _locked(place)
    other = _locked(place, locked_pdf("other"), "other.pdf")
    sealed = place.seal.seal(PASSWORD, document_id)
    assert place.seal.unseal(sealed, document_id) == PASSWORD
    assert place.seal.seal(PASSWORD, document_id) != sealed
    for seal, owner, data in (
        (place.seal, other, sealed),
        (PasswordSeal(lambda: "another key"), document_id, sealed),
        (place.seal, document_id, sealed[:-1]),
        (place.seal, document_id, b""),
    ):
        with pytest.raises(CantUnseal):
            seal.unseal(data, owner)

    _give(place, document_id)
    place.seal = PasswordSeal(lambda: "another key")
    assert _attempt(place) is Outcome.FAILED
    assert _code(place, document_id) == FailureCode.PASSWORD_GONE
    assert "SECRET_KEY" in (place.run(document_id).error or "")
