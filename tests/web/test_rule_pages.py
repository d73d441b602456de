"""Rules: new documents are put in order as they are published; tried, applied to the library, undone, turned off."""

import re
from io import BytesIO
from typing import Any

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import notes, read_json, send, shelve, use_hashed_words, work_off
from webapp.db import transaction
from webapp.library import rule_effects, views


@pytest.fixture
def shelf(app: Flask, program: Program) -> Program:
    use_hashed_words(app)
    return program


def _rule(program: Program, query: str = "in:note", **gives: Any) -> str:
    view = read_json(program.post("/views", json={"name": "Notes", "query": query}))["id"]
    answer = program.post("/rules", json={"name": "Order", "view_id": view, **gives})
    assert answer.status_code == 201, answer.text
    assert answer.headers["Location"] == f"/rules/{read_json(answer)['id']}"
    return str(read_json(answer)["id"])


def _document(program: Program, document_id: str) -> dict[str, Any]:
    return read_json(program.get(f"/documents/{document_id}"))


def _history(program: Program, document_id: str) -> list[str]:
    runs = read_json(program.get(f"/documents/{document_id}/runs"))["runs"]
    return [event["kind"] for run in runs for event in run["events"]]


@both_databases
def test_a_new_document_is_put_in_order_once_for_each_result(app: Flask, shelf: Program) -> None:
    _rule(shelf, tags=["Notes/2026"], title="Note: {name}", kind="letter")
    one, other = shelve(shelf, notes(1), ("else.md", b"# Else\n\nNothing to see."))
    work_off(app)

    found = _document(shelf, one)
    assert (found["status"], found["title"], found["kind"]) == ("READY", "Note: note-001", "letter")
    assert found["tags"] == ["Notes/2026"]
    assert found["corrected"] == {}, "nobody said so"
    assert _history(shelf, one).count("RULE_APPLIED") == 1
    assert (_document(shelf, other)["tags"], _history(shelf, other).count("RULE_APPLIED")) == ([], 0)

    shelf.client.patch(f"/documents/{one}", json={"tags": [], "title": "Mine"}, headers=shelf.headers)
    assert shelf.post(f"/documents/{one}/reprocess").status_code == 202
    work_off(app)
    found = _document(shelf, one)
    assert (found["title"], found["kind"], found["tags"]) == ("Mine", "letter", []), "what a person did stays"
    assert _history(shelf, one).count("RULE_APPLIED") == 2


@both_databases
def test_a_rule_that_fails_stops_no_document(app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ArithmeticError("a fault of ours")

    _rule(shelf, tags=["tax"])
    monkeypatch.setattr(rule_effects, "apply", fail)
    [one] = shelve(shelf, notes(1))
    work_off(app)
    assert (_document(shelf, one)["status"], _document(shelf, one)["tags"]) == ("READY", [])


def test_files_that_are_kept_unread_are_put_in_order_too(app: Flask, shelf: Program) -> None:
    _rule(shelf, "in:drawing", tags=["plans"])
    [one] = shelve(shelf, ("drawing.dwg", b"AC1032\0\0\0\0\0" + bytes(range(256)) * 4))
    work_off(app)
    assert _document(shelf, one)["tags"] == ["plans"]


def test_a_rule_that_is_off_or_cannot_be_read_does_nothing(app: Flask, shelf: Program) -> None:
    rule = _rule(shelf, tags=["tax"])
    assert read_json(shelf.send("PATCH", f"/rules/{rule}", json={"on": False}))["on"] is False
    first = shelve(shelf, notes(1))[0]
    work_off(app)
    shelf.send("PATCH", f"/rules/{rule}", json={"on": True})
    with app.app_context(), transaction(shelf.org_id):
        [view] = views.of_reader(shelf.org_id, None)
        views.change(shelf.org_id, view.id, {"query": "hue:red"})
    second = shelve(shelf, notes(2))[0]
    work_off(app)
    assert [_document(shelf, each)["tags"] for each in (first, second)] == [[], []]
    found = read_json(shelf.get(f"/rules/{rule}"))
    assert "There is no filter “hue:”" in found["mistake"]
    assert found["trial"] is None
    assert shelf.post(f"/rules/{rule}/apply").status_code == 422


@both_databases
def test_a_rule_is_tried_applied_to_the_library_and_undone(app: Flask, shelf: Program, people: People) -> None:
    ids = shelve(shelf, *map(notes, range(3)))
    work_off(app)
    shelf.client.patch(f"/documents/{ids[0]}", json={"tags": ["tax"], "title": "Mine"}, headers=shelf.headers)
    rule = _rule(shelf, tags=["tax"], title="{name}")
    trial = read_json(shelf.get(f"/rules/{rule}"))["trial"]
    assert (trial["matched"], trial["more"], trial["tried"], trial["changed"]) == (3, False, 3, 2)
    assert trial["examples"][0]["tags"] == ["tax"]
    assert trial["examples"][0]["title"].startswith("note-")
    assert trial["examples"][0]["before"]["title"] == "Milling notes"
    before = [_document(shelf, each) for each in ids]

    begun = shelf.post(f"/rules/{rule}/apply")
    assert (begun.status_code, read_json(begun)["matched"]) == (202, 3)
    work_off(app)
    assert "Apply a rule: <bdi>Order</bdi>" in people.browser().get("/bulk").text
    done = read_json(shelf.get(begun.headers["Location"]))
    assert (done["state"], done["action"], done["done"], done["failed"]) == ("SUCCEEDED", "rule", 3, 0)
    assert [_document(shelf, each)["title"] for each in ids] == ["Mine", "note-001", "note-002"]
    assert {tuple(_document(shelf, each)["tags"]) for each in ids} == {("tax",)}
    assert _history(shelf, ids[1]).count("RULE_APPLIED") == 1

    assert shelf.post(f"{begun.headers['Location']}/undo").status_code == 202
    work_off(app)
    after = [_document(shelf, each) for each in ids]
    assert [(each["title"], each["tags"]) for each in after] == [(each["title"], each["tags"]) for each in before]


@pytest.mark.parametrize(
    ("more", "status"),
    [
        ({}, 422), ({"tags": ["a"], "name": ""}, 422), ({"tags": "a"}, 422), ({"tags": [1]}, 422),
        ({"kind": "sock"}, 422), ({"title": "{hue}"}, 422), ({"tags": ["a"], "on": 2}, 422),
        ({"tags": ["a"], "view_id": "01a1f83c-2444-7783-a3c8-5af8c383ec5d"}, 422), ({"tags": ["a"], "x": 1}, 400),
        ({"tags": ["a"], "view_id": None}, 422),
    ],
)  # fmt: skip
def test_what_can_be_no_rule_is_refused(program: Program, more: dict[str, Any], status: int) -> None:
    view = read_json(program.post("/views", json={"name": "Notes"}))["id"]
    body = {"name": "Order", "view_id": view, **more}
    answer = program.client.post("/rules", json=body, headers=program.headers)
    assert answer.status_code == status
    assert answer.get_json()["detail"]
    assert read_json(program.get("/rules"))["rules"] == []


def test_programs_list_change_and_delete_rules(program: Program) -> None:
    rule = _rule(program, tags=["tax"])
    changed = read_json(program.send("PATCH", f"/rules/{rule}", json={"tags": [], "title": "{name}", "name": "Names"}))
    assert (changed["name"], changed["tags"], changed["title"], changed["view"]) == ("Names", [], "{name}", "Notes")
    assert program.send("PATCH", f"/rules/{rule}", json={"title": None}).status_code == 422, "it would give nothing"
    assert program.send("PATCH", f"/rules/{rule}", json={}).status_code == 422
    in_use = program.send("DELETE", f"/views/{changed['view_id']}")
    assert (in_use.status_code, read_json(in_use)["reason"]) == (409, "in_use")
    assert program.send("DELETE", f"/rules/{rule}").status_code == 204
    assert program.get(f"/rules/{rule}").status_code == 404
    assert program.send("DELETE", f"/views/{changed['view_id']}").status_code == 204
    for action in ("rule", "unrule"):
        assert program.client.post(
            "/bulk", json={"action": action, "query": ""}, headers=program.headers
        ).status_code == 422  # fmt: skip


def test_people_make_try_apply_and_delete_rules(app: Flask, shelf: Program, browser: Browser) -> None:
    assert "save a view first" in browser.get("/rules").text
    view = read_json(shelf.post("/views", json={"name": "Notes", "query": "in:note"}))["id"]
    ids = shelve(shelf, notes(1))
    work_off(app)
    made = browser.post("/rules", {"name": "Order", "view_id": view, "tags": "tax, to pay", "kind": "", "title": ""})
    assert made.status_code == 303
    page = browser.get(made.location).text
    assert "It would change <strong>1</strong> of 1 document of the view." in page
    applied = browser.post(f"{made.location}/apply")
    assert applied.status_code == 303
    assert "Apply a rule: <bdi>Order</bdi>" in browser.get(applied.location).text
    work_off(app)
    assert _document(shelf, ids[0])["tags"] == ["tax", "to pay"]
    assert "Order: tax, to pay" in browser.get(f"/documents/{ids[0]}/runs").text
    assert "Apply a rule" in browser.get("/bulk").text

    assert browser.post(made.location, {"on": "0"}).status_code == 303
    assert re.search(r">\s*Off</span>", browser.get("/rules").text)
    assert browser.post(f"{made.location}/delete").status_code == 303
    assert "The rule “Order” was deleted." in browser.get("/rules").text


def test_a_viewer_reads_rules_and_changes_none(people: People) -> None:
    rule = _rule(people.program(), tags=["tax"])
    viewer = people.browser("viewer", email="v@example.org")
    assert "Order</bdi>" in viewer.get("/rules").text
    assert "<form" not in viewer.get("/rules").text.split('id="main"')[1].split("</main>")[0]
    assert "Apply to the library" not in viewer.get(f"/rules/{rule}").text
    assert people.program("viewer").post(f"/rules/{rule}/apply").status_code == 403


def test_folders_become_tags(app: Flask, shelf: Program) -> None:
    inside = [send(shelf, notes(number), folder=folder).get_json()["documents"][0]["id"]
              for number, folder in enumerate(("Tax/2025", "x" * 200))]  # fmt: skip
    outside = shelve(shelf, notes(5))
    work_off(app)
    begun = shelf.post("/bulk", json={"action": "tag_folders", "query": ""})
    assert begun.status_code == 202
    work_off(app)
    assert [_document(shelf, each)["tags"] for each in (*inside, *outside)] == [["Tax/2025"], [], []]
    assert shelf.post(f"{begun.headers['Location']}/undo").status_code == 202
    work_off(app)
    assert _document(shelf, inside[0])["tags"] == []


def test_an_uploaded_folder_becomes_a_tag_where_that_is_asked_for(app: Flask, shelf: Program) -> None:
    def upload(number: int, **fields: str) -> str:
        name, content = notes(number)
        data = {"file": (BytesIO(content), name), **fields}
        return str(shelf.post("/documents", data=data).get_json()["documents"][0]["id"])

    asked = upload(1, folder="Tax/2025", folder_tags="1")
    others = [upload(2, folder="Tax/2025"), upload(3, folder_tags="1"), upload(4, folder="x" * 200, folder_tags="1")]
    assert [_document(shelf, each)["tags"] for each in (asked, *others)] == [["Tax/2025"], [], [], []]
