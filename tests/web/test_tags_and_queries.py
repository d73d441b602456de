"""PATCH with tags, filters in search and library, and what is refused: unknown parameters, and mistakes in queries."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, read_json, shelve, use_hashed_words, work_off

PATCH = "/documents/{}"


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    use_hashed_words(app)
    ids = shelve(program, ("notes.md", NOTES), ("more.txt", b"Wheat and rye grow in the field behind the mill."))
    work_off(app)
    return ids


def patch(program: Program, document_id: str, body: object) -> tuple[int, dict[str, object]]:
    answer = program.client.patch(PATCH.format(document_id), json=body, headers=program.headers)
    return answer.status_code, answer.get_json()


@both_databases
def test_tags_are_set_shown_and_searched_by(program: Program, browser: Browser, shelf: list[str]) -> None:
    assert patch(program, shelf[0], {"tags": ["Tax", "to pay"]})[0] == 200
    assert read_json(program.get(f"/documents/{shelf[0]}"))["tags"] == ["Tax", "to pay"]
    assert [one["id"] for one in read_json(program.get("/documents?q=tag:tax"))["documents"]] == shelf[:1]
    page = browser.get(f"/documents/{shelf[0]}").text
    assert "to pay</bdi>" in page
    hits = read_json(program.get("/search?q=wheat+-tag:tax"))["hits"]
    assert {hit["document_id"] for hit in hits} == {shelf[1]}
    assert patch(program, shelf[0], {"tags": []})[1]["tags"] == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"tags": "tax"}, 422), ({"tags": [""]}, 422), ({"tags": [1]}, 422), ({"tags": ["a\0b"]}, 422), ([], 422),
        ({}, 422), ({"tags": ["a"], "colour": "red"}, 400), ({"tags": ["x" * 101]}, 422),
    ],
    ids=["text", "empty", "number", "zero", "list", "nothing", "unknown", "long"],
)  # fmt: skip
def test_what_is_no_list_of_tags_changes_nothing(program: Program, shelf: list[str], body: object, status: int) -> None:
    assert patch(program, shelf[0], {"tags": ["kept"]})[0] == 200

    found, problem = patch(program, shelf[0], body)

    assert found == status
    assert problem["detail"]
    assert read_json(program.get(f"/documents/{shelf[0]}"))["tags"] == ["kept"]


def test_people_add_and_remove_tags_on_the_page(browser: Browser, program: Program, shelf: list[str]) -> None:
    address = f"/documents/{shelf[0]}/tags"
    assert patch(program, shelf[1], {"tags": ["Tax/2025"]})[0] == 200
    assert '<option value="Tax/2025">' in browser.get(f"/documents/{shelf[0]}").text
    added = browser.post(address, data={"add": "Tax/2025"}, headers=HX).text
    assert 'aria-label="Remove the tag Tax/2025"' in added
    assert '<option value="Tax/2025">' not in added
    assert browser.post(address, data={"add": "to pay"}).status_code == 303
    assert read_json(program.get(f"/documents/{shelf[0]}"))["tags"] == ["Tax/2025", "to pay"]
    assert "Remove the tag Tax/2025" not in browser.post(address, data={"remove": "tax/2025"}, headers=HX).text
    for wrong in ({}, {"add": " "}, {"add": "x" * 101}, {"add": "a\0b"}):
        assert browser.post(address, data=wrong).status_code == 422
    assert read_json(program.get(f"/documents/{shelf[0]}"))["tags"] == ["to pay"]
    assert read_json(program.get(f"/documents/{shelf[1]}"))["tags"] == ["Tax/2025"]


def test_a_viewer_sets_no_tags(people: People, shelf: list[str]) -> None:
    viewer = people.program("viewer")
    assert patch(viewer, shelf[0], {"tags": ["mine"]})[0] == 403
    assert (
        people.browser("viewer", email="v@example.org")
        .post(f"/documents/{shelf[0]}/tags", data={"add": "a"})
        .status_code
        == 403
    )


def test_a_filter_narrows_a_search(program: Program, shelf: list[str]) -> None:
    def documents(query: str) -> set[str]:
        return {hit["document_id"] for hit in read_json(program.get("/search", query_string={"q": query}))["hits"]}

    assert documents("wheat") == set(shelf)
    assert documents("wheat in:notes") == {shelf[0]}
    assert documents("wheat kind:txt") == {shelf[1]}
    assert documents("wheat kind:pdf") == set()
    assert documents("wheat after:2000") == set(shelf)
    assert documents('"rye grow in" in:more') == {shelf[1]}


def test_a_filter_that_many_documents_fulfil_narrows_it_too(
    program: Program, shelf: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.pipeline.find.DOCUMENTS_SEARCHED_MAX", 0)

    hits = read_json(program.get("/search?q=wheat+in:notes"))["hits"]

    assert {hit["document_id"] for hit in hits} == {shelf[0]}


@pytest.mark.parametrize("path", ["/search", "/documents", "/"])
def test_a_mistake_has_a_sentence_everywhere(browser: Browser, program: Program, shelf: list[str], path: str) -> None:
    answer = program.get(path, query_string={"q": "wheat colour:red"})
    assert answer.status_code == 422
    problem = answer.get_json()
    assert (problem["reason"], problem["code"], problem["position"]) == ("query", "unknown_filter", 7)
    assert "There is no filter “colour:”" in problem["detail"]
    page = browser.get(f"{path}?q=wheat+colour:red")
    assert page.status_code == 422
    assert "There is no filter “colour:”" in page.text
    fragment = browser.get(f"{path}?q=%22wheat", headers=HX)
    assert fragment.headers["HX-Retarget"] in {"#hits", "#results"}
    assert "has no partner" in fragment.text


def test_all_that_match_a_wrong_query_are_not_reprocessed(browser: Browser, program: Program, shelf: list[str]) -> None:
    assert browser.get("/documents/reprocess?q=colour:red").status_code == 422
    assert program.post("/documents/reprocess?q=colour:red").status_code == 422
    assert program.post("/documents/reprocess?q=kind:pdf").get_json()["queued"] == 0


@pytest.mark.parametrize("path", ["/search?q=wheat&document_id=1", "/documents?created_after=2026", "/ops?sha256=1"])
def test_an_unknown_parameter_is_refused_by_its_name(people: People, path: str) -> None:
    answer = people.program("ops").get(path)
    name = path.replace("?", "&").split("&")[-1].split("=")[0]
    assert (answer.status_code, answer.get_json()["reason"]) == (400, "unknown_parameter")
    assert f"“{name}”" in answer.get_json()["detail"]


def test_what_links_add_to_a_page_does_not_matter(browser: Browser) -> None:
    assert browser.get("/?utm_source=mail").status_code == 200
