"""Exports: asked for, made by the queue, downloaded whole and in ranges, removed after a time."""

import io
import json
import zipfile
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import NOTES, notes, read_json, send, services_of, shelve, use_hashed_words, work_off
from webapp.clock import utc_now
from webapp.db import session, transaction
from webapp.documents.operation_model import BulkOperation
from webapp.pipeline import export as stage
from webapp.worker import chores


@pytest.fixture
def shelf(app: Flask, people: People) -> Program:
    use_hashed_words(app)
    return people.program("ops")


def _export(app: Flask, program: Program, **which: Any) -> dict[str, Any]:
    answer = program.post("/bulk", json={"action": "export", **which})
    assert answer.status_code == 202, answer.text
    work_off(app)
    return read_json(program.get(f"/bulk/{read_json(answer)['id']}"))


def _opened(program: Program, done: dict[str, Any]) -> zipfile.ZipFile:
    assert done["state"] == "SUCCEEDED", done
    answer = program.get(done["file"]["url"])
    assert (answer.status_code, answer.mimetype) == (200, "application/zip")
    assert len(answer.data) == done["file"]["size_bytes"]
    opened = zipfile.ZipFile(io.BytesIO(answer.data))
    assert opened.testzip() is None
    _check_sums(opened)
    return opened


def _check_sums(opened: zipfile.ZipFile) -> None:
    """All members but the checksums themselves have their line, and are what it says."""
    lines = opened.read("SHA256SUMS").decode().splitlines()
    said = {line[66:]: line[:64] for line in lines}
    names = opened.namelist()
    assert len(names) == len(set(names)), "nothing is there twice"
    assert said.keys() == {*names} - {"SHA256SUMS"}
    for name, digest in said.items():
        assert sha256(opened.read(name)).hexdigest() == digest


@both_databases
def test_a_library_is_exported_with_what_is_known_of_it(app: Flask, shelf: Program) -> None:
    [one] = shelve(shelf, notes(0))
    [two] = [each["id"] for each in read_json(send(shelf, ("note-000.md", NOTES), folder="Tax/2025"))["documents"]]
    [other] = shelve(shelf, ("NOTE-000.md", NOTES + b"again"))
    work_off(app)
    shelf.client.patch(
        f"/documents/{one}", json={"tags": ["tax"], "title": "Mills", "note": "Read it"}, headers=shelf.headers
    )
    shelf.client.delete(f"/documents/{two}", headers=shelf.headers)
    assert read_json(shelf.post("/bulk", json={"action": "export", "query": "", "dry_run": True}))["matched"] == 3
    assert (
        read_json(shelf.post("/bulk", json={"action": "tag", "query": "", "tags": ["a"], "dry_run": True}))["matched"]
        == 2
    )
    done = _export(app, shelf, query="")
    assert (done["matched"], done["done"], done["failed"], done["may_undo"]) == (3, 3, 0, False)
    opened = _opened(shelf, done)
    names = set(opened.namelist())
    assert {"files/note-000.md", "files/NOTE-000 (2).md", "files/Tax/2025/note-000.md"} <= names
    assert opened.read("files/note-000.md") == notes(0)[1]
    assert opened.read("text/note-000.md.md").startswith(b"# Milling notes")
    known = json.loads(opened.read("documents/note-000.md.json"))
    assert (known["id"], known["title"], known["tags"], known["note"]) == (one, "Mills", ["tax"], "Read it")
    assert [each["name"] for each in known["corrections"]] == ["title"]
    manifest = json.loads(opened.read("manifest.json"))
    assert (manifest["format"], manifest["documents"], manifest["is_whole"]) == ("docmill-export", 3, True)
    assert manifest["members"] == len(names) - 2
    assert json.loads(opened.read(f"library/{other}.jsonl").splitlines()[0])["document"] == other
    assert "library/connections-00001.jsonl" in names or len(names) > 10


@both_databases
def test_a_selection_is_exported_without_the_rest(app: Flask, shelf: Program) -> None:
    one, two, three = shelve(shelf, *map(notes, range(3)))
    work_off(app)
    counted = read_json(shelf.post("/bulk", json={"action": "export", "query": "note-001", "dry_run": True}))
    assert counted == {"matched": 1, "more": False}
    assert _ids(_opened(shelf, _export(app, shelf, query="note-001"))) == {two}
    shelf.client.delete(f"/documents/{three}", headers=shelf.headers)
    opened = _opened(shelf, _export(app, shelf, ids=[one, three]))
    assert _ids(opened) == {one}, "what lies in the bin is only in an export of everything"
    assert json.loads(opened.read("manifest.json"))["is_whole"] is False


def test_the_page_counts_first_and_leads_to_the_file(app: Flask, shelf: Program, people: People) -> None:
    shelve(shelf, notes(0))
    work_off(app)
    person = people.browser()
    asked = person.post("/bulk", data={"action": "export", "all": "1"})
    assert asked.status_code == 200
    assert "Export 1 document?" in asked.text
    assert "the whole library" in asked.text
    begun = person.post("/bulk", data={"action": "export", "all": "1", "confirmed": "1"})
    assert begun.status_code == 303
    work_off(app)
    page = person.get(begun.location)
    assert f'href="{begun.location}/export.zip"' in page.text
    assert 'id="operation-undo"' not in page.text
    assert person.get(f"{begun.location}/export.zip").status_code == 200
    assert people.program("ops", org="Other").get(f"{begun.location}/export.zip").status_code == 404
    said = [each["action"] for each in read_json(shelf.get("/ops/security"))["entries"]]
    assert said[:2] == ["export_downloaded", "bulk_begun"]


@both_databases
def test_files_are_removed_after_some_days_and_at_once_when_stopped(app: Flask, shelf: Program) -> None:
    shelve(shelf, notes(0))
    work_off(app)
    done = _export(app, shelf, query="")
    services = services_of(app)
    org = f"{shelf.org_id}/exports/"
    with app.app_context():
        assert chores.sweep_exports(services) == 0
        assert chores.sweep_orphans(services) == 0
        with transaction(shelf.org_id):
            old = utc_now() - timedelta(days=8)
            session().execute(update(BulkOperation).values(created_at=old, finished_at=old))
        assert chores.sweep_exports(services) == 1
    assert list(services.providers.blobs.list(org)) == []
    assert shelf.get(done["file"]["url"]).status_code == 404
    assert read_json(shelf.get(f"/bulk/{done['id']}"))["file"] is None

    begun = read_json(shelf.post("/bulk", json={"action": "export", "query": ""}))
    shelf.post(f"/bulk/{begun['id']}/stop")
    work_off(app)
    assert read_json(shelf.get(f"/bulk/{begun['id']}"))["state"] == "STOPPED"
    assert list(services.providers.blobs.list(org)) == []


def _ids(opened: zipfile.ZipFile) -> set[str]:
    return {json.loads(opened.read(name))["id"] for name in opened.namelist() if name.startswith("documents/")}


def test_many_parts_are_one_file_and_come_in_ranges(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage, "PART_BYTES", 1)
    monkeypatch.setattr(stage, "TURN_SECONDS", 0.0)
    ids = shelve(shelf, *map(notes, range(4)))
    work_off(app)
    begun = read_json(shelf.post("/bulk", json={"action": "export", "query": ""}))
    for _ in range(12):
        work_off(app)
        with app.app_context():
            services_of(app).queue.wake_delayed()
    done = read_json(shelf.get(f"/bulk/{begun['id']}"))
    opened = _opened(shelf, done)
    assert _ids(opened) == set(ids)
    whole = shelf.get(done["file"]["url"]).data
    middle = len(whole) // 2
    part = shelf.client.get(done["file"]["url"], headers={**shelf.headers, "Range": f"bytes={middle}-{middle + 999}"})
    assert (part.status_code, part.data) == (206, whole[middle : middle + 1000])
    org = f"{shelf.org_id}/exports/"
    assert all(not each.path.endswith(".members") for each in services_of(app).providers.blobs.list(org))
