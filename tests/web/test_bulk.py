"""Many documents at once: asked for, counted first, worked off by the queue, stopped and undone."""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import insert, select

from tests.bare import changed
from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.clock import monotonic, new_id, utc_now
from webapp.db import reading, session, transaction
from webapp.documents.model import Document, ProcessingRun
from webapp.documents.operation_model import OperationItem
from webapp.library import bulk, names
from webapp.pipeline.change_many import change_many
from webapp.pipeline.steps import StageContext
from webapp.runs.retention import OPERATIONS
from webapp.runs.stages import BULK

MANY = 3_000


class Crash(BaseException):
    """The process is gone."""


@pytest.fixture
def shelf(app: Flask, people: People) -> Program:
    use_hashed_words(app)
    return people.program("ops")


def _begin(program: Program, **body: Any) -> str:
    answer = program.post("/bulk", json=body)
    assert answer.status_code == 202, answer.text
    begun = read_json(answer)
    assert answer.headers["Location"].endswith(f"/bulk/{begun['id']}")
    return str(begun["id"])


def _done(app: Flask, program: Program, operation_id: str) -> dict[str, Any]:
    work_off(app)
    return read_json(program.get(f"/bulk/{operation_id}"))


def _listed(program: Program, q: str = "") -> set[str]:
    return {each["id"] for each in read_json(program.get(f"/documents?q={q}"))["documents"]}


def _undone(app: Flask, program: Program, operation_id: str) -> dict[str, Any]:
    answer = program.post(f"/bulk/{operation_id}/undo")
    assert answer.status_code == 202, answer.text
    return _done(app, program, read_json(answer)["id"])


@both_databases
def test_each_action_is_done_and_undone(app: Flask, shelf: Program) -> None:
    one, two, three = ids = shelve(shelf, *map(notes, range(3)))
    work_off(app)
    shelf.client.patch(f"/documents/{one}", json={"tags": ["tax"]}, headers=shelf.headers)
    counted = read_json(shelf.post("/bulk", json={"action": "tag", "query": "", "tags": ["tax"], "dry_run": True}))
    assert counted == {"matched": 3, "more": False}

    tagged = _begin(shelf, action="tag", query="note", tags=["tax", "to pay"])
    result = _done(app, shelf, tagged)
    assert (result["state"], result["matched"], result["done"], result["failed"]) == ("SUCCEEDED", 3, 3, 0)
    assert _listed(shelf, 'tag:"to pay" tag:tax') == set(ids)
    assert _undone(app, shelf, tagged)["state"] == "SUCCEEDED"
    assert _listed(shelf, "tag:tax") == {one}, "it had this tag before"
    assert shelf.post(f"/bulk/{tagged}/undo").status_code == 409, "once is enough"

    untagged = _begin(shelf, action="untag", ids=[one, two], tags=["Tax"])
    assert _done(app, shelf, untagged)["done"] == 2
    assert _listed(shelf, "tag:tax") == set()
    _undone(app, shelf, untagged)
    assert _listed(shelf, "tag:tax") == {one}

    deleted = _begin(shelf, action="delete", query="note-001")
    assert _done(app, shelf, deleted)["done"] == 1
    assert _listed(shelf) == {one, three}
    undone = _undone(app, shelf, deleted)
    assert (undone["action"], undone["done"]) == ("restore", 1)
    assert _listed(shelf) == set(ids)

    again = _begin(shelf, action="reprocess", ids=[one, three])
    assert _done(app, shelf, again)["failed"] == 0
    assert len(read_json(shelf.get(f"/documents/{three}/runs"))["runs"]) == 2
    assert shelf.post(f"/bulk/{again}/undo").status_code == 409


@both_databases
def test_what_can_not_be_changed_is_said_with_the_reason(app: Flask, shelf: Program) -> None:
    one, two = shelve(shelf, *map(notes, range(2)))
    busy = _begin(shelf, action="reprocess", ids=[one])
    full = _begin(shelf, action="tag", ids=[two], tags=[f"tag {number}" for number in range(50)])
    result = _done(app, shelf, busy)
    assert result["failed"] in {0, 1}
    assert _done(app, shelf, full)["failed"] == 0
    more = _begin(shelf, action="tag", ids=[one, two], tags=["one more"])
    result = _done(app, shelf, more)
    assert (result["done"], result["failed"]) == (2, 1)
    assert [(each["id"], each["reason"]) for each in result["result"]["failures"]] == [(two, "too_many_tags")]
    gone = _begin(shelf, action="restore", ids=[one])
    assert _done(app, shelf, gone)["done"] == 0, "it is in the library"


def test_what_was_uploaded_after_the_question_is_left_alone(app: Flask, shelf: Program) -> None:
    [before] = shelve(shelf, notes(0))
    deleted = _begin(shelf, action="delete", query="")
    [later] = shelve(shelf, notes(1))
    assert _done(app, shelf, deleted)["done"] == 1
    assert _listed(shelf) == {later} != {before}


def test_a_stopped_operation_changes_no_more(app: Flask, shelf: Program) -> None:
    ids = shelve(shelf, *map(notes, range(2)))
    stopped = _begin(shelf, action="delete", query="")
    assert read_json(shelf.post(f"/bulk/{stopped}/stop"))["state"] == "STOPPED"
    assert _done(app, shelf, stopped)["done"] == 0
    assert _listed(shelf) == set(ids)
    assert shelf.post(f"/bulk/{stopped}/stop").status_code == 409
    with app.app_context():
        assert OPERATIONS.prune_page(0, None, 500).number == 1
    assert shelf.get(f"/bulk/{stopped}").status_code == 404


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"action": "delete"}, 422),
        ({"action": "delete", "query": "", "ids": []}, 422),
        ({"action": "odd", "query": ""}, 422),
        ({"action": "tag", "query": ""}, 422),
        ({"action": "tag", "query": "", "tags": ["a" * 200]}, 422),
        ({"action": "restore", "query": ""}, 422),
        ({"action": "delete", "ids": ["nonsense"]}, 422),
        ({"action": "delete", "query": "pages:many"}, 422),
        ({"action": "delete", "query": "", "dry_run": "yes"}, 422),
        ({"action": "delete", "query": "", "dry_run": 1}, 422),
        ({"action": "delete", "query": "", "dry_run": None}, 422),
        ({"action": "delete", "ids": [], "folder": "Tax"}, 422),
        ({"action": "delete", "ids": [], "status": "failed"}, 422),
        ({"action": "delete", "query": "\ud800"}, 422),
        ({"action": "tag", "query": "", "tags": ["\udfff"]}, 422),
        ({"action": "delete", "query": "", "folder": "\ud800"}, 422),
        ({"action": "delete", "query": "", "colour": "red"}, 400),
    ],
)
def test_a_wrong_request_is_refused(shelf: Program, body: dict[str, Any], status: int) -> None:
    answer = shelf.post("/bulk", data=json.dumps(body), content_type="application/json")
    assert (answer.status_code, bool(read_json(answer)["detail"])) == (status, True)


def test_as_many_ids_as_may_be_named_fit_into_a_request(app: Flask, shelf: Program, people: People) -> None:
    [mine] = shelve(shelf, notes(0))
    ids = [mine, *(str(new_id()) for _ in range(bulk.IDS_MAX - 1))]
    assert read_json(shelf.post("/bulk", json={"action": "delete", "ids": ids, "dry_run": True}))["matched"] == 1
    browser = people.browser()
    question = browser.post("/bulk", {"action": "delete", "id": ids})
    assert "Delete 1 document?" in question.text
    assert question.text.count('name="id"') == bulk.IDS_MAX
    assert browser.post("/bulk", {"action": "delete", "id": ids, "confirmed": "1"}).status_code == 303
    assert shelf.post("/bulk", json={"action": "delete", "ids": [*ids, mine]}).status_code == 422


def test_orgs_and_viewers_are_kept_out(app: Flask, shelf: Program, people: People) -> None:
    [mine] = shelve(shelf, notes(0))
    operation = _begin(shelf, action="tag", ids=[mine], tags=["mine"])
    other = people.program("ops", org="Theirs")
    assert other.get(f"/bulk/{operation}").status_code == 404
    assert other.post(f"/bulk/{operation}/stop").status_code == 404
    foreign = _begin(other, action="delete", ids=[mine])
    assert _done(app, other, foreign)["done"] == 0
    assert _listed(shelf) == {mine}
    assert people.program("viewer").post("/bulk", json={"action": "delete", "query": ""}).status_code == 403


def test_a_browser_asks_first_and_undoes_without_a_script(app: Flask, shelf: Program, people: People) -> None:
    ids, browser = shelve(shelf, *map(notes, range(3))), people.browser()
    work_off(app)
    page = browser.get("/").text
    assert page.count('form="bulk-form"') == 3
    question = browser.post("/bulk", {"action": "delete", "id": ids[:2]})
    assert (question.status_code, "Delete 2 documents?" in question.text) == (200, True)
    assert _listed(shelf) == set(ids), "nothing happens before the answer"
    assert "Delete 3 documents?" in browser.post("/bulk", {"action": "delete", "all": "1", "q": "note"}).text
    assert browser.post("/bulk", {"action": "delete"}).status_code == 422
    begun = browser.post("/bulk", {"action": "delete", "id": ids[:2], "confirmed": "1"})
    assert begun.status_code == 303
    assert "operation-stop" in browser.get(begun.location).text
    work_off(app)
    page = browser.get(begun.location).text
    assert "operation-undo" in page
    assert "data-poll" not in page
    undone = browser.post(f"{begun.location}/undo")
    work_off(app)
    assert "Restore documents" in browser.get(undone.location).text
    assert _listed(shelf) == set(ids)
    assert "Delete documents" in browser.get("/bulk").text


@both_databases
def test_a_crash_at_any_commit_loses_nothing_and_does_nothing_twice(
    app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bulk, "BATCH", 2)
    ids = shelve(shelf, *map(notes, range(5)))
    work_off(app)
    tagged = _begin(shelf, action="tag", query="", tags=["a"])
    _crash_at_each_batch(app, monkeypatch)
    result = _done(app, shelf, tagged)
    assert (result["state"], result["done"], result["failed"]) == ("SUCCEEDED", 5, 0)
    with app.app_context(), reading(shelf.org_id):
        assert len(session().scalars(select(OperationItem.document_id)).all()) == 5
    assert _listed(shelf, "tag:a") == set(ids)
    deleted = _begin(shelf, action="delete", query="")
    _crash_at_each_batch(app, monkeypatch)
    assert _done(app, shelf, deleted)["done"] == 5
    answer = read_json(shelf.post(f"/bulk/{deleted}/undo"))
    _crash_at_each_batch(app, monkeypatch)
    assert _done(app, shelf, answer["id"])["done"] == 5
    assert _listed(shelf) == set(ids)


def _crash_at_each_batch(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    """Die once before and once after the commit of each batch; the job goes to the next worker each time."""
    found = services_of(app)
    checkpoint, deaths = type(found.queue).checkpoint, 0
    for is_before in (True, False):
        for number in (1, 2, 3):
            with monkeypatch.context() as patched:
                _die_in_batch(patched, type(found.queue), checkpoint, number, is_before=is_before)
                deaths += _work_until_death(app)
    assert deaths >= 2


def _die_in_batch(
    patched: pytest.MonkeyPatch, queue: type[Any], checkpoint: Callable[..., None], number: int, *, is_before: bool
) -> None:
    seen = [0]

    def dies(self: Any, lease: Any, state: Any) -> None:
        seen[0] += 1
        if seen[0] == number and is_before:
            raise Crash
        checkpoint(self, lease, state)

    def dies_after(*_: Any, **__: Any) -> None:
        if seen[0] >= number and not is_before:
            raise Crash

    patched.setattr(queue, "checkpoint", dies)
    patched.setattr("webapp.pipeline.steps.StageContext.check", dies_after)


def _work_until_death(app: Flask) -> bool:
    found = services_of(app)
    with app.app_context():
        found.queue.wake_delayed()
        for lease in found.queue.claim("dying", stages=(BULK,)):
            stopping, deadline = threading.Event(), monotonic() + 60
            context = StageContext(lease, found.queue, found.providers, 1, deadline, stopping)
            try:
                change_many(context)
            except Crash:
                with transaction(everywhere=True):
                    assert found.queue.release([lease])
                return True
    return False


@pytest.mark.slow
@both_databases
def test_many_documents_keep_nobody_waiting(app: Flask, shelf: Program) -> None:
    """No request grows with what was selected; the clock is that of this thread, since others use the machine, too."""
    _fill(app, shelf)
    longest = [0.0]

    def timed(ask: Callable[[], Any]) -> Any:
        start = time.thread_time()
        answer = ask()
        longest[0] = max(longest[0], time.thread_time() - start)
        return answer

    operation = ""
    for action, more in (("tag", {"tags": ["many"]}), ("delete", {})):
        body = {"action": action, "query": "", **more}
        begun = timed(partial(shelf.post, "/bulk", json=body))
        operation = read_json(begun)["id"]
        assert read_json(begun)["matched"] == MANY
        work_off(app, 1)
        timed(lambda: shelf.get("/documents"))
        work_off(app)
        assert read_json(timed(partial(shelf.get, f"/bulk/{operation}")))["done"] == MANY
    assert timed(lambda: _listed(shelf)) == set()
    timed(lambda: shelf.get("/bin"))
    answer = timed(partial(shelf.post, f"/bulk/{operation}/undo"))
    work_off(app)
    assert read_json(shelf.get(f"/bulk/{read_json(answer)['id']}"))["done"] == MANY
    assert json.dumps(read_json(timed(lambda: shelf.get("/documents?q=tag:many")))["counts"])
    assert longest[0] < 0.5


def _fill(app: Flask, program: Program) -> None:
    """As many documents as a large selection has, that nothing is to be done for."""
    org = program.org_id
    rows: list[dict[str, Any]] = []
    runs: list[dict[str, Any]] = []
    for number in range(MANY):
        document_id, run_id = new_id(), new_id()
        runs.append({"id": run_id, "org_id": org, "document_id": document_id, "state": "FAILED"})
        rows.append(
            {
                "id": document_id,
                "org_id": org,
                "filename": f"scan {number}.pdf",
                "content_type": "application/pdf",
                "size_bytes": 1,
                "sha256": f"{number:064}",
                "blob_path": f"{org}/documents/{document_id}/original",
                "status": "FAILED",
            }
        )
    with app.app_context(), transaction(org):
        ended = {"failure_type": "STEP_FAILED", "trigger": "UPLOAD", "finished_at": utc_now()}
        session().execute(insert(Document), rows)
        session().execute(insert(ProcessingRun), [run | ended for run in runs])
        names.remember(org, [row["id"] for row in rows])


def test_reprocessing_more_than_the_org_may_is_refused(app: Flask, shelf: Program) -> None:
    shelve(shelf, *map(notes, range(2)))
    found = services_of(app)
    settings = changed(found.settings, "limits", reprocess_per_hour=1)
    app.extensions["docmill"] = replace(found, settings=settings)
    assert shelf.post("/bulk", json={"action": "reprocess", "query": ""}).status_code == 429
