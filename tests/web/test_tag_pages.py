"""The page of tags: a tree that is renamed, merged, painted, deleted and put back, by people and by programs."""

import re
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import Connection, select, text

from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import NOTES, read_json, shelve
from tests.worker.bench import wait_for
from webapp.db import db, transaction
from webapp.documents.model import Document
from webapp.library import tags


@pytest.fixture
def shelf(app: Flask, program: Program) -> list[str]:
    """Three documents with tags, two of them in another one."""
    ids = shelve(program, ("a.md", NOTES), ("b.md", NOTES + b"b"), ("c.md", NOTES + b"c"))
    for document_id, names in zip(ids, (["tax/2025"], ["tax", "to pay"], []), strict=True):
        program.client.patch(f"/documents/{document_id}", json={"tags": names}, headers=program.headers)
    return ids


def _tags(program: Program) -> dict[str, tuple[int, str | None]]:
    return {each["name"]: (each["documents"], each["color"]) for each in read_json(program.get("/tags"))["tags"]}


def _id(program: Program, name: str) -> str:
    return next(str(each["id"]) for each in read_json(program.get("/tags"))["tags"] if each["name"] == name)


def _undo(page: str) -> str:
    found = re.search(r'action="(/tags/changes/[^"]+/undo)"', page)
    assert found, page
    return found[1]


def test_programs_list_change_and_delete(program: Program, shelf: list[str]) -> None:
    assert _tags(program) == {"tax": (2, None), "tax/2025": (1, None), "to pay": (1, None)}
    address = f"/tags/{_id(program, 'tax')}"
    changed = read_json(program.send("PATCH", address, json={"name": "Taxes", "color": "green"}))
    assert (changed["tag"]["name"], changed["tag"]["color"]) == ("Taxes", "green")
    assert _tags(program) == {"Taxes": (2, "green"), "Taxes/2025": (1, None), "to pay": (1, None)}

    taken = program.send("PATCH", address, json={"name": "to pay"})
    assert (taken.status_code, read_json(taken)["reason"]) == (409, "taken")
    merged = read_json(program.send("PATCH", address, json={"name": "to pay", "merge": True}))
    assert merged["tag"] == {**merged["tag"], "name": "to pay", "documents": 2}
    assert program.post(f"/tags/changes/{merged['change_id']}/undo").status_code == 204
    assert program.post(f"/tags/changes/{merged['change_id']}/undo").status_code == 404
    assert _tags(program)["Taxes"] == (2, "green")

    deleted = read_json(program.send("DELETE", address))
    assert _tags(program) == {"to pay": (1, None)}
    assert program.post(f"/tags/changes/{deleted['change_id']}/undo").status_code == 204
    assert _tags(program)["Taxes/2025"] == (1, None)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422), ([], 422), ({"name": ""}, 422), ({"name": 1}, 422), ({"name": "a\0"}, 422), ({"color": "gold"}, 422),
        ({"color": 1}, 422), ({"name": "tax/2025"}, 422), ({"name": "a", "merge": 1}, 422),
        ({"name": "a", "x": 1}, 400),
    ],
)  # fmt: skip
def test_what_is_no_change_is_refused(program: Program, shelf: list[str], body: object, status: int) -> None:
    before = _tags(program)
    answer = program.client.patch(f"/tags/{_id(program, 'tax')}", json=body, headers=program.headers)
    assert answer.status_code == status
    assert answer.get_json()["detail"]
    assert _tags(program) == before


def test_people_rename_merge_and_delete_with_a_question(browser: Browser, program: Program, shelf: list[str]) -> None:
    page = browser.get("/tags").text
    assert page.index("tax</bdi>") < page.index("2025</bdi>") < page.index("to pay</bdi>")
    tax, to_pay = _id(program, "tax"), _id(program, "to pay")

    assert browser.post(f"/tags/{tax}", {"name": "Taxes", "color": "red"}).status_code == 303
    page = browser.get("/tags").text
    assert "“tax” was changed" in page
    assert 'class="tag tag-red"' in page

    question = browser.post(f"/tags/{to_pay}", {"name": "taxes"}).text
    assert "Merge “<bdi>to pay</bdi>” into “<bdi>taxes</bdi>”?" in question
    assert "1 document has the tag" in question
    assert "to pay" in _tags(program), "nothing is merged by the question"
    assert browser.post(f"/tags/{to_pay}", {"name": "taxes", "merge": "1"}).status_code == 303
    assert _tags(program) == {"Taxes": (2, "red"), "Taxes/2025": (1, None)}
    assert browser.post(_undo(browser.get("/tags").text)).status_code == 303
    assert _tags(program)["to pay"] == (1, None)

    question = browser.get(f"/tags/{tax}/delete").text
    assert "Delete the tag “<bdi>Taxes</bdi>”?" in question
    assert "2 documents have it, or one of the 1 tag in it" in question
    assert browser.post(f"/tags/{tax}/delete").status_code == 303
    assert _tags(program) == {"to pay": (1, None)}
    page = browser.get("/tags").text
    assert "“Taxes” was deleted" in page
    assert browser.post(_undo(page)).status_code == 303
    assert _tags(program)["Taxes"] == (2, "red")


def test_a_viewer_sees_tags_and_changes_none(people: People, program: Program, shelf: list[str]) -> None:
    viewer = people.browser("viewer", email="v@example.org")
    page = viewer.get("/tags").text
    assert "tax</bdi>" in page
    assert f"/tags/{_id(program, 'tax')}" not in page
    assert people.program("viewer").send("DELETE", f"/tags/{_id(program, 'tax')}").status_code == 403


def test_names_are_suggested_while_typing(browser: Browser, shelf: list[str]) -> None:
    assert browser.get("/tags/names?add=TA", headers=HX).text.count("<option") == 2
    assert '<option value="to pay">' in browser.get("/tags/names?add=tax,%20to").text
    assert browser.get("/tags/names?add=a%00").text.count("<option") == 0


def test_names_are_suggested_for_several_tags_of_many_documents(browser: Browser, shelf: list[str]) -> None:
    page = browser.get("/").text
    assert re.search(r'id="bulk-tags"[^>]*list="bulk-tag-names"[^>]*hx-get="/tags/names"', page)
    assert browser.get("/tags/names?tags=to", headers=HX).text.count('<option value="to pay">') == 1
    typed = browser.get("/tags/names?tags=%22a%22,%20to%20pay,%20tax/", headers=HX).text
    assert '<option value="&#34;a&#34;, to pay, tax/2025">' in typed


def test_a_row_of_the_library_changes_its_tags_in_place(browser: Browser, program: Program, shelf: list[str]) -> None:
    program.send("PATCH", f"/tags/{_id(program, 'to pay')}", json={"color": "blue"})
    page = browser.get("/").text
    assert '<a class="tag tag-small tag-blue" href="/?q=tag:%22to+pay%22">' in page
    address = f"/documents/{shelf[2]}/tags"
    row = browser.post(address, {"add": "home", "from": "library"}, headers=HX).text
    assert row.startswith(f'\n<div class="row-tags" id="row-tags-{shelf[2]}">') or f'id="row-tags-{shelf[2]}"' in row
    assert "home</bdi>" in row
    assert "<html" not in row
    plain = browser.post(address, {"remove": "home", "from": "library"})
    assert (plain.status_code, plain.location) == (303, "/")
    assert "home" not in {name for name, (number, _) in _tags(program).items() if number}


def test_without_tags_the_page_says_how_to_make_some(browser: Browser) -> None:
    assert "No tags yet" in browser.get("/tags").text
    assert "No tag matches" in browser.get("/tags?q=nothing").text


_BLOCKED = text("SELECT count(*) FROM pg_stat_activity WHERE :pid = ANY(pg_blocking_pids(pid))")


def _is_waited_for(connection: Connection, pid: int) -> bool:
    # In each transaction the server shows what there was at its first look.
    with connection.begin():
        return bool(connection.scalar(_BLOCKED, {"pid": pid}))


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_merge_and_a_publication_that_wait_for_each_other_are_both_done(
    app: Flask, program: Program, shelf: list[str]
) -> None:
    to_pay, target, org = _id(program, "to pay"), {"name": "tax/2025", "merge": True}, program.org_id
    with ThreadPoolExecutor(1) as others, app.app_context():
        with transaction(org) as session, db.engine.connect() as watching:
            # As a publication does: first the document is locked, and then the tags that rules give it.
            session.execute(select(Document.id).where(Document.id == UUID(shelf[1])).with_for_update())
            pid = session.scalar(text("SELECT pg_backend_pid()"))
            merged = others.submit(program.send, "PATCH", f"/tags/{to_pay}", json=target)
            wait_for(lambda: _is_waited_for(watching, pid))
            tags.add(org, UUID(shelf[1]), "to pay")
        assert merged.result().status_code == 200, merged.result().text
    assert _tags(program) == {"tax": (2, None), "tax/2025": (2, None)}
