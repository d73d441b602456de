"""POST /documents: what is taken, what is not, and what a person and a program hear of it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from hashlib import sha256
from io import BytesIO
from uuid import UUID

import pytest
from flask import Flask

from tests.bare import changed, dispose
from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import NOTES, notes, read_json, send, services_of, shelve
from webapp.app import create_app
from webapp.config import Settings

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 100
LETTER = b"Dear reader, I am text."


def incoming(app: Flask) -> list[str]:
    return [path.name for path in services_of(app).providers.blobs.incoming().iterdir()]


@pytest.fixture
def small_app(settings: Settings) -> Iterator[Flask]:
    """An installation that takes files of up to 1 MB."""
    app = create_app(changed(settings, "limits", max_upload_mb=1))
    app.testing = True
    yield app
    dispose(app)


@both_databases
def test_a_file_is_answered_with_its_document(app: Flask, program: Program) -> None:
    answer = send(program, ("Notes ü.md", NOTES))
    assert answer.status_code == 200
    body = read_json(answer)
    [document] = body["documents"]
    assert body["rejected"] == []
    assert str(UUID(document["id"])) == document["id"]
    assert document["filename"] == "Notes ü.md"
    assert document["content_type"] == "text/markdown"
    assert document["size_bytes"] == len(NOTES)
    assert len(document["sha256"]) == 64
    assert document["status"] == "PROCESSING"
    assert datetime.fromisoformat(document["created_at"]).utcoffset() == timedelta(0)
    assert document["duplicate_of"] is None
    assert document["run"]["state"] == "QUEUED"
    assert incoming(app) == []


@pytest.mark.parametrize("line", [b"\r\n--not the boundary", b"--", b"a\n", b"x"], ids=repr)
def test_a_file_of_many_blocks_arrives_as_it_was(program: Program, line: bytes) -> None:
    """Whatever looks like the end of a part, wherever a block ends."""
    content = line * (1_200_000 // len(line))
    [document] = read_json(send(program, ("long.txt", content), notes(1)))["documents"][:1]
    assert (document["size_bytes"], document["sha256"]) == (len(content), sha256(content).hexdigest())


def test_one_bad_file_does_not_cost_the_others(app: Flask, program: Program) -> None:
    answer = send(program, notes(1), ("empty.txt", b""), ("letter.pdf", LETTER), ("photo.pdf", PNG))
    assert answer.status_code == 200
    body = read_json(answer)
    assert [one["filename"] for one in body["documents"]] == ["note-001.md", "photo.pdf"]
    assert [(one["filename"], one["status"]) for one in body["rejected"]] == [("empty.txt", 422), ("letter.pdf", 415)]
    assert all(one["title"] and one["detail"] for one in body["rejected"])
    assert incoming(app) == []


@pytest.mark.parametrize(
    ("file", "status", "sentence"),
    [
        (("empty.txt", b""), 422, "The file is empty"),
        (("letter.pdf", LETTER), 415, "The file is not what its name says"),
    ],
)
def test_a_single_bad_file_is_a_problem(
    app: Flask, program: Program, file: tuple[str, bytes], status: int, sentence: str
) -> None:
    answer = send(program, file)
    assert answer.status_code == status
    assert answer.mimetype == "application/problem+json"
    body = read_json(answer)
    assert body["title"] == sentence
    assert body["status"] == status
    assert body["detail"].endswith(".")
    assert incoming(app) == []
    assert read_json(program.get("/documents"))["documents"] == []


def test_a_note_about_pdf_is_a_note(program: Program) -> None:
    note = b"# About PDF\n\nA file begins with `%PDF-1.7`, and some with\n\n%PDF-1.4\n1 0 obj\n"
    [document] = read_json(send(program, ("about.md", note)))["documents"]
    assert document["content_type"] == "text/markdown"


def test_a_form_without_a_file_says_so(program: Program) -> None:
    for answer in (program.post("/documents", data={}), program.post("/documents", data={"file": (BytesIO(b""), "")})):
        assert answer.status_code == 422
        assert read_json(answer)["title"] == "No file was sent"


def test_a_file_beyond_the_limit_is_refused_and_the_next_one_is_added(small_app: Flask) -> None:
    program = People(small_app).program()
    large = ("large.txt", b"word " * 300_000)
    answer = send(program, large)
    assert answer.status_code == 413
    assert "1.0 MB" in read_json(answer)["detail"]
    body = read_json(send(program, large, notes(1)))
    assert [one["filename"] for one in body["documents"]] == ["note-001.md"]
    assert [one["status"] for one in body["rejected"]] == [413]
    assert incoming(small_app) == []


def test_a_form_that_breaks_off_leaves_nothing(app: Flask, program: Program) -> None:
    body = b'--cut\r\nContent-Disposition: form-data; name="file"; filename="a.txt"\r\n\r\nhalf a'
    answer = program.post("/documents", data=body, content_type="multipart/form-data; boundary=cut")
    assert answer.status_code == 400
    assert read_json(answer)["reason"] == "broken_form"
    assert incoming(app) == []
    assert read_json(program.get("/documents"))["documents"] == []


def test_an_unreadable_form_is_not_mistaken_for_an_empty_one(app: Flask, program: Program) -> None:
    part = b'--b\r\nContent-Disposition: form-data; name="file"; filename="%s"\r\n\r\nsome text\r\n'
    for body, boundary in ((part % b"good.txt" + part % b"\xfcber.txt" + b"--b--\r\n", "b"), (part % b"a.txt", "")):
        answer = program.post("/documents", data=body, content_type=f"multipart/form-data; boundary={boundary}")
        assert answer.status_code == 400
        assert "UTF-8" in read_json(answer)["detail"]
    assert incoming(app) == []


@both_databases
def test_the_same_bytes_are_one_document(program: Program) -> None:
    [first] = shelve(program, notes(1))
    [again] = read_json(send(program, ("other name.md", notes(1)[1])))["documents"]
    assert again["id"] == again["duplicate_of"] == first
    assert len(read_json(program.get(f"/documents/{first}/runs"))["runs"]) == 1


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd.txt", "passwd.txt"),
        ("<img src=x onerror=alert(1)>.txt", "<img src=x onerror=alert(1)>.txt"),
        ("in\u202evoice.txt", "invoice.txt"),
        ("🌾 harvest.txt", "🌾 harvest.txt"),
        ("n" * 300 + ".txt", "n" * 250 + "….txt"),
        ("{{ 7*7 }}.txt", "{{ 7*7 }}.txt"),
    ],
)
def test_names_are_shown_and_never_obeyed(program: Program, browser: Browser, name: str, shown: str) -> None:
    [document] = read_json(send(program, (name, NOTES)))["documents"]
    assert document["filename"] == shown
    page = browser.get("/").text
    assert "<img src=x" not in page
    assert ">49.txt" not in page


def test_a_person_comes_back_to_the_grid_and_reads_what_happened(browser: Browser) -> None:
    files = [(BytesIO(content), name) for name, content in (notes(1), notes(2), ("empty.txt", b""))]
    answer = browser.post("/documents", {"file": files})
    assert answer.status_code == 303
    assert answer.location == "/"
    page = browser.get("/").text
    assert "2 files were uploaded." in page
    assert "We could not add “empty.txt”: the file is empty." in page
    assert "note-001.md" in page
    answer = browser.post("/documents", {"file": (BytesIO(notes(1)[1]), "note-001.md")})
    assert "is in the library already" in browser.get("/").text


def test_a_person_who_chose_nothing_is_told_so(browser: Browser) -> None:
    assert browser.post("/documents", {"file": (BytesIO(b""), "")}).status_code == 303
    assert "Choose at least one file" in browser.get("/").text


def test_a_form_without_its_token_changes_nothing(browser: Browser, program: Program, app: Flask) -> None:
    answer = browser.client.post("/documents", data={"file": (BytesIO(NOTES), "a.md")}, headers=browser.headers)
    assert answer.status_code == 400
    assert read_json(program.get("/documents"))["documents"] == []
    assert incoming(app) == []
