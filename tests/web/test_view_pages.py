"""Saved views: made of the library's filter, listed beside it with counts, changed, put in order, private, deleted."""

import re
from typing import Any

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, read_json, shelve
from webapp.db import transaction
from webapp.library import views


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    """Three documents, one of them with a tag."""
    ids = shelve(program, ("a.md", NOTES), ("b.md", NOTES + b"b"), ("c.txt", NOTES + b"c"))
    program.client.patch(f"/documents/{ids[0]}", json={"tags": ["tax/2025"]}, headers=program.headers)
    return ids


def _save(program: Program, name: str, **more: Any) -> str:
    answer = program.post("/views", json={"name": name, **more})
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"/views/{read_json(answer)['id']}"
    return str(read_json(answer)["id"])


def _names(who: Program) -> list[str]:
    return [each["name"] for each in read_json(who.get("/views"))["views"]]


@both_databases
def test_programs_make_count_change_and_delete_views(program: Program, shelf: list[str]) -> None:
    tax = _save(program, "Tax", query="tag:tax", sort="name")
    notes = _save(program, "Notes", query="kind:md", status="processing")
    everything = _save(program, " All  of it ")
    assert _names(program) == ["Tax", "Notes", "All of it"]
    numbers = [read_json(program.get(f"/views/{each}"))["matched"] for each in (tax, notes, everything)]
    assert numbers == [1, 2, 3]
    assert read_json(program.get(f"/views/{tax}")) == {
        "id": tax, "name": "Tax", "query": "tag:tax", "folder": None, "status": None, "sort": "name",
        "private": False, "mistake": None, "matched": 1, "more": False,
    }  # fmt: skip

    changed = program.send(
        "PATCH", f"/views/{tax}", json={"name": "Taxes", "query": "", "folder": "Tax", "position": 3}
    )
    assert read_json(changed)["folder"] == "Tax"
    assert _names(program) == ["Notes", "All of it", "Taxes"]
    assert read_json(program.get(f"/views/{tax}"))["matched"] == 0
    assert program.send("DELETE", f"/views/{notes}").status_code == 204
    assert program.get(f"/views/{notes}").status_code == 404
    assert _names(program) == ["All of it", "Taxes"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422), ([], 422), ({"name": ""}, 422), ({"name": "x" * 101}, 422), ({"name": 1}, 422),
        ({"name": "a", "query": "colour:red"}, 422), ({"name": "a", "sort": "colour"}, 422),
        ({"name": "a", "status": "lost"}, 422), ({"name": "a", "query": "x" * 1001}, 422),
        ({"name": "a", "private": True}, 422), ({"name": "a", "x": 1}, 400), ({"name": "a\0"}, 422),
    ],
)  # fmt: skip
def test_what_can_be_no_view_is_refused(program: Program, body: object, status: int) -> None:
    answer = program.client.post("/views", json=body, headers=program.headers)
    assert answer.status_code == status
    assert answer.get_json()["detail"]
    assert _names(program) == []


def test_an_org_has_only_so_many_views(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "VIEWS_MAX", 1)
    _save(program, "one")
    answer = program.post("/views", json={"name": "two"})
    assert (answer.status_code, read_json(answer)["reason"]) == (409, "too_many")


def test_people_save_the_filter_that_they_see(browser: Browser, program: Program, shelf: list[str]) -> None:
    assert 'id="save-view"' not in browser.get("/").text, "there is nothing to save"
    assert 'id="save-view"' not in browser.get("/?q=colour:red").text
    page = browser.get("/?q=tag:tax&sort=name").text
    assert 'id="save-view"' in page
    assert '<input type="hidden" name="query" value="tag:tax">' in page
    saved = browser.post("/views", {"name": "Tax", "query": "tag:tax", "sort": "name"})
    assert (saved.status_code, saved.location) == (303, "/?q=tag:tax&sort=name")
    page = browser.get(saved.location).text
    assert "The view “Tax” was saved." in page
    assert re.search(r'data-view href="/\?q=tag:tax&amp;sort=name" aria-current="page"><bdi>Tax</bdi>', page)
    assert 'aria-current="page"><bdi>Tax</bdi>' not in browser.get("/?q=tag:tax").text

    bar = browser.get("/views/bar", headers={**HX, "HX-Current-URL": "http://localhost/?q=tag:tax&sort=name"}).text
    assert re.search(r'aria-current="page"><bdi>Tax</bdi> <span class="tab-count">1</span>', bar)
    assert "load" not in re.findall(r'hx-trigger="([^"]*)"', bar)[0], "or it would ask for ever"


def test_people_change_order_and_delete_views(browser: Browser, program: Program) -> None:
    assert "No views yet" in browser.get("/views").text
    one, two = _save(program, "one"), _save(program, "two", query="kind:pdf")
    assert browser.post(f"/views/{two}", {"position": "1"}).status_code == 303
    assert _names(program) == ["two", "one"]
    assert browser.post(f"/views/{one}", {"name": "first", "query": "kind:md", "sort": "oldest"}).status_code == 303
    changed = read_json(program.get(f"/views/{one}"))
    assert (changed["name"], changed["query"], changed["sort"]) == ("first", "kind:md", "oldest")
    wrong = browser.post(f"/views/{one}", {"name": "first", "query": "colour:red"})
    assert wrong.status_code == 422
    assert "There is no filter “colour:”" in wrong.text
    assert browser.get(f"/views/{one}").location == "/?q=kind:md&sort=oldest"
    assert browser.post(f"/views/{two}/delete").status_code == 303
    page = browser.get("/views").text
    assert "The view “two” was deleted." in page
    assert _names(program) == ["first"]


def test_a_private_view_is_seen_by_its_person_alone(people: People) -> None:
    ana, ben = people.browser(email="ana@example.org"), people.browser(email="ben@example.org")
    program = people.program()
    assert ana.post("/views", {"name": "Mine", "query": "tag:mine", "private": "1"}).status_code == 303
    assert "Mine" in ana.get("/").text
    found = re.search(r'id="view-([0-9a-f-]{36})"', ana.get("/views").text)
    assert found
    for other in (ben, program):
        assert "Mine" not in other.get("/views").text
        assert other.get(f"/views/{found[1]}").status_code == 404
        assert other.post(f"/views/{found[1]}/delete").status_code == 404
    assert ana.post(f"/views/{found[1]}", {"name": "Ours"}).status_code == 303, "a box that is not ticked is not sent"
    assert _names(program) == ["Ours"]
    taken = ben.post(f"/views/{found[1]}", {"name": "Ours", "private": "1"})
    assert taken.status_code == 422
    assert "Only the person who saved a view" in taken.text


def test_a_viewer_reads_views_and_changes_none(people: People) -> None:
    view = _save(people.program(), "one", query="kind:pdf")
    viewer = people.browser("viewer", email="v@example.org")
    assert "one</bdi>" in viewer.get("/views").text
    assert f'action="/views/{view}"' not in viewer.get("/views").text
    assert 'id="save-view"' not in viewer.get("/?q=kind:pdf").text
    assert people.program("viewer").post("/views", json={"name": "two"}).status_code == 403


def test_a_view_that_cannot_be_read_any_more_says_so(app: Flask, browser: Browser, program: Program) -> None:
    view, good = _save(program, "old", query="kind:pdf"), _save(program, "good")
    with app.app_context(), transaction(program.org_id):
        views.change(program.org_id, next(v.id for v in views.of_reader(program.org_id, None)), {"query": "hue:red"})
    found = read_json(program.get(f"/views/{view}"))
    assert "There is no filter “hue:”" in found["mistake"]
    assert found["matched"] == 0
    assert read_json(program.get(f"/views/{good}"))["mistake"] is None
    assert "This filter can't be read any more. There is no filter “hue:”" in browser.get("/views").text
    assert "can't be read any more" in browser.get("/views/bar", headers=HX).text
    assert browser.get("/").status_code == 200


def test_counts_stop_where_they_would_take_long(
    browser: Browser, program: Program, shelf: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _save(program, "Texts", query="kind:md")
    monkeypatch.setattr(views, "LOOKED_AT_MAX", 2)
    assert '<span class="tab-count">1+</span>' in browser.get("/views/bar", headers=HX).text
    monkeypatch.setattr("webapp.web.library.view_pages._COUNTING_SECONDS", -1.0)
    bar = browser.get("/views/bar", headers=HX).text
    assert "Texts" in bar
    assert "tab-count" not in bar
