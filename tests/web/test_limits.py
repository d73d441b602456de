"""How much an org may store, send and ask: what is refused, with which words, and what is not hurt by it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from werkzeug.datastructures import FileStorage
from werkzeug.test import TestResponse, encode_multipart

from tests.bare import changed
from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import File, notes, read_json, send, services_of, shelve
from webapp.db import reading, transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.library.usage import stored_bytes
from webapp.providers.local.blob import LocalBlobStore
from webapp.web.rates import Allowance, Rates

KB, GB = 1024, 1024**3


def limit(app: Flask, **limits: Any) -> None:
    """Other limits for this test."""
    found = services_of(app)
    app.extensions["docmill"] = replace(found, settings=changed(found.settings, "limits", **limits))


def stored(app: Flask, org_id: UUID) -> int:
    with app.app_context(), reading(org_id):
        return stored_bytes(org_id)


def blobs_of(app: Flask) -> list[str]:
    return [blob.path for blob in services_of(app).providers.blobs.list()]


def form(*files: File) -> dict[str, Any]:
    boundary, body = encode_multipart({"file": [FileStorage(BytesIO(content), name) for name, content in files]})
    return {"data": body, "content_type": f"multipart/form-data; boundary={boundary}"}


class Unread(BytesIO):
    """A body that tells how much of it was asked for."""

    asked = 0

    def __init__(self, data: bytes, on_read: Callable[[], None]) -> None:
        super().__init__(data)
        self._on_read = on_read

    def read(self, size: int | None = -1) -> bytes:
        data = super().read(size)
        self._count(len(data))
        return data

    def readinto(self, buffer: Any) -> int:
        number = super().readinto(buffer)
        self._count(number)
        return number

    def _count(self, number: int) -> None:
        self.asked += number
        self._on_read()


def send_unread(
    program: Program, size: int, *, length: int | None, on_read: Callable[[], None] = lambda: None
) -> tuple[TestResponse, Unread]:
    """Upload a file of this size; `length` is what the request says, None where it says nothing (chunked)."""
    boundary, body = encode_multipart({"file": [FileStorage(BytesIO(b"words " * (size // 6)), "a.txt")]})
    return send_stream(program, boundary, Unread(body, on_read), length=length)


def send_stream(program: Program, boundary: str, stream: Unread, *, length: int | None) -> tuple[TestResponse, Unread]:
    """Send a form as the server has it."""
    environ: dict[str, Any] = {"wsgi.input": stream, "CONTENT_TYPE": f"multipart/form-data; boundary={boundary}"}
    if length is None:
        environ["wsgi.input_terminated"] = True
    else:
        environ["CONTENT_LENGTH"] = str(length)
    return program.post("/documents", environ_overrides=environ), stream


# What an org stores.


@both_databases
def test_what_an_org_stores_is_counted(app: Flask, people: People, program: Program, ops: Program) -> None:
    first, second = notes(1), notes(2)
    ids = shelve(program, first, second)
    assert stored(app, program.org_id) == len(first[1]) + len(second[1])
    shelve(program, first)
    assert stored(app, program.org_id) == len(first[1]) + len(second[1])
    program.client.delete(f"/documents/{ids[0]}", headers=program.headers)
    assert stored(app, program.org_id) == len(first[1]) + len(second[1]), "the bin counts, too"
    ops.client.delete(f"/documents/{ids[0]}?purge=1", headers=ops.headers)
    assert stored(app, program.org_id) == len(second[1])
    assert stored(app, people.org("Theirs")) == 0


@both_databases
def test_an_org_stores_no_more_than_it_may(app: Flask, people: People, program: Program) -> None:
    size = len(notes(1)[1])
    limit(app, max_org_gb=2.5 * size / GB)
    shelve(program, notes(1))
    shelve(program, notes(2))
    answer = send(program, notes(3))
    assert answer.status_code == 413
    assert answer.mimetype == "application/problem+json"
    assert read_json(answer)["reason"] == "org_full"
    assert "Its files may take" in read_json(answer)["detail"]
    assert stored(app, program.org_id) == 2 * size
    assert len([path for path in blobs_of(app) if path.endswith("/original")]) == 2
    # Another org has room of its own, and what is deleted makes some.
    assert send(people.program(org="Theirs"), notes(3)).status_code == 200


def test_of_several_files_those_that_fit_are_added(app: Flask, program: Program) -> None:
    size = len(notes(1)[1])
    limit(app, max_org_gb=1.5 * size / GB)
    answer = read_json(send(program, notes(1)))
    assert len(answer["documents"]) == 1
    assert send(program, notes(2)).status_code == 413


def test_a_full_org_is_refused_before_its_file_is_read(app: Flask, program: Program) -> None:
    limit(app, max_org_gb=100 * KB / GB)
    answer, body = send_unread(program, 300 * KB, length=300 * KB)
    assert (answer.status_code, read_json(answer)["reason"]) == (413, "org_full")
    assert body.asked == 0


def test_a_file_of_unknown_length_is_refused_while_it_arrives(app: Flask, program: Program) -> None:
    limit(app, max_org_gb=100 * KB / GB)
    answer, body = send_unread(program, 3000 * KB, length=None)
    assert (answer.status_code, read_json(answer)["reason"]) == (413, "org_full")
    assert 0 < body.asked < 1000 * KB
    assert list(services_of(app).providers.blobs.incoming().iterdir()) == []


def test_a_person_reads_it_on_a_page(app: Flask, browser: Browser) -> None:
    limit(app, max_org_gb=5 / GB)
    page = browser.post("/documents", data={"file": (BytesIO(b"words"), "a.txt")})
    assert page.status_code == 303
    limit(app, max_org_gb=4 / GB)
    page = browser.post("/documents", data={"file": (BytesIO(b"other"), "a.txt")})
    assert page.status_code == 413
    assert page.mimetype == "text/html"
    assert "There is no space left for your organisation" in page.text
    assert "Its files may take 4 bytes together." in page.text


# The disk, and the request as a whole.


def test_a_disk_that_must_stay_free_takes_nothing_and_reads_nothing(app: Flask, program: Program) -> None:
    found = services_of(app)
    blobs = LocalBlobStore(found.settings.data_dir / "blobs", free_min_bytes=1 << 60)
    app.extensions["docmill"] = replace(found, providers=replace(found.providers, blobs=blobs))
    answer, body = send_unread(program, 300 * KB, length=300 * KB)
    assert (answer.status_code, read_json(answer)["reason"]) == (507, "storage_full")
    assert "There is no room left" in read_json(answer)["title"]
    assert body.asked == 0


def test_a_request_that_is_too_large_is_not_read(app: Flask, program: Program) -> None:
    limit(app, max_request_mb=1)
    answer, body = send_unread(program, 3000 * KB, length=3000 * KB)
    assert (answer.status_code, read_json(answer)["reason"]) == (413, "request_too_large")
    assert "all files together may be up to 1.0 MB" in read_json(answer)["detail"]
    assert body.asked == 0


def test_a_request_of_unknown_length_ends_where_it_is_too_large(app: Flask, program: Program) -> None:
    limit(app, max_request_mb=1)
    answer, body = send_unread(program, 30_000 * KB, length=None)
    assert answer.status_code == 413
    assert 0 < body.asked < 2000 * KB
    assert list(services_of(app).providers.blobs.incoming().iterdir()) == []


def test_a_disk_that_fills_up_meanwhile_ends_a_request_of_unknown_length(app: Flask, program: Program) -> None:
    """The disk has room when the request begins, and none once the first block was read."""
    found = services_of(app)
    full = LocalBlobStore(found.settings.data_dir / "blobs", free_min_bytes=1 << 60)

    def fill_up() -> None:
        app.extensions["docmill"] = replace(found, providers=replace(found.providers, blobs=full))

    answer, body = send_unread(program, 40_000 * KB, length=None, on_read=fill_up)
    assert (answer.status_code, read_json(answer)["reason"]) == (507, "storage_full")
    assert 0 < body.asked < 20_000 * KB
    assert list(services_of(app).providers.blobs.incoming().iterdir()) == []


def test_so_many_files_and_no_more_come_at_once(app: Flask, program: Program) -> None:
    limit(app, request_files_max=3)
    assert send(program, *map(notes, range(3))).status_code == 200
    answer = send(program, *map(notes, range(10, 14)))
    assert (answer.status_code, read_json(answer)["reason"]) == (413, "too_many_files")
    assert list(services_of(app).providers.blobs.incoming().iterdir()) == []


def test_a_form_with_as_many_files_as_may_be_holds_none_of_them_open(app: Flask, program: Program) -> None:
    """A field beside the files, as a page's form has it, is not one too many."""
    most = services_of(app).settings.limits.request_files_max
    no_picture = b"text" * KB
    files = [FileStorage(BytesIO(no_picture), f"{number}.png") for number in range(most)]
    boundary, body = encode_multipart({"file": files, "field": "value"})
    opened: list[int] = []
    stream = Unread(body, lambda: opened.append(len(list(Path("/dev/fd").iterdir()))))
    answer, _ = send_stream(program, boundary, stream, length=len(body))
    assert len(read_json(answer)["rejected"]) == most
    assert len(opened) > 5
    assert max(opened) < opened[0] + 20


# Rates.


def assert_refused(answer: TestResponse, reason: str) -> None:
    assert (answer.status_code, read_json(answer)["reason"]) == (429, reason)
    assert int(answer.headers["Retry-After"]) >= 1
    assert read_json(answer)["detail"]


def statuses(answers: Iterator[TestResponse]) -> list[int]:
    return [answer.status_code for answer in answers]


def test_one_token_asks_half_as_often_as_its_org(app: Flask, people: People) -> None:
    limit(app, rate_requests=0.4)
    one, other, third = people.program(org="Ours"), people.program(org="Ours"), people.program(org="Ours")
    assert one.org_id == other.org_id == third.org_id
    # In ten seconds the org may ask four times, and one token two times.
    assert statuses(one.get("/documents") for _ in range(2)) == [200, 200]
    assert_refused(one.get("/documents"), "rate_requests")
    assert statuses(other.get("/documents") for _ in range(2)) == [200, 200]
    assert_refused(third.get("/documents"), "rate_requests")
    assert people.program(org="Theirs").get("/documents").status_code == 200


def test_a_person_who_asks_too_often_reads_why(app: Flask, people: People) -> None:
    browser = people.browser()
    limit(app, rate_requests=0.2)
    browser.get("/")
    page = browser.get("/")
    assert page.status_code == 429
    assert "Too many requests" in page.text
    assert page.headers["Retry-After"]


def test_rows_that_poll_are_not_hurt(app: Flask, program: Program) -> None:
    (document_id,) = shelve(program, notes(1))
    limit(app, rate_requests=0.2, rate_polls=500.0)
    program.get("/documents")
    assert_refused(program.get("/documents"), "rate_requests")
    for _ in range(100):
        assert program.get(f"/documents/{document_id}/status").status_code == 200


def test_polls_have_a_limit_too(app: Flask, program: Program) -> None:
    (document_id,) = shelve(program, notes(1))
    limit(app, rate_polls=0.2)
    assert program.get(f"/documents/{document_id}/status").status_code == 200
    assert_refused(program.get(f"/documents/{document_id}/status"), "rate_polls")


def test_searches_are_limited_apart_from_the_rest(app: Flask, program: Program) -> None:
    limit(app, rate_searches=0.2)
    assert program.get("/search?q=rye").status_code == 200
    assert_refused(program.get("/search?q=rye"), "rate_searches")
    assert program.get("/search").status_code == 200
    assert program.get("/documents").status_code == 200


def test_uploads_are_refused_before_they_are_read(app: Flask, program: Program) -> None:
    limit(app, rate_uploads=0.2)
    assert send(program, notes(1)).status_code == 200
    answer, body = send_unread(program, 300 * KB, length=300 * KB)
    assert_refused(answer, "rate_uploads")
    assert body.asked == 0


@pytest.mark.slow
def test_a_program_that_only_works_fast_is_not_refused(app: Flask, program: Program) -> None:
    """Under the usual limits: a thousand uploads in one go, 20 searches a second for 20 seconds, polls in a loop."""
    (document_id,) = shelve(program, notes(1))
    uploads = {program.client.post("/documents", headers=program.headers).status_code for _ in range(1000)}
    assert uploads == {422}, "each is without a file, which is what is said about it"
    assert set(statuses(program.get("/search?q=rye") for _ in range(400))) == {200}
    assert set(statuses(program.get(f"/documents/{document_id}/status") for _ in range(1000))) == {200}


def test_what_anybody_may_ask_is_not_counted(app: Flask, people: People) -> None:
    limit(app, rate_requests=0.2)
    browser = people.visitor()
    assert statuses(browser.get("/healthz") for _ in range(10)) == [200] * 10


def test_documents_are_processed_again_so_often_in_an_hour(app: Flask, program: Program) -> None:
    ids = shelve(program, *map(notes, range(6)))
    _end_runs(app, program.org_id)
    limit(app, reprocess_per_hour=4)
    answer = read_json(program.post("/documents/reprocess"))
    assert answer == {"queued": 4, "more": True}
    assert_refused(program.post("/documents/reprocess"), "rate_reprocess")
    assert_refused(program.post(f"/documents/{ids[0]}/reprocess"), "rate_reprocess")
    limit(app, reprocess_per_hour=0)
    assert program.post(f"/documents/{ids[0]}/reprocess").status_code == 202


def _end_runs(app: Flask, org_id: UUID) -> None:
    from tests.web.shelves import use_hashed_words, work_off  # noqa: PLC0415

    use_hashed_words(app)
    work_off(app)


def test_a_bucket_fills_up_as_time_goes_by(monkeypatch: pytest.MonkeyPatch) -> None:
    present = 1000.0
    monkeypatch.setattr("webapp.web.rates.monotonic", lambda: present)
    rates, allowance = Rates(), Allowance("a", per_second=2.0, size=4.0)
    assert [rates.take(allowance) for _ in range(5)] == [0, 0, 0, 0, 0.5]
    present += 0.5
    assert [rates.take(allowance) for _ in range(2)] == [0, 0.5]
    present += 3600
    assert rates.left(allowance) == 4
    rates.spend(allowance, 10)
    assert rates.left(allowance) == 0
    assert rates.take(allowance) == pytest.approx(3.5)


def test_who_lacks_one_token_loses_none_of_the_other() -> None:
    rates, org, own = Rates(), Allowance("org", 0.001, 4.0), Allowance("own", 0.001, 1.0)
    assert rates.take(org, own) == 0
    assert rates.take(org, own) > 0
    assert rates.left(org) == 3


# Where people see them.


def test_the_account_page_shows_what_the_org_stores_and_spends(app: Flask, people: People) -> None:
    browser = people.browser("ops", email="op@example.org")
    assert browser.org_id is not None
    limit(app, max_org_gb=2.0, spend_per_day=10.0)
    with app.app_context(), transaction(browser.org_id) as session:
        line = {"provider": "openai", "operation": "embed", "units": 1, "seconds": 1.0, "outcome": "ok", "price": 2.5}
        session.add(ProviderCall(org_id=browser.org_id, **line))
    for page in ("/account", "/ops"):
        text = browser.get(page).text
        assert "0 bytes of 2.0 GB" in text
        assert "2.50 USD of 10.00 USD" in text
    limit(app, spend_per_day=2.0)
    assert "spending limit is reached" in browser.get("/account").text
    program = people.program("ops")
    figures = read_json(program.get("/ops"))
    assert figures["has_room"] is True
    assert figures["limits"]["spent_today"] == 2.5
    metrics = program.get("/metrics").text
    assert "docmill_storage_room 1.0" in metrics
    assert "docmill_stored_bytes 0.0" in metrics
    assert "docmill_spent_today 2.5" in metrics


def test_ops_see_that_there_is_no_space(app: Flask, people: People) -> None:
    found = services_of(app)
    blobs = LocalBlobStore(found.settings.data_dir / "blobs", free_min_bytes=1 << 60)
    app.extensions["docmill"] = replace(found, providers=replace(found.providers, blobs=blobs))
    operator = people.browser("ops", email="op@example.org")
    assert "The file store is full or cannot be written to" in operator.get("/ops").text
    assert "docmill_storage_room 0.0" in people.program("ops").get("/metrics").text
    output = app.test_cli_runner().invoke(args=["doctor"]).output
    assert "room: the disk of the blobs has too little free space" in output
