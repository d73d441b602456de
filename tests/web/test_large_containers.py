"""Containers with many parts: they go into the bin and come back at once, and what lies in them follows."""

from uuid import UUID

import pytest
from flask import Flask

from tests.archives import zipped
from tests.web.databases import both_databases
from tests.web.people import Browser, People, Program
from tests.web.shelves import notes, read_json, send, services_of, shelve, use_hashed_words, work_off
from webapp.db import transaction
from webapp.library import batch_bounds, bulk, large_containers
from webapp.library import bin as library_bin
from webapp.worker import chores

pytestmark = both_databases

INNER = zipped({f"inner-{place}.md": notes(100 + place)[1] for place in range(3)})
BOX = zipped({"inner.zip": INNER, **{f"outer-{place}.md": notes(place)[1] for place in range(4)}})
PARTS = 8
QUERY = "/documents?limit=200"


@pytest.fixture
def shelf(app: Flask, people: People, monkeypatch: pytest.MonkeyPatch) -> Program:
    """A program of the ops, for which a container with four parts is a large one."""
    use_hashed_words(app)
    monkeypatch.setattr(batch_bounds, "DOCUMENTS_MAX", 4)
    monkeypatch.setattr(large_containers, "AT_ONCE", 2)
    return people.program("ops")


@pytest.fixture
def box(app: Flask, shelf: Program) -> str:
    """A container with parts on two levels, beside another document."""
    ids = shelve(shelf, ("box.zip", BOX), notes(200))
    work_off(app)
    assert len(_listed(shelf)) == PARTS + 2
    return ids[0]


def _listed(program: Program) -> dict[str, str]:
    """The statuses of all documents of the library."""
    return {each["id"]: each["status"] for each in read_json(program.get(QUERY))["documents"]}


def _delete(program: Program, document_id: str) -> str:
    answer = program.send("DELETE", f"/documents/{document_id}")
    assert answer.status_code == 202, answer.text
    assert answer.headers["Location"] == f"/bulk/{read_json(answer)['id']}"
    return str(read_json(answer)["id"])


def _restore(program: Program, document_id: str) -> str:
    answer = program.post(f"/documents/{document_id}/restore")
    assert answer.status_code == 202, answer.text
    assert read_json(answer)["id"] == document_id
    return answer.headers["Location"].rpartition("/")[2]


def _batch(app: Flask, program: Program, operation_id: str) -> None:
    """Do one batch of an operation."""
    with app.app_context(), transaction(program.org_id):
        assert bulk.do_batch(services_of(app).queue, 3, program.org_id, UUID(operation_id), None) is not None


def _state(program: Program, operation_id: str) -> tuple[str, int, int]:
    found = read_json(program.get(f"/bulk/{operation_id}"))
    return found["state"], found["done"], found["failed"]


def test_a_large_container_goes_at_once_and_its_parts_follow(
    app: Flask, shelf: Program, box: str, browser: Browser
) -> None:
    before = _listed(shelf)
    operation = _delete(shelf, box)
    assert _listed(shelf).keys() == before.keys() - {box}
    assert shelf.send("DELETE", f"/documents/{box}").status_code == 404
    page = browser.get(f"/bulk/{operation}").text
    assert "“<bdi>box.zip</bdi>” is in the bin, and 0 of the documents that lie in it have followed." in page
    _batch(app, shelf, operation)
    assert len(_listed(shelf)) == len(before) - 3
    work_off(app)
    assert _state(shelf, operation) == ("SUCCEEDED", 1, 0)
    assert len(_listed(shelf)) == 1
    binned = read_json(shelf.get("/bin"))
    assert ([each["id"] for each in binned["documents"]], binned["count"]) == ([box], PARTS + 1)
    assert read_json(shelf.get("/search?q=ground"))["hits"][0]["document_id"] in _listed(shelf)

    back = _restore(shelf, box)
    assert len(_listed(shelf)) == 2
    assert f"{PARTS} of the documents that lie in it are still to follow" in browser.get(f"/bulk/{back}").text
    work_off(app)
    assert (_state(shelf, back), _listed(shelf)) == (("SUCCEEDED", 1, 0), before)
    assert len(read_json(shelf.get("/search?q=ground&limit=100"))["hits"]) > 1


def test_work_on_parts_ends_with_the_container_and_goes_on_with_it(app: Flask, shelf: Program) -> None:
    [box] = shelve(shelf, ("box.zip", BOX))
    work_off(app, 2)
    before = _listed(shelf)
    assert len(before) > 4
    assert "PROCESSING" in before.values()
    operation = _delete(shelf, box)
    work_off(app)
    assert (_state(shelf, operation)[0], _listed(shelf)) == ("SUCCEEDED", {})
    _restore(shelf, box)
    work_off(app)
    assert set(_listed(shelf).values()) == {"READY"}
    assert len(_listed(shelf)) == PARTS + 1


def test_a_stopped_operation_leaves_no_container_half_where_it_was(app: Flask, shelf: Program, box: str) -> None:
    operation = _delete(shelf, box)
    _batch(app, shelf, operation)
    assert shelf.post(f"/bulk/{operation}/stop").status_code == 200
    work_off(app)
    assert _state(shelf, operation) == ("STOPPED", 1, 0)
    assert len(_listed(shelf)) == 1


def test_who_restores_or_deletes_a_container_meanwhile_gets_all_of_it(app: Flask, shelf: Program, box: str) -> None:
    before = _listed(shelf)
    deleted = _delete(shelf, box)
    for _ in range(3):
        _batch(app, shelf, deleted)
    back = _restore(shelf, box)
    _batch(app, shelf, deleted)
    work_off(app)
    assert _listed(shelf) == before
    assert [_state(shelf, each)[0] for each in (deleted, back)] == ["SUCCEEDED", "SUCCEEDED"]

    work_off(app)
    _delete(shelf, box)
    work_off(app)
    back = _restore(shelf, box)
    _batch(app, shelf, back)
    shelf.client.delete(f"/documents/{box}", headers=shelf.headers)
    work_off(app)
    assert len(_listed(shelf)) == 1
    assert read_json(shelf.get("/bin"))["count"] == PARTS + 1


def test_large_containers_among_many_documents(app: Flask, shelf: Program, box: str) -> None:
    before = _listed(shelf)
    begun = read_json(shelf.post("/bulk", json={"action": "delete", "query": "status:ready -in:outer -in:inner"}))
    assert begun["matched"] == 2
    work_off(app)
    assert (_state(shelf, begun["id"]), _listed(shelf)) == (("SUCCEEDED", 2, 0), {})
    undo = read_json(shelf.post(f"/bulk/{begun['id']}/undo"))["id"]
    work_off(app)
    assert (_state(shelf, undo), _listed(shelf)) == (("SUCCEEDED", 2, 0), before)


def test_a_large_container_that_is_uploaded_again_comes_back(app: Flask, shelf: Program, box: str) -> None:
    before = _listed(shelf)
    _delete(shelf, box)
    work_off(app)
    [again] = read_json(send(shelf, ("box.zip", BOX)))["documents"]
    assert (again["restored"], again["duplicate_of"]) == (True, box)
    work_off(app)
    assert _listed(shelf) == before


def test_a_large_container_is_deleted_for_good(app: Flask, shelf: Program, box: str) -> None:
    assert shelf.send("DELETE", f"/documents/{box}?purge=1").status_code == 204
    with app.app_context():
        chores.purge_bin(services_of(app))
    assert len(_listed(shelf)) == 1
    assert read_json(shelf.get("/bin"))["count"] == 0


def test_a_container_that_is_deleted_while_its_parts_come_back_keeps_them(app: Flask, shelf: Program, box: str) -> None:
    before = _listed(shelf)
    _delete(shelf, box)
    work_off(app)
    back = _restore(shelf, box)
    inner = ""
    while not inner:
        _batch(app, shelf, back)
        found = read_json(shelf.get(QUERY))["documents"]
        inner = next((each["id"] for each in found if each["filename"] == "inner.zip"), "")
    inside = {each["id"] for each in _parts(shelf, inner)}
    assert len(inside) < 3, "not all of them are back"
    shelf.send("DELETE", f"/documents/{inner}")
    work_off(app)
    assert len(_listed(shelf)) == len(before) - 4
    assert [each["id"] for each in read_json(shelf.get("/bin"))["documents"]] == [inner]

    assert shelf.post(f"/documents/{inner}/restore").status_code == 200
    work_off(app)
    assert _listed(shelf) == before


def _parts(program: Program, document_id: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = read_json(program.get(f"/documents/{document_id}/parts"))["parts"]
    return found


def test_what_lies_deeper_counts_for_whether_a_request_waits(
    app: Flask, shelf: Program, box: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # In the container itself lie five.
    monkeypatch.setattr(library_bin, "_PURGED_AT_ONCE", 6)
    assert shelf.send("DELETE", f"/documents/{box}?purge=1").status_code == 204
    assert read_json(shelf.get("/bin"))["count"] == 1
    with app.app_context():
        chores.purge_bin(services_of(app))
    assert (len(_listed(shelf)), read_json(shelf.get("/bin"))["count"]) == (1, 0)
