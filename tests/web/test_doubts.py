"""The queue of fields that a person should look at: what contradicts first, then what is least sure."""

import re
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import update

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import read_json, shelve, use_hashed_words, work_off
from tests.web.test_field_pages import invoice
from webapp.db import transaction
from webapp.documents.model import DocumentField
from webapp.web.document import field_list


@pytest.fixture
def doubtful(app: Flask, program: Program) -> list[str]:
    """Two documents: in one the sums contradict each other, in the other a reader was not sure of two fields."""
    use_hashed_words(app)
    wrong = invoice("A-1", "2026-03-04", "120.00").replace(b"Total: 120.00", b"Total: 999.00")
    ids = shelve(program, ("wrong.rtf", wrong), ("unsure.rtf", invoice("A-2", "2026-05-06", "60.00")))
    work_off(app)
    unsure = update(DocumentField).where(DocumentField.document_id == UUID(ids[1]))
    with app.app_context(), transaction(program.org_id) as session:
        for kind, confidence in (("invoice_number", 0.5), ("invoice_date", 0.3)):
            session.execute(
                unsure.where(DocumentField.kind == kind).values(check_order=confidence, confidence=confidence)
            )
    return ids


def queue(program: Program, behind: str = "") -> dict[str, object]:
    return read_json(program.get("/doubts", query_string={"behind": behind} if behind else None))


def names(program: Program) -> list[str]:
    """The queue as somebody meets it who skips everything."""
    found, behind = [], ""
    while shown := queue(program, behind)["next"]:
        found.append(shown["field"]["name"])  # type: ignore[index] # an object
        behind = shown["behind"]  # type: ignore[index]
    return found


@both_databases
def test_the_worst_comes_first_and_what_somebody_said_is_out(app: Flask, program: Program, doubtful: list[str]) -> None:
    met = names(program)
    assert "Total" in met[:-2]
    assert met[-2:] == ["Invoice date", "Invoice number"]
    left = queue(program)["left"]
    assert left == len(met)
    place = f"/documents/{doubtful[0]}/fields/Total"
    assert program.client.put(place, json={"value": "120"}, headers=program.headers).status_code == 200
    assert program.client.put(
        f"/documents/{doubtful[1]}/fields/Invoice date", json={"confirmed": True}, headers=program.headers
    ).json
    after = queue(program)
    assert (after["left"], after["checked"], after["untouched_share"]) == (left - 2, 2, 0.5)
    assert names(program) == [name for name in met if name not in {"Total", "Invoice date"}]
    assert program.post(f"/documents/{doubtful[0]}/reprocess").status_code == 202
    work_off(app)
    assert "Total" not in names(program)
    assert program.client.delete(place, headers=program.headers).status_code == 204
    assert "Total" in names(program)


def test_people_work_through_it_with_forms(browser: Browser, program: Program, doubtful: list[str]) -> None:
    shown: dict = queue(program)["next"]  # type: ignore[assignment, type-arg]
    field = {"document": shown["document"]["id"], "name": shown["field"]["name"], "nth": shown["field"]["nth"]}
    page = browser.get("/doubts").text
    assert f"{len(names(program))} left to check" in page
    assert shown["behind"] in page
    wrong = browser.post("/doubts", data={**field, "say": "value", "value": "<much>", "place": shown["behind"]})
    assert (wrong.status_code, "&lt;much&gt;" in wrong.text) == (422, True)
    gone = browser.post("/doubts", data={**field, "say": "absent", "seen": "another"}, headers=HX)
    assert gone.status_code == 409
    following = browser.post("/doubts", data={**field, "say": "absent"}, headers=HX)
    assert (following.status_code, "1 checked, 0% of them right" in following.text) == (200, True)
    while left := queue(program)["next"]:
        field = {"document": left["document"]["id"], "name": left["field"]["name"], "nth": left["field"]["nth"]}  # type: ignore[index]
        assert browser.post("/doubts", data={**field, "say": "confirmed"}).location.startswith("/doubts?decided=")
    assert "Nothing to check" in browser.get("/doubts").text
    for wrong_form in ({}, {"document": "x", "nth": "0", "say": "absent"}, {**field, "say": "undo"}):
        assert browser.post("/doubts", data=wrong_form).status_code == 422
    assert browser.get("/doubts?behind=x").status_code == 422


def test_only_the_own_org_s_and_only_writers(people: People, doubtful: list[str]) -> None:
    assert queue(people.program(org="Theirs"))["left"] == 0
    viewer = people.browser("viewer", email="v@example.org")
    assert "Not there" not in viewer.get("/doubts").text
    assert viewer.post("/doubts", data={"document": doubtful[0], "nth": 0, "name": "Total"}).status_code == 403


def test_the_link_leads_to_the_part_of_the_list_that_has_the_field(
    app: Flask, browser: Browser, program: Program, doubtful: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(field_list, "FIELDS_SHOWN", 2)
    shown: dict = queue(program)["next"]  # type: ignore[assignment, type-arg]
    ordinal = shown["field"]["ordinal"]
    assert ordinal >= 2
    [link] = re.findall(rf'href="([^"]*#field-{ordinal})"', browser.get("/doubts").text)
    assert f"start={ordinal // 2 * 2}" in link
    assert f'id="field-{ordinal}"' in browser.get(link).text


@both_databases
def test_the_last_decisions_are_taken_back_one_by_one(
    browser: Browser, people: People, program: Program, doubtful: list[str]
) -> None:
    met = names(program)
    decided = ""
    for verdict in ("confirmed", "absent"):
        shown: dict = queue(program)["next"]  # type: ignore[assignment, type-arg]
        field = {"document": shown["document"]["id"], "name": shown["field"]["name"], "nth": shown["field"]["nth"]}
        page = browser.post("/doubts", data={**field, "say": verdict, "decided": decided}, headers=HX).text
        decided = re.findall(r'name="decided" value="([^"]*)"', page)[0]
    assert names(program) == met[2:]
    assert "doubt-undo" in browser.get(f"/doubts?decided={decided}").text
    theirs = people.browser(email="kim@example.org")
    assert theirs.post("/doubts/undo", data={"decided": decided}).status_code == 409
    other_org = people.browser(org="Theirs", email="eve@example.org")
    assert other_org.post("/doubts/undo", data={"decided": decided}).status_code == 409
    # What was skipped since stays skipped, and the field comes next all the same.
    behind = queue(program)["next"]["behind"]  # type: ignore[index]
    page = browser.post("/doubts/undo", data={"decided": decided, "behind": behind}, headers=HX).text
    assert f'<h2 id="doubt-name"><bdi>{met[1]}</bdi></h2>' in page
    first = decided.split(",")[0]
    assert f'name="decided" value="{first}"' in page
    back = browser.post("/doubts/undo", data={"decided": first})
    assert f'<h2 id="doubt-name"><bdi>{met[0]}</bdi></h2>' in browser.get(back.location).text
    assert names(program) == met
    for wrong, status in (("", 409), (first, 409), ("x", 422)):
        assert browser.post("/doubts/undo", data={"decided": wrong}).status_code == status
