"""How operations end before they are done, and go on: stopped, cancelled, failed, resumed, undone in part."""

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from tests.archives import zipped
from tests.web.databases import both_databases
from tests.web.people import People, Program
from tests.web.shelves import notes, read_json, services_of, shelve, use_hashed_words, work_off
from webapp.db import session, transaction
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError
from webapp.jobs.states import JobStatus
from webapp.library import batch_bounds, bulk
from webapp.pipeline import change_many
from webapp.runs import lifecycle
from webapp.runs.stages import BULK, EXPORT

WRONG = JobError("unexpected", "a fault of the tests")


@pytest.fixture
def shelf(app: Flask, people: People, monkeypatch: pytest.MonkeyPatch) -> Program:
    """Two documents to a batch, and one batch to a turn."""
    use_hashed_words(app)
    monkeypatch.setattr(bulk, "BATCH", 2)
    monkeypatch.setattr(change_many, "TURN_SECONDS", -1.0)
    return people.program("ops")


def _begin(program: Program, **body: Any) -> str:
    answer = program.post("/bulk", json=body)
    assert answer.status_code == 202, answer.text
    return str(read_json(answer)["id"])


def _seen(program: Program, operation: str) -> dict[str, Any]:
    return read_json(program.get(f"/bulk/{operation}"))


def _tagged(program: Program, tag: str) -> set[str]:
    return {each["id"] for each in read_json(program.get(f"/documents?q=tag:{tag}"))["documents"]}


def _job(program: Program) -> str:
    jobs = [read_json(program.get(f"/ops/jobs?status={status}&stage=bulk"))["jobs"] for status in ("pending", "failed")]
    return str(next(job["id"] for some in jobs for job in some))


def _turn(app: Flask) -> None:
    """One batch."""
    with app.app_context():
        services_of(app).queue.wake_delayed()
    work_off(app, 1)


def _fail(app: Flask, *, by_death: bool, stage: str = BULK) -> None:
    """The operation's job has used up its attempts."""
    queue = services_of(app).queue
    with app.app_context():
        with transaction(everywhere=True):
            session().execute(update(Job).where(Job.stage == stage, Job.status == "PENDING").values(max_attempts=1))
        queue.wake_delayed()
        [lease] = queue.claim("dying", stages=(stage,))
        if by_death:
            assert [each.status for each in lifecycle.reset_worker(queue, "dying")] == [JobStatus.FAILED]
        else:
            assert lifecycle.retry_or_fail(queue, lease, WRONG) is JobStatus.FAILED


@pytest.mark.parametrize("by_death", [True, False])
@both_databases
def test_one_that_failed_is_resumed_where_it_was(app: Flask, shelf: Program, *, by_death: bool) -> None:
    ids = shelve(shelf, *map(notes, range(5)))
    work_off(app)
    operation = _begin(shelf, action="reprocess", query="")
    _turn(app)
    _fail(app, by_death=by_death)
    seen = _seen(shelf, operation)
    assert (seen["state"], seen["done"], seen["may_resume"], seen["may_undo"]) == ("FAILED", 2, True, False)
    assert seen["finished_at"]
    failed = _job(shelf)
    assert shelf.post(f"/bulk/{operation}/stop").status_code == 409
    answer = shelf.post(f"/bulk/{operation}/resume")
    assert (answer.status_code, read_json(answer)["state"]) == (202, "RUNNING")
    assert shelf.post(f"/bulk/{operation}/resume").status_code == 409, "it runs"
    assert read_json(shelf.get(f"/ops/jobs/{failed}"))["resolution"] == "RETRIED"
    assert shelf.post(f"/ops/jobs/{failed}/retry").status_code == 409
    work_off(app)
    seen = _seen(shelf, operation)
    assert (seen["state"], seen["done"], seen["failed"], seen["may_resume"]) == ("SUCCEEDED", 5, 0, False)
    for each in ids:
        assert len(read_json(shelf.get(f"/documents/{each}/runs"))["runs"]) == 2, "none is processed twice"


def test_ops_retry_its_failed_job(app: Flask, shelf: Program, people: People) -> None:
    ids = shelve(shelf, *map(notes, range(3)))
    work_off(app)
    operation = _begin(shelf, action="tag", query="", tags=["a"])
    _turn(app)
    for number in (1, 2):
        _fail(app, by_death=False)
        job = _job(shelf)
        if number == 1:
            answer = read_json(shelf.post(f"/ops/jobs/{job}/retry"))
            assert answer == {"job": {"id": job, "document_id": None}, "run": None}
        else:
            page = people.browser("ops").post(f"/ops/jobs/{job}/retry", headers={"HX-Request": "true"})
            assert "another job goes on" in page.text
    work_off(app)
    assert (_seen(shelf, operation)["state"], _tagged(shelf, "a")) == ("SUCCEEDED", set(ids))


def test_what_a_failed_one_did_is_undone(app: Flask, shelf: Program, people: People) -> None:
    ids = shelve(shelf, *map(notes, range(3)))
    work_off(app)
    operation = _begin(shelf, action="tag", query="", tags=["a"])
    _turn(app)
    _fail(app, by_death=False)
    page = people.browser().get(f"/bulk/{operation}").text
    assert ("operation-resume" in page, "operation-undo" in page, "operation-stop" in page) == (True, True, False)
    assert _tagged(shelf, "a") == set(ids[:2])
    undo = read_json(shelf.post(f"/bulk/{operation}/undo"))
    assert shelf.post(f"/bulk/{operation}/resume").status_code == 409, "it is being undone"
    work_off(app)
    assert (_seen(shelf, undo["id"])["done"], _tagged(shelf, "a")) == (2, set())


def test_one_whose_job_ops_cancel_is_stopped_and_goes_on(app: Flask, shelf: Program, people: People) -> None:
    ids = shelve(shelf, *map(notes, range(3)))
    work_off(app)
    operation = _begin(shelf, action="tag", query="", tags=["a"])
    _turn(app)
    assert read_json(shelf.post(f"/ops/jobs/{_job(shelf)}/cancel"))["job"]["status"] == "CANCELLED"
    seen = _seen(shelf, operation)
    assert (seen["state"], seen["may_resume"], seen["may_undo"]) == ("STOPPED", True, True)
    browser = people.browser()
    assert "data-poll" not in browser.get(f"/bulk/{operation}").text
    resumed = browser.post(f"/bulk/{operation}/resume")
    assert resumed.status_code == 303
    assert "operation-stop" in browser.get(resumed.location).text
    work_off(app)
    assert (_seen(shelf, operation)["done"], _tagged(shelf, "a")) == (3, set(ids))


@pytest.mark.parametrize("is_seen", [True, False])
def test_one_that_was_stopped_goes_on(app: Flask, shelf: Program, *, is_seen: bool) -> None:
    ids = shelve(shelf, *map(notes, range(3)))
    operation = _begin(shelf, action="tag", query="", tags=["a"])
    shelf.post(f"/bulk/{operation}/stop")
    if is_seen:
        work_off(app)
        assert _tagged(shelf, "a") == set()
    assert read_json(shelf.post(f"/bulk/{operation}/resume"))["state"] == "QUEUED"
    work_off(app)
    assert (_seen(shelf, operation)["done"], _tagged(shelf, "a")) == (3, set(ids))


def test_an_export_goes_on_after_a_failure_and_not_without_its_file(app: Flask, shelf: Program) -> None:
    shelve(shelf, *map(notes, range(2)))
    work_off(app)
    operation = _begin(shelf, action="export", query="")
    _fail(app, by_death=False, stage=EXPORT)
    assert read_json(shelf.post(f"/bulk/{operation}/resume"))["state"] == "QUEUED"
    work_off(app)
    assert (_seen(shelf, operation)["state"], _seen(shelf, operation)["done"]) == ("SUCCEEDED", 2)
    stopped = _begin(shelf, action="export", query="")
    shelf.post(f"/bulk/{stopped}/stop")
    assert not _seen(shelf, stopped)["may_resume"]
    assert shelf.post(f"/bulk/{stopped}/resume").status_code == 409


@both_databases
def test_a_stopped_undo_leaves_the_rest_to_another_one(app: Flask, shelf: Program) -> None:
    ids = shelve(shelf, *map(notes, range(5)))
    operation = _begin(shelf, action="delete", query="")
    work_off(app)
    first = read_json(shelf.post(f"/bulk/{operation}/undo"))["id"]
    assert shelf.post(f"/bulk/{operation}/undo").status_code == 409
    _turn(app)
    shelf.post(f"/bulk/{first}/stop")
    work_off(app)
    assert _seen(shelf, first)["done"] == 2
    assert _seen(shelf, operation)["may_undo"]
    second = read_json(shelf.post(f"/bulk/{operation}/undo"))
    assert second["matched"] == 3
    assert not _seen(shelf, first)["may_resume"], "the second one does its work"
    work_off(app)
    seen = _seen(shelf, second["id"])
    assert (seen["done"], seen["failed"], seen["state"]) == (3, 0, "SUCCEEDED")
    assert {each["id"] for each in read_json(shelf.get("/documents"))["documents"]} == set(ids)
    assert shelf.post(f"/bulk/{operation}/undo").status_code == 409


@both_databases
def test_an_undo_leaves_later_changes_alone_and_says_so(app: Flask, shelf: Program, people: People) -> None:
    one, two, three = shelve(shelf, *map(notes, range(3)))
    deleted = _begin(shelf, action="delete", ids=[one, two, three])
    tagged = _begin(shelf, action="restore", ids=[])
    work_off(app)
    shelf.post(f"/documents/{one}/restore")
    shelf.client.delete(f"/documents/{one}", headers=shelf.headers)
    shelf.post(f"/documents/{two}/restore")
    undo = read_json(shelf.post(f"/bulk/{deleted}/undo"))["id"]
    work_off(app)
    assert {each["id"] for each in read_json(shelf.get("/documents"))["documents"]} == {two, three}
    seen = _seen(shelf, undo)
    assert (seen["done"], seen["failed"]) == (3, 2)
    assert {(each["id"], each["reason"]) for each in seen["result"]["failures"]} == {
        (one, "changed_since"),
        (two, "changed_since"),
    }
    page = people.browser().get(f"/bulk/{undo}").text
    assert "2 left as they are" in page
    assert f"/documents/{two}" in page
    assert f"/documents/{one}" not in page, "it has no page while it lies in the bin"

    tagged = _begin(shelf, action="tag", ids=[two, three], tags=["a", "b"])
    work_off(app)
    shelf.client.patch(f"/documents/{two}", json={"tags": ["other"]}, headers=shelf.headers)
    shelf.client.delete(f"/documents/{three}", headers=shelf.headers)
    undo = read_json(shelf.post(f"/bulk/{tagged}/undo"))["id"]
    work_off(app)
    assert (_seen(shelf, undo)["done"], _seen(shelf, undo)["failed"]) == (2, 2)
    shelf.post(f"/documents/{three}/restore")
    assert (_tagged(shelf, "other"), _tagged(shelf, "a")) == ({two}, {three})


@both_databases
def test_a_container_comes_back_with_a_part_that_was_deleted_before(app: Flask, shelf: Program) -> None:
    [box] = shelve(shelf, ("box.zip", zipped({name: notes(place)[1] for place, name in enumerate(("a.md", "b.md"))})))
    work_off(app)
    parts = [each["id"] for each in read_json(shelf.get(f"/documents/{box}/parts"))["parts"]]
    for each in (parts[0], box):
        shelf.client.delete(f"/documents/{each}", headers=shelf.headers)
    operation = _begin(shelf, action="restore", ids=[parts[0], box])
    work_off(app)
    assert (_seen(shelf, operation)["done"], _seen(shelf, operation)["failed"]) == (2, 0)
    assert {each["id"] for each in read_json(shelf.get(f"/documents/{box}/parts"))["parts"]} == set(parts)


@both_databases
def test_a_batch_is_as_large_as_its_containers(app: Flask, shelf: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch_bounds, "DOCUMENTS_MAX", 4)
    files = [f"{place}.md" for place in range(3)]
    boxes = shelve(
        shelf,
        *(
            (f"{box}.zip", zipped({name: notes(10 * box + place)[1] for place, name in enumerate(files)}))
            for box in range(2)
        ),
    )
    work_off(app)
    operation = _begin(shelf, action="delete", ids=boxes)
    _turn(app)
    assert (_seen(shelf, operation)["done"], _seen(shelf, operation)["state"]) == (1, "RUNNING")
    work_off(app)
    assert read_json(shelf.get("/bin"))["count"] == 8
    undo = read_json(shelf.post(f"/bulk/{operation}/undo"))["id"]
    _turn(app)
    assert _seen(shelf, undo)["done"] == 1
    work_off(app)
    assert (_seen(shelf, undo)["done"], read_json(shelf.get("/bin"))["count"]) == (2, 0)


def test_all_words_of_a_filter_count(app: Flask, shelf: Program) -> None:
    words = "alpha beta gamma delta epsilon zeta eta theta iota"
    one, two = shelve(shelf, (f"{words} kappa.md", notes(1)[1]), (f"{words} lambda.md", notes(2)[1]))
    work_off(app)
    operation = _begin(shelf, action="tag", query=f"{words} lambda", tags=["a"])
    work_off(app)
    assert _tagged(shelf, "a") == {two} != {one}
    assert _seen(shelf, operation)["done"] == 1
    many = " ".join(f"w{first}{second}" for first in "abcdefgh" for second in "abcdefgh")
    assert shelf.post("/bulk", json={"action": "delete", "query": many}).status_code == 422
