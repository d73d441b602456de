"""Containers and their parts, as people and programs see them."""

import pytest
from flask import Flask

from tests import archives
from tests.web.people import HX, Browser, Program
from tests.web.shelves import read_json, shelve, use_hashed_words, work_off
from webapp.web.document import part_list


def test_a_container_lists_its_parts_and_they_name_it(app: Flask, browser: Browser, program: Program) -> None:
    use_hashed_words(app)
    files = {f"notes/{number:02}.txt": f"Note {number} tells of windmills.".encode() for number in range(3)}
    (container,) = shelve(program, ("notes.zip", archives.zipped(files)))
    work_off(app)

    document = read_json(program.get(f"/documents/{container}"))
    assert (document["status"], document["parent_id"], document["counts"]["parts"]) == ("READY", None, 3)
    listed = read_json(program.get(f"/documents/{container}/parts"))
    assert [(part["path_in_parent"], part["parent_id"], part["status"]) for part in listed["parts"]] == [
        (name, container, "READY") for name in files
    ]
    assert listed["next_cursor"] is None
    hits = read_json(program.get("/search?q=windmills"))["hits"]
    assert {hit["document_id"] for hit in hits} >= {part["id"] for part in listed["parts"]}

    listing = browser.get(f"/documents/{container}/parts").text
    part = listed["parts"][0]["id"]
    fragments = [
        browser.get(f"/documents/{part}/status?view=part", headers=HX).text,
        browser.post(f"/documents/{part}/reprocess", {"from": "part"}, headers=HX).text,
    ]
    for shown in [listing, *fragments]:
        # Each is in the list of its own container: only the folder has to be told.
        assert "<bdi>notes/00.txt</bdi>" in shown
        assert "in <bdi>notes.zip" not in shown
    work_off(app)

    page = browser.get(f"/documents/{container}").text
    assert all(name in page for name in files)
    assert "the 3 documents that lie in it" in page
    assert "notes/01.txt" in browser.get(f"/documents/{container}?part=1").text
    part = listed["parts"][1]["id"]
    assert f'id="container" href="/documents/{container}"' in browser.get(f"/documents/{part}").text
    assert "in <bdi>notes.zip</bdi>" in browser.get("/").text

    browser.post(f"/documents/{container}/delete")
    assert read_json(program.get("/documents"))["documents"] == []


def test_a_long_list_comes_in_pages(
    app: Flask, browser: Browser, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_hashed_words(app)
    files = {f"{number}.txt": f"Note {number}.".encode() for number in range(3)}
    (container,) = shelve(program, ("notes.zip", archives.zipped(files)))
    work_off(app)
    monkeypatch.setattr(part_list, "PARTS_SHOWN", 2)
    first = read_json(program.get(f"/documents/{container}/parts"))
    rest = read_json(program.get(f"/documents/{container}/parts?cursor={first['next_cursor']}"))
    assert [part["filename"] for part in [*first["parts"], *rest["parts"]]] == list(files)
    assert rest["next_cursor"] is None
    assert 'id="more-parts"' in browser.get(f"/documents/{container}/parts", headers=HX).text
