"""The levers of ops: stages are paused, limited, resumed; everything is stopped; runs are cancelled."""

from dataclasses import replace
from io import BytesIO
from uuid import UUID

import pytest
from flask import Flask
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from tests.bare import changed
from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import counted_queries, notes, read_json, services_of, shelve, use_hashed_words, work_off
from tests.web.work import failed, queued
from webapp.clock import new_id
from webapp.db import reading
from webapp.documents import events
from webapp.jobs.controls import EVERY_STAGE
from webapp.jobs.queue import JobSnapshot
from webapp.jobs.states import JobStatus, Priority
from webapp.runs.stages import PROCESS_DOCUMENT, STAGES


def stage_of(ops: Program, name: str = PROCESS_DOCUMENT) -> dict[str, object]:
    stages = read_json(ops.get("/ops"))["stages"]
    (found,) = [stage for stage in stages if stage["stage"] == name]
    return dict(found)


def claimed(app: Flask) -> int:
    with app.app_context():
        return len(services_of(app).queue.claim("tests", 10))


# Stages.


@both_databases
def test_every_stage_is_shown_with_its_numbers(app: Flask, ops: Program, people: People) -> None:
    queued(app, ops.org_id)
    failed(app, ops.org_id)
    queued(app, people.org("Theirs"))
    found = read_json(ops.get("/ops"))
    assert [stage["stage"] for stage in found["stages"]][: len(STAGES)] == list(STAGES)
    assert found["is_drained"] is False
    stage = stage_of(ops)
    assert (stage["state"], stage["due"], stage["failed"], stage["limit"]) == ("open", 1, 1, None)
    assert stage["at_work"] == stage["processing"] == 0


@both_databases
def test_a_pause_holds_for_everybody_and_says_who(app: Flask, people: People) -> None:
    ops = people.program("operator")
    queued(app, ops.org_id)
    queued(app, people.org("Theirs"))
    answer = read_json(ops.post(f"/ops/stages/{PROCESS_DOCUMENT}/pause"))
    assert (answer["stage"], answer["is_paused"]) == (PROCESS_DOCUMENT, True)
    assert claimed(app) == 0
    stage = stage_of(ops)
    assert (stage["state"], stage["changed_by"]) == ("paused", "token “tests”")
    [line] = read_json(ops.get("/ops/security?action=stage_paused"))["entries"]
    assert (line["actor"]["kind"], line["actor"]["name"], line["target"]) == (
        "token",
        "tests",
        f"stage:{PROCESS_DOCUMENT}",
    )
    assert read_json(ops.post(f"/ops/stages/{PROCESS_DOCUMENT}/resume"))["is_paused"] is False
    assert claimed(app) == 2


def test_a_refused_key_is_shown_with_its_reason(app: Flask, ops: Program, operator: Browser) -> None:
    with app.app_context():
        services_of(app).queue.pause(PROCESS_DOCUMENT, "credentials_refused")
    stage = stage_of(ops)
    assert (stage["state"], stage["reason"]) == ("paused", "credentials_refused")
    page = operator.get("/ops").text
    assert "A service refused our key" in page
    assert f'action="/ops/stages/{PROCESS_DOCUMENT}/resume"' in page


def test_a_stage_that_rests_says_for_how_long(app: Flask, ops: Program, operator: Browser) -> None:
    with app.app_context():
        services_of(app).queue.slow(PROCESS_DOCUMENT, 90)
    stage = stage_of(ops)
    assert stage["state"] == "resting"
    assert 80 < float(str(stage["rests_seconds"])) <= 90
    assert "asked for patience" in operator.get("/ops").text
    ops.post(f"/ops/stages/{PROCESS_DOCUMENT}/resume")
    assert stage_of(ops)["state"] == "open"


def test_limits_are_set_and_left_to_the_settings_again(app: Flask, ops: Program, operator: Browser) -> None:
    for _ in range(3):
        queued(app, ops.org_id)
    path = f"/ops/stages/{PROCESS_DOCUMENT}/limit"
    assert read_json(ops.post(path, json={"limit": 2}))["limit"] == 2
    assert claimed(app) == 2
    page = operator.get("/ops").text
    assert "2 of 2 running" in page
    answer = operator.post(path, {"limit": ""}, follow_redirects=True)
    assert "Process document: no limit." in answer.text
    assert claimed(app) == 1


@pytest.mark.parametrize("limit", ["0", "-1", "four", "1.5", "99999999999", "²"])
def test_a_limit_that_is_none_is_refused(ops: Program, limit: str) -> None:
    assert ops.post(f"/ops/stages/{PROCESS_DOCUMENT}/limit", json={"limit": limit}).status_code == 422
    assert ops.post(f"/ops/stages/{PROCESS_DOCUMENT}/limit", data={"limit": limit}).status_code == 422
    assert stage_of(ops)["limit"] is None


@pytest.mark.parametrize("stage", ["brew_coffee", EVERY_STAGE])
@pytest.mark.parametrize("lever", ["pause", "resume", "limit"])
def test_a_stage_that_is_none_is_unknown(ops: Program, stage: str, lever: str) -> None:
    assert ops.post(f"/ops/stages/{stage}/{lever}", json={"limit": 1}).status_code == 404


def test_everything_is_stopped_and_goes_on(app: Flask, ops: Program, operator: Browser) -> None:
    queued(app, ops.org_id)
    assert "Stop taking new work" in operator.get("/ops").text
    page = operator.post("/ops/pause", follow_redirects=True).text
    assert "Paused: no new jobs start" in page
    assert "by op@example.org" in page
    assert read_json(ops.get("/ops"))["is_drained"] is True
    assert claimed(app) == 0
    assert "Resumed." in operator.post("/ops/resume", follow_redirects=True).text
    assert claimed(app) == 1


def test_the_poll_brings_what_changes_and_leaves_the_fields_alone(app: Flask, operator: Browser) -> None:
    part = operator.get("/ops", headers=HX).text
    assert part.count('id="ops-live"') == 1
    assert part.count("hx-swap-oob") == len(STAGES) + 1
    assert "<html" not in part
    assert 'name="limit"' not in part
    assert 'hx-trigger="load delay:10s, poll"' in operator.get("/ops").text


@both_databases
def test_the_overviews_queries_do_not_grow_with_its_rows(app: Flask, ops: Program) -> None:
    queued(app, ops.org_id)
    ops.get("/ops")
    with counted_queries(app) as few:
        ops.get("/ops")
    for _ in range(5):
        queued(app, ops.org_id)
    with counted_queries(app) as many:
        ops.get("/ops")
    assert len(many) == len(few)


# Jobs.


@both_databases
def test_jobs_are_shown_by_stage(app: Flask, ops: Program, operator: Browser) -> None:
    failed(app, ops.org_id, "a.pdf")
    assert len(read_json(ops.get(f"/ops/jobs?stage={PROCESS_DOCUMENT}"))["jobs"]) == 1
    assert read_json(ops.get("/ops/jobs?stage=analyze"))["jobs"] == []
    assert f'<option value="{PROCESS_DOCUMENT}" selected>' in operator.get(f"/ops/jobs?stage={PROCESS_DOCUMENT}").text


def test_ops_cancels_one_job(app: Flask, ops: Program, operator: Browser) -> None:
    work, other = queued(app, ops.org_id, "a.pdf"), queued(app, ops.org_id, "b.pdf")
    assert read_json(ops.post(f"/ops/jobs/{work.job_id}/cancel"))["job"]["status"] == "CANCELLED"
    assert ops.post(f"/ops/jobs/{work.job_id}/cancel").status_code == 409
    assert ops.post(f"/ops/jobs/{new_id()}/cancel").status_code == 404
    row = operator.post(f"/ops/jobs/{other.job_id}/cancel", headers=HX)
    assert "Cancelled" in row.text
    assert row.text.count("<article") == 1
    assert claimed(app) == 0


@both_databases
def test_selected_jobs_are_cancelled_and_no_others(app: Flask, ops: Program, operator: Browser) -> None:
    first, second, third = (queued(app, ops.org_id, f"{n}.pdf") for n in range(3))
    page = operator.get("/ops/jobs?status=pending").text
    assert page.count('form="selection"') == 3
    form = {"selected": "1", "status": "pending", "ids": [str(first.job_id), str(second.job_id)]}
    answer = operator.post("/ops/jobs/cancel", form)
    assert (answer.status_code, answer.location) == (303, "/ops/jobs?status=pending")
    assert "2 jobs were cancelled." in operator.get(answer.location).text
    assert third.job_id in {job.id for job in jobs_in(app, ops, JobStatus.PENDING)}
    assert "Nothing was selected." in operator.post("/ops/jobs/cancel", {"selected": "1"}, follow_redirects=True).text
    assert read_json(ops.post("/ops/jobs/cancel")) == {"cancelled": 0, "refused": 0, "unknown": 0}
    ids = [str(first.job_id), str(third.job_id), str(new_id())]
    assert read_json(ops.post("/ops/jobs/cancel", json={"ids": ids})) == {"cancelled": 1, "refused": 1, "unknown": 1}


def test_selected_jobs_are_retried_after_a_person_who_waits(app: Flask, ops: Program, operator: Browser) -> None:
    works = [failed(app, ops.org_id, f"{n}.pdf") for n in range(3)]
    form = {"selected": "1", "status": "failed"}
    assert "Nothing was selected." in operator.post("/ops/jobs/retry", form, follow_redirects=True).text
    ids = [str(work.job_id) for work in works[:2]]
    assert (
        "2 jobs were queued again."
        in operator.post("/ops/jobs/retry", {**form, "ids": ids}, follow_redirects=True).text
    )
    ops.post(f"/ops/jobs/{works[2].job_id}/retry")
    found = sorted(job.priority for job in jobs_in(app, ops, JobStatus.PENDING))
    assert found == [Priority.PERSON, Priority.BULK, Priority.BULK]


def jobs_in(app: Flask, ops: Program, status: JobStatus) -> list[JobSnapshot]:
    with app.app_context(), reading(ops.org_id):
        return services_of(app).queue.find(ops.org_id, status)


# Runs.


def test_everybody_who_may_write_cancels_a_run(app: Flask, program: Program, browser: Browser) -> None:
    [document_id] = shelve(program, notes(1))
    run_id = read_json(program.get(f"/documents/{document_id}/status"))["run"]["id"]
    assert f"/runs/{run_id}/cancel" in browser.get(f"/documents/{document_id}").text
    assert f"/runs/{run_id}/cancel" in browser.get(f"/documents/{document_id}/runs").text
    answer = program.post(f"/documents/{document_id}/runs/{run_id}/cancel")
    assert answer.status_code == 200
    body = read_json(answer)
    assert (body["status"], body["run"]["state"], body["error"]["code"]) == ("FAILED", "CANCELLED", "cancelled")
    assert program.post(f"/documents/{document_id}/runs/{run_id}/cancel").status_code == 409
    assert program.post(f"/documents/{document_id}/runs/{new_id()}/cancel").status_code == 404
    with app.app_context(), reading(program.org_id):
        line = events.timeline(program.org_id, UUID(document_id))[-1]
    assert line.kind == "RUN_CANCELLED"
    assert line.details is not None
    assert line.details["by"].startswith("token:")
    page = browser.get(f"/documents/{document_id}/runs").text
    assert "Cancelled" in page
    assert "by token “tests”" in page


def test_a_run_of_another_document_is_not_cancelled_under_this_ones_name(program: Program) -> None:
    first, second = shelve(program, notes(1), notes(2))
    run_id = read_json(program.get(f"/documents/{second}/status"))["run"]["id"]
    assert program.post(f"/documents/{first}/runs/{run_id}/cancel").status_code == 404
    assert read_json(program.get(f"/documents/{second}/status"))["run"]["state"] == "QUEUED"


@both_databases
def test_what_was_ready_stays_ready_and_the_next_run_goes(app: Flask, program: Program, browser: Browser) -> None:
    use_hashed_words(app)
    [document_id] = shelve(program, notes(1))
    work_off(app)
    first = read_json(program.post(f"/documents/{document_id}/reprocess"))["run"]["id"]
    second = read_json(program.post(f"/documents/{document_id}/reprocess"))["run"]["id"]
    part = browser.post(f"/documents/{document_id}/runs/{first}/cancel", headers=HX)
    assert part.headers["HX-Trigger"] == "document-changed"
    assert 'id="live"' in part.text
    work_off(app)
    states = {run["id"]: run["state"] for run in read_json(program.get(f"/documents/{document_id}/runs"))["runs"]}
    assert (states[first], states[second]) == ("CANCELLED", "SUCCEEDED")
    third = read_json(program.post(f"/documents/{document_id}/reprocess"))["run"]["id"]
    assert browser.post(f"/documents/{document_id}/runs/{third}/cancel").status_code == 303
    assert read_json(program.get(f"/documents/{document_id}/status"))["status"] == "READY"


# Who goes first.


@pytest.mark.parametrize(
    ("query", "number", "priority"),
    [
        ("", 3, Priority.PERSON),
        ("", 4, Priority.BULK),
        ("?bulk=1", 1, Priority.BULK),
        ("?bulk=0", 1, Priority.PERSON),
    ],
)
def test_many_files_at_once_wait_behind_a_person(
    app: Flask, ops: Program, query: str, number: int, priority: int
) -> None:
    found = services_of(app)
    app.extensions["docmill"] = replace(found, settings=changed(found.settings, "queue", bulk_upload_files=3))
    boundary, body = encode_multipart(
        {"file": [FileStorage(BytesIO(content), name) for name, content in map(notes, range(number))]}
    )
    kind = f"multipart/form-data; boundary={boundary}"
    assert ops.post(f"/documents{query}", data=body, content_type=kind).status_code == 200
    assert {job.priority for job in jobs_in(app, ops, JobStatus.PENDING)} == {priority}
