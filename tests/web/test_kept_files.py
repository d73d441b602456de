"""Files that nothing reads, as people and programs see them: kept, found by name, to be downloaded."""

from dataclasses import replace
from io import BytesIO
from typing import Any, cast

import pytest
from flask import Flask

from tests.pipeline.test_keep import PNG, ReadsPictures
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import File, notes, read_json, send, services_of, shelve, use_hashed_words, work_off

MILL: File = ("Windmill drawing.png", PNG)
PARTS = ("/fields", "/tables", "/chunks", "/connections")


def _keep(app: Flask, program: Program, *files: File) -> list[str]:
    use_hashed_words(app)
    ids = shelve(program, *files)
    work_off(app)
    return ids


@both_databases
def test_programs_are_told(app: Flask, program: Program) -> None:
    kept, read = _keep(app, program, MILL, notes(1))

    document = read_json(program.get(f"/documents/{kept}"))
    assert (document["status"], document["kept"], document["pages_read"]) == ("READY", True, 0)
    assert (document["has_result"], document["error"], document["run"]["state"]) == (False, None, "SUCCEEDED")
    other = read_json(program.get(f"/documents/{read}"))
    assert (other["status"], other["kept"], other["pages_read"], other["has_result"]) == ("READY", False, None, True)

    body = read_json(program.get("/documents"))
    assert {each["id"]: each["kept"] for each in body["documents"]} == {kept: True, read: False}
    assert body["counts"] == {"PROCESSING": 0, "READY": 1, "partly_read": 0, "kept": 1, "FAILED": 0, "TIMED_OUT": 0}
    for status, ids in (("kept", [kept]), ("KEPT", [kept]), ("ready", [read]), ("READY", [read]), ("failed", [])):
        found = read_json(program.get(f"/documents?status={status}"))["documents"]
        assert [each["id"] for each in found] == ids, status
    assert read_json(program.get(f"/documents/{kept}/status"))["stage"] == "complete"


def test_monitors_count_it_apart(app: Flask, people: People) -> None:
    ops = people.program("ops")
    _keep(app, ops, MILL, notes(1))

    figures = ops.get("/metrics").text
    assert 'docmill_documents{status="kept"} 1.0' in figures
    assert 'docmill_documents{status="ready"} 1.0' in figures


@both_databases
def test_it_is_found_by_its_name_and_never_by_a_search(app: Flask, program: Program) -> None:
    (kept,) = _keep(app, program, MILL)

    assert [each["id"] for each in read_json(program.get("/documents?q=windm"))["documents"]] == [kept]
    assert read_json(program.get("/documents?q=windm&status=ready"))["documents"] == []
    assert read_json(program.get("/search?q=windmill"))["hits"] == []
    for part in PARTS:
        assert [value for value in read_json(program.get(f"/documents/{kept}{part}")).values() if value == []]
    assert program.get(f"/documents/{kept}/markdown").status_code == 404
    answer = program.get(f"/documents/{kept}/original")
    assert (answer.data, answer.mimetype) == (PNG, "image/png")
    assert answer.headers["Content-Disposition"].startswith("attachment")


def test_the_grid_shows_it_in_its_own_state(app: Flask, browser: Browser, program: Program) -> None:
    assert 'id="tab-kept"' not in browser.get("/").text
    (kept, _) = _keep(app, program, MILL, notes(1))

    page = browser.get("/").text
    assert f'id="document-{kept}" data-status="kept"' in page
    assert page.count('class="badge badge-kept"') == 1
    assert "Kept, not readable" in page
    assert 'href="/?status=kept"' in page
    assert "data-poll" not in page
    chosen = browser.get("/?status=kept").text
    assert kept in chosen
    assert "note-001.md" not in chosen
    assert "Reprocess 1 document?" in browser.get("/documents/reprocess?status=kept").text
    assert "Kept, not readable" in browser.get(f"/documents/{kept}/status", headers=HX).text
    assert "No document has this status right now." in browser.get("/?status=timed_out").text


def test_its_page_says_what_it_is_why_it_is_kept_and_what_would_read_it(
    app: Flask, browser: Browser, program: Program
) -> None:
    (kept,) = _keep(app, program, MILL)

    page = browser.get(f"/documents/{kept}").text
    assert "This is a PNG image" in page
    assert "Pictures are not read on this installation, since OCR is off. The file is kept as it was uploaded" in page
    assert "or a service such as Azure Document Intelligence has been set up" in page
    assert f'href="/documents/{kept}/original" download' in page
    assert 'class="badge badge-kept"' in page
    assert 'id="tab-file"' in page
    for tab in ("text", "fields", "tables", "passages", "connections"):
        assert f'id="tab-{tab}"' not in page
    timeline = browser.get(f"/documents/{kept}/runs").text
    assert "Keep the file as it is: done" in timeline
    swap = browser.get(f"/documents/{kept}", headers=HX).text
    assert 'id="kept"' in swap
    for part in PARTS:
        assert "Docmill can't read this kind of file" in browser.get(f"/documents/{kept}{part}").text


@pytest.mark.parametrize(
    ("file", "title", "remedy"),
    [
        (("all.rar", b"Rar!\x1a\x07" + bytes(100)), "This is a RAR archive", "pack them as a ZIP archive"),
        (("setup.exe", b"MZ" + bytes(100)), "This is a Windows program", "export it as a PDF"),
        (("odd", bytes(range(256))), "This is a file of an unknown kind", "export it as a PDF"),
        (("a.svg", b"<svg onload=alert(1)></svg>"), "This is an SVG image", "export it as a PDF"),
        (("<b>x</b>{{ 7*7 }}.png", PNG), "This is a PNG image", "or a service such as Azure"),
        (("in\u202evoice.gif", b"GIF89a" + bytes(90)), "This is a GIF image", "or a service such as Azure"),
    ],
    ids=["archive", "program", "bytes", "svg", "markup", "turned around"],
)
def test_odd_files_under_odd_names(
    app: Flask, browser: Browser, program: Program, file: File, title: str, remedy: str
) -> None:
    (kept,) = _keep(app, program, file)

    for page in (browser.get(f"/documents/{kept}").text, browser.get("/").text):
        assert "<b>x</b>" not in page
        assert "49.png" not in page
        assert "onload" not in page
        assert "\u202e" not in page
    page = browser.get(f"/documents/{kept}").text
    assert title in page
    assert remedy in page
    answer = browser.get(f"/documents/{kept}/original")
    assert answer.data == file[1]
    assert answer.headers["Content-Disposition"].startswith("attachment")
    assert answer.headers["X-Content-Type-Options"] == "nosniff"


@both_databases
def test_all_of_them_are_read_once_something_can(app: Flask, browser: Browser, program: Program) -> None:
    (kept,) = _keep(app, program, MILL)
    found = services_of(app)
    local = found.providers.extractor
    able = replace(found.providers, extractor=cast("Any", ReadsPictures(local)))
    app.extensions["docmill"] = replace(found, providers=able)
    assert "If OCR was off when it was uploaded, choose Reprocess." in browser.get(f"/documents/{kept}").text

    assert read_json(program.post("/documents/reprocess?status=kept")) == {"queued": 1, "more": False}
    under_way = read_json(program.get(f"/documents/{kept}"))
    assert (under_way["status"], under_way["kept"], under_way["has_result"]) == ("PROCESSING", False, False)
    assert "Below is the result" not in browser.get(f"/documents/{kept}").text
    work_off(app)
    document = read_json(program.get(f"/documents/{kept}"))
    assert (document["status"], document["kept"], document["pages_read"]) == ("READY", False, 1)
    assert read_json(program.get("/search?q=windmill"))["hits"]
    page = browser.get(f"/documents/{kept}").text
    assert 'id="tab-text"' in page
    assert 'id="tab-file"' not in page


def test_what_is_refused_is_refused_still(program: Program) -> None:
    refusals: list[tuple[File, int]] = [
        (("empty.png", b""), 422),
        (("photo.png", b"<!doctype html><html><body>Sign in first</body></html>"), 415),
    ]
    for file, status in refusals:
        assert send(program, file).status_code == status


def test_the_same_bytes_are_one_document(app: Flask, program: Program) -> None:
    (kept,) = _keep(app, program, MILL)
    (again,) = read_json(send(program, ("another.png", PNG)))["documents"]
    assert again["duplicate_of"] == kept


def test_a_person_without_scripts_keeps_one_too(app: Flask, browser: Browser) -> None:
    use_hashed_words(app)
    assert browser.post("/documents", {"file": [(BytesIO(PNG), MILL[0])]}).status_code == 303
    assert "was uploaded" in browser.get("/").text
    work_off(app)
    assert "Kept, not readable" in browser.get("/").text
