"""The ops pages: what failed and why, and trying it again."""

from uuid import uuid4

import pytest
from flask import Flask
from sqlalchemy import event

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import services_of
from tests.web.work import failed, queued
from webapp.accounts.model import Org
from webapp.clock import new_id
from webapp.db import db, reading
from webapp.documents import events
from webapp.jobs.queue import NewJob
from webapp.web.ops import job_actions, job_pages

pytestmark = both_databases

NOTHING = {"retried": 0, "refused": 0, "unknown": 0, "more": False, "left_out": 0, "left_out_why": []}


def test_the_overview_tells_how_the_installation_does(app: Flask, ops: Program, operator: Browser) -> None:
    queued(app, ops.org_id)
    failed(app, ops.org_id)
    found = ops.get("/ops").json
    assert found is not None
    assert found["counts"] == {"PENDING": 1, "PROCESSING": 0, "COMPLETED": 0, "FAILED": 1, "CANCELLED": 0}
    assert found["oldest_due_seconds"] >= 0
    assert found["disk_free_bytes"] > 0
    assert (found["sandbox"], set(found["locks"])) == ("auto", {"files", "network", "limits", "strays", "calls"})
    roles = {provider["role"] for provider in found["providers"]}
    assert roles == {"blobs", "extraction", "embeddings", "speech", "analysis"}
    assert found["database"] in {"sqlite", "postgresql"}
    page = operator.get("/ops")
    assert page.status_code == 200
    assert "No worker is running" in page.text
    assert "Readers have no network" in page.text


def test_failed_jobs_come_first_with_their_errors(app: Flask, ops: Program, operator: Browser) -> None:
    work = failed(app, ops.org_id, "<b>bill</b>.pdf", "no answer <script>")
    queued(app, ops.org_id, "waiting.pdf")
    found = ops.get("/ops/jobs").json
    assert found is not None
    [job] = found["jobs"]
    assert (job["id"], job["document_id"], job["filename"]) == (
        str(work.job_id),
        str(work.document_id),
        "<b>bill</b>.pdf",
    )
    assert (job["status"], job["stage"], job["attempts"], job["max_attempts"]) == ("FAILED", "process_document", 1, 3)
    [error] = job["errors"]
    assert (error["attempt"], error["step"], error["exception"]) == (1, "extract", "TimedOut")
    assert job["failure"]["title"] == "It took too long"
    page = operator.get("/ops/jobs").text
    assert "&lt;b&gt;bill&lt;/b&gt;.pdf" in page
    assert "no answer &lt;script&gt;" in page
    assert "waiting.pdf" not in page
    assert "waiting.pdf" in operator.get("/ops/jobs?status=pending").text


def test_an_unknown_status_is_refused(ops: Program) -> None:
    assert ops.get("/ops/jobs?status=lost").status_code == 422
    assert ops.get("/ops/jobs?cursor=lost").status_code == 422
    assert ops.get("/ops/jobs?status=PENDING").status_code == 200
    assert ops.get("/ops/jobs?stage=gone_long_ago").status_code == 200
    assert ops.get("/ops/jobs?stage=%00").status_code == 422
    assert ops.post("/ops/jobs/retry", data={"stage": "\0"}).status_code == 422


def test_pages_of_jobs_go_on_where_the_last_ended(app: Flask, ops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_pages, "PAGE_SIZE", 2)
    ids = [str(failed(app, ops.org_id, f"{n}.pdf").job_id) for n in range(5)]
    seen: list[str] = []
    cursor: str | None = ""
    while cursor is not None:
        found = ops.get(f"/ops/jobs?cursor={cursor}").json
        assert found is not None
        seen += [job["id"] for job in found["jobs"]]
        cursor = found["next_cursor"]
    assert seen == list(reversed(ids))


def test_the_queries_of_a_page_do_not_grow_with_its_rows(app: Flask, ops: Program) -> None:
    failed(app, ops.org_id, "0.pdf")
    assert ops.get("/ops/jobs").status_code == 200
    few = _queries(app, ops)
    for n in range(1, 9):
        failed(app, ops.org_id, f"{n}.pdf")
    assert _queries(app, ops) == few


def _queries(app: Flask, ops: Program) -> int:
    statements: list[str] = []
    with app.app_context():
        engine = db.engine

    def note(connection: object, cursor: object, statement: str, *rest: object) -> None:
        statements.append(statement)

    event.listen(engine, "before_cursor_execute", note)
    assert ops.get("/ops/jobs").status_code == 200
    event.remove(engine, "before_cursor_execute", note)
    return len(statements)


def test_a_retry_is_a_new_run_that_knows_who_asked(app: Flask, ops: Program) -> None:
    work = failed(app, ops.org_id)
    answer = ops.post(f"/ops/jobs/{work.job_id}/retry")
    assert answer.status_code == 200
    assert answer.json is not None
    run_id = answer.json["run"]["id"]
    assert run_id != str(work.run_id)
    with app.app_context(), reading(ops.org_id):
        lines = events.timeline(ops.org_id, work.document_id)
    [line] = [line for line in lines if line.kind == "RETRY_REQUESTED"]
    assert (str(line.run_id), line.job_id) == (run_id, work.job_id)
    assert line.details is not None
    assert line.details["by"].startswith("token:")
    assert ops.get("/documents").json["documents"][0]["status"] == "PROCESSING"  # type: ignore[index]


def test_a_second_retry_is_refused(app: Flask, ops: Program, operator: Browser) -> None:
    work = failed(app, ops.org_id)
    assert ops.post(f"/ops/jobs/{work.job_id}/retry").status_code == 200
    again = ops.post(f"/ops/jobs/{work.job_id}/retry")
    assert (again.status_code, again.mimetype) == (409, "application/problem+json")
    page = operator.post(f"/ops/jobs/{work.job_id}/retry")
    assert page.status_code == 409
    assert "processed again since" in page.text


def test_only_a_failed_job_is_retried(app: Flask, ops: Program) -> None:
    assert ops.post(f"/ops/jobs/{queued(app, ops.org_id).job_id}/retry").status_code == 409
    assert ops.post(f"/ops/jobs/{uuid4()}/retry").status_code == 404


def test_a_person_is_led_back_and_htmx_swaps_the_row(app: Flask, operator: Browser) -> None:
    assert operator.org_id is not None
    first, second = failed(app, operator.org_id, "1.pdf"), failed(app, operator.org_id, "2.pdf")
    answer = operator.post(f"/ops/jobs/{first.job_id}/retry")
    assert (answer.status_code, answer.location) == (303, "/ops/jobs")
    row = operator.post(f"/ops/jobs/{second.job_id}/retry", headers=HX)
    assert row.status_code == 200
    assert row.text.count("<article") == 1
    assert f'id="job-{second.job_id}"' in row.text
    assert "2.pdf" in row.text


def test_all_that_failed_are_retried_at_once(app: Flask, ops: Program) -> None:
    works = [failed(app, ops.org_id, f"{n}.pdf") for n in range(3)]
    ops.post(f"/ops/jobs/{works[0].job_id}/retry")
    assert ops.post("/ops/jobs/retry").json == {**NOTHING, "retried": 2}
    assert ops.post("/ops/jobs/retry").json == NOTHING


def test_many_are_retried_in_portions(app: Flask, ops: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_actions, "RETRIED_AT_ONCE_MAX", 2)
    for n in range(3):
        failed(app, ops.org_id, f"{n}.pdf")
    assert ops.post("/ops/jobs/retry").json == {**NOTHING, "retried": 2, "more": True}
    assert ops.post("/ops/jobs/retry").json == {**NOTHING, "retried": 1}


def test_named_jobs_are_counted_by_what_became_of_them(app: Flask, people: People, ops: Program) -> None:
    mine, waiting = failed(app, ops.org_id), queued(app, ops.org_id)
    theirs = failed(app, people.org("Theirs"))
    ids = [str(one) for one in (mine.job_id, mine.job_id, waiting.job_id, theirs.job_id, uuid4())]
    expected = {**NOTHING, "retried": 1, "refused": 1, "unknown": 2}
    assert ops.post("/ops/jobs/retry", json={"ids": ids}).json == expected


def test_no_names_is_not_all(app: Flask, ops: Program) -> None:
    failed(app, ops.org_id)
    assert ops.post("/ops/jobs/retry", json={"ids": []}).json == NOTHING


@pytest.mark.parametrize(
    "body", ['{"jobs": []}', '["x"]', '"all"', '{"ids": ["x"]}', '{"ids": 7}', '{"ids": [', "null"]
)
def test_names_that_cannot_be_read_are_not_all(app: Flask, ops: Program, body: str) -> None:
    failed(app, ops.org_id)
    assert ops.post("/ops/jobs/retry", data=body, content_type="application/json").status_code == 422
    assert ops.post("/ops/jobs/cancel", data=body, content_type="application/json").status_code == 422
    assert ops.post("/ops/jobs/retry", content_type="application/json").json == {
        **NOTHING,
        "retried": 1,
    }


@pytest.mark.parametrize("path", ["/ops/jobs/retry", "/ops/jobs/cancel", "/ops/stages/analyze/limit"])
def test_json_that_is_nested_too_deeply_is_refused(ops: Program, path: str) -> None:
    answer = ops.post(path, data=100_000 * "[", content_type="application/json")
    assert answer.status_code == 400
    assert answer.json is not None
    assert answer.json["detail"] == "The JSON is nested too deeply."


def test_a_person_reads_what_became_of_it(app: Flask, operator: Browser) -> None:
    assert operator.org_id is not None
    for n in range(2):
        failed(app, operator.org_id, f"{n}.pdf")
    answer = operator.post("/ops/jobs/retry", follow_redirects=True)
    assert "2 jobs were queued again." in answer.text
    assert "No job needed to be queued again." in operator.post("/ops/jobs/retry", follow_redirects=True).text


def test_ops_sees_its_own_org_only(app: Flask, people: People, ops: Program) -> None:
    theirs = failed(app, people.org("Theirs"), "secret.pdf")
    found = ops.get("/ops/jobs").json
    assert found is not None
    assert found["jobs"] == []
    assert found["counts"]["FAILED"] == 0
    overview = ops.get("/ops").json
    assert overview is not None
    assert overview["counts"]["FAILED"] == 0
    assert ops.post(f"/ops/jobs/{theirs.job_id}/retry").status_code == 404
    assert ops.post("/ops/jobs/retry").json == NOTHING
    assert ops.get(f"/ops/jobs?cursor={theirs.job_id}").status_code == 200


def test_a_job_of_an_operation_is_shown_under_its_stage(app: Flask, ops: Program, operator: Browser) -> None:
    queue = services_of(app).queue
    with app.app_context():
        queue.enqueue([NewJob(ops.org_id, None, "test_operation", max_attempts=1, operation_id=new_id())])
    found = ops.get("/ops/jobs?status=pending").json
    assert found is not None
    [shown] = found["jobs"]
    assert (shown["stage"], shown["document_id"], shown["run_id"]) == ("test_operation", None, None)
    page = operator.get("/ops/jobs?status=pending")
    assert page.status_code == 200
    assert "test_operation" in page.text
    with app.app_context(), reading(everywhere=True) as session:
        org = session.get_one(Org, ops.org_id)
    listed = app.test_cli_runner().invoke(args=["jobs", "list", "--status", "pending", "--org", org.name])
    assert "test_operation\t0/1\t-" in listed.output
