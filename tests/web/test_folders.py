"""The folder that a file was uploaded with: stored, shown, and what the library is filtered by."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import Browser, Program
from tests.web.shelves import read_json, send, use_hashed_words, work_off
from webapp.library import grid
from webapp.library.folders import clean_folder, folder_of


def upload(program: Program, name: str, folder: str | None = None) -> dict[str, object]:
    """Send one file, as the page does for each file of a folder."""
    (document,) = read_json(send(program, (name, f"All about {name}.".encode()), folder=folder))["documents"]
    return dict(document)


def names(program: Program, query: str) -> list[str]:
    return [document["filename"] for document in read_json(program.get(f"/documents?{query}"))["documents"]]


@pytest.fixture
def shelf(app: Flask, program: Program) -> None:
    use_hashed_words(app)
    for name, folder in zip("abcdef", ("Tax/2025", "Tax/2025/May", "Tax", "Taxi", "Tax-2", None), strict=True):
        assert upload(program, f"{name}.txt", folder)["folder"] == folder


@both_databases
@pytest.mark.parametrize("few", [grid.FEW, 1], ids=["few", "many"])
def test_a_folder_brings_what_lies_in_it_and_below(
    shelf: None, program: Program, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(grid, "FEW", few)
    assert names(program, "folder=Tax&sort=name") == ["a.txt", "b.txt", "c.txt"]
    assert names(program, "folder=Tax/2025&sort=oldest") == ["a.txt", "b.txt"]
    assert names(program, "folder=/Tax/2025/&q=b") == ["b.txt"]
    assert names(program, "folder=Tax&status=ready") == []
    assert names(program, "folder=Nothing") == []
    first = read_json(program.get("/documents?folder=Tax&sort=name&limit=2"))
    rest = names(program, f"folder=Tax&sort=name&limit=2&cursor={first['next_cursor']}")
    assert [one["filename"] for one in first["documents"]] + rest == ["a.txt", "b.txt", "c.txt"]


@both_databases
def test_people_see_it_and_go_on_from_it(app: Flask, shelf: None, browser: Browser, program: Program) -> None:
    (document,) = read_json(program.get("/documents?q=a"))["documents"]
    assert document["folder"] == "Tax/2025"
    page = browser.get(f"/documents/{document['id']}").text
    assert 'id="folder" href="/?folder=Tax/2025"' in page
    page = browser.get("/?folder=Tax/2025").text
    assert 'id="shown-folder"' in page
    assert "d.txt" not in page
    assert 'name="folder" value="Tax/2025"' in page
    assert "/documents/reprocess?folder=Tax/2025" in page

    work_off(app)
    assert "Reprocess 2 documents?" in browser.get("/documents/reprocess?folder=Tax/2025").text
    answer = program.post("/documents/reprocess?folder=Tax/2025")
    assert (answer.status_code, read_json(answer)["queued"]) == (202, 2)
    assert names(program, "status=processing&sort=name") == ["a.txt", "b.txt"]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/Tax//2025/", "Tax/2025"),
        ("..\\..\\etc", "etc"),
        ("a/../b\u202e\x00", "a/b"),
        ("untitled", "untitled"),
        (" / ", None),
        ("x/" * 2_000, "x/" * 499 + "x"),
    ],
)
def test_a_folder_is_only_a_name(given: str, kept: str | None) -> None:
    assert clean_folder(given) == kept


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("Tax/2025/a.pdf", "Tax/2025"),
        ("a.pdf", None),
        ("/srv/ann/a.pdf", None),
        ("C:\\Users\\ann\\a.pdf", None),
        ("C:/Users/ann/a.pdf", None),
    ],
)
def test_a_browser_names_a_file_with_the_folder_that_was_chosen(path: str, folder: str | None) -> None:
    assert folder_of(path) == folder


def test_the_name_of_a_file_may_tell_its_folder(program: Program) -> None:
    document = upload(program, "Letters/1999/dear.txt")
    assert (document["filename"], document["folder"]) == ("dear.txt", "Letters/1999")


@both_databases
def test_what_is_no_folder_is_not_the_whole_library(shelf: None, program: Program) -> None:
    for odd in ("..", "/", "./."):
        assert program.get("/documents", query_string={"folder": odd}).status_code == 422
        assert program.post("/documents/reprocess", query_string={"folder": odd}).status_code == 422
    assert len(names(program, "folder=")) == 6
