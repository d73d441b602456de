"""Failures for ops: grouped by error, retried where that can help, discarded and restored, and gone once healed."""

from uuid import UUID, uuid4

import pytest
from flask import Flask
from sqlalchemy import select

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import services_of
from tests.web.work import claim, failed, queued
from webapp.db import reading
from webapp.documents.states import FailureType, RunTrigger
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError
from webapp.runs import lifecycle, time_limit

pytestmark = both_databases


def _open(ops: Program) -> list[str]:
    """The ids of the open failures; the numbers beside them agree."""
    found = ops.get("/ops/jobs").json
    assert found is not None
    ids = [job["id"] for job in found["jobs"]]
    assert found["counts"]["FAILED"] == len(ids) == sum(group["count"] for group in found["groups"])
    return ids


def _fail_again(app: Flask, org_id: UUID, document_id: UUID, code: str = "timed_out") -> None:
    """The newest run of a document fails at once."""
    queue = services_of(app).queue
    with app.app_context():
        with reading(org_id) as session:
            waiting = session.scalars(select(Job.id).where(Job.document_id == document_id, Job.status == "PENDING"))
            job_id = waiting.one()
        lifecycle.fail_run(queue, claim(queue, job_id), FailureType.STEP_FAILED, JobError(code, "again"))


def test_retry_all_never_makes_the_count_grow(app: Flask, ops: Program) -> None:
    works = [failed(app, ops.org_id, f"{n}.pdf") for n in range(3)]
    for _ in range(2):
        assert len(_open(ops)) == 3
        assert ops.post("/ops/jobs/retry").json["retried"] == 3  # type: ignore[index] # it is a JSON answer
        assert _open(ops) == []
        for work in works:
            _fail_again(app, ops.org_id, work.document_id)
    assert len(_open(ops)) == 3
    history = ops.get("/ops/jobs?resolution=retried").json
    assert history is not None
    assert len(history["jobs"]) == 6
    assert history["resolved"] == {"RETRIED": 6, "SUPERSEDED": 0, "DISCARDED": 0}
    assert {job["resolved_by"] for job in history["jobs"]} == {"token “tests”"}


def test_a_failure_that_a_later_run_heals_leaves_the_list(app: Flask, ops: Program) -> None:
    work = failed(app, ops.org_id)
    queue = services_of(app).queue
    with app.app_context():
        lifecycle.queue_run(queue, ops.org_id, work.document_id, RunTrigger.REPROCESS, max_attempts=1)
    assert _open(ops) == []
    [job] = ops.get("/ops/jobs?resolution=superseded").json["jobs"]  # type: ignore[index] # it is a JSON answer
    assert (job["id"], job["status"], job["resolution"]) == (str(work.job_id), "FAILED", "SUPERSEDED")


def test_a_run_that_fails_while_a_newer_one_waits_leaves_no_open_failure(app: Flask, ops: Program) -> None:
    work = queued(app, ops.org_id)
    queue = services_of(app).queue
    with app.app_context():
        lease = claim(queue, work.job_id)
        newer = lifecycle.queue_run(queue, ops.org_id, work.document_id, RunTrigger.REPROCESS, max_attempts=1)
        lifecycle.fail_run(queue, lease, FailureType.STEP_FAILED, JobError("timed_out", "late"))
    assert _open(ops) == []
    _fail_again(app, ops.org_id, work.document_id)
    [job_id] = _open(ops)
    assert job_id != str(work.job_id)
    assert ops.get(f"/ops/jobs/{job_id}").json["run_id"] == str(newer)  # type: ignore[index] # it is a JSON answer


def test_a_run_that_is_timed_out_or_lost_is_a_failure_with_its_code(app: Flask, ops: Program) -> None:
    first, second = queued(app, ops.org_id, "late.pdf"), queued(app, ops.org_id, "lost.pdf")
    queue = services_of(app).queue
    with app.app_context():
        lease = claim(queue, first.job_id)
        assert lease.run is not None
        assert time_limit.time_out_run(queue, lease.run, 100)
        for _ in range(3):
            claim(queue, second.job_id)
            lifecycle.reset_worker(queue, "tests")
    groups = ops.get("/ops/jobs").json["groups"]  # type: ignore[index] # it is a JSON answer
    assert {group["code"]: group["count"] for group in groups} == {"run_timed_out": 1, "worker_died": 1}


def test_failures_are_grouped_by_stage_and_error(app: Flask, ops: Program, operator: Browser) -> None:
    for n in range(3):
        failed(app, ops.org_id, f"{n}.pdf", code="corrupt")
    failed(app, ops.org_id, "slow.pdf")
    groups = ops.get("/ops/jobs").json["groups"]  # type: ignore[index] # it is a JSON answer
    assert [(group["stage"], group["code"], group["count"], group["may_pass"]) for group in groups] == [
        ("process_document", "corrupt", 3, False),
        ("process_document", "timed_out", 1, True),
    ]
    page = operator.get("/ops/jobs").text
    assert "The file is damaged" in page
    assert "trying again can\u2019t help" in page
    found = ops.get("/ops/jobs?stage=process_document&code=corrupt").json
    assert found is not None
    assert {job["filename"] for job in found["jobs"]} == {"0.pdf", "1.pdf", "2.pdf"}
    assert ops.get("/ops/jobs?code=%00").status_code == 422


def test_retry_all_leaves_out_what_trying_again_cannot_help_and_says_so(
    app: Flask, ops: Program, operator: Browser
) -> None:
    damaged = [failed(app, ops.org_id, f"{n}.pdf", code="corrupt") for n in range(2)]
    failed(app, ops.org_id, "slow.pdf")
    told = operator.post("/ops/jobs/retry", follow_redirects=True).text
    assert (
        "1 job was queued again. 2 were left out, since trying again can\u2019t help: The file is damaged (2)." in told
    )
    done = ops.post("/ops/jobs/retry").json
    assert done is not None
    assert (done["retried"], done["left_out"]) == (0, 2)
    assert [group["code"] for group in done["left_out_why"]] == ["corrupt"]
    assert set(_open(ops)) == {str(work.job_id) for work in damaged}
    # Who names the error means it.
    answer = ops.post("/ops/jobs/retry", json={"stage": "process_document", "code": "corrupt"}).json
    assert answer is not None
    assert (answer["retried"], answer["left_out"]) == (2, 0)


def test_a_discarded_failure_says_who_and_when_and_can_be_restored(app: Flask, ops: Program, operator: Browser) -> None:
    work = failed(app, ops.org_id)
    row = operator.post(f"/ops/jobs/{work.job_id}/discard", headers=HX)
    assert row.status_code == 200
    assert "Discarded" in row.text
    assert "op@example.org" in row.text
    assert _open(ops) == []
    [job] = ops.get("/ops/jobs?resolution=discarded").json["jobs"]  # type: ignore[index] # it is a JSON answer
    assert (job["resolved_by"], job["status"]) == ("op@example.org", "FAILED")
    assert job["resolved_at"]
    assert operator.post(f"/ops/jobs/{work.job_id}/discard").status_code == 409
    assert operator.post(f"/ops/jobs/{work.job_id}/restore").status_code == 303
    assert _open(ops) == [str(work.job_id)]
    assert operator.post(f"/ops/jobs/{work.job_id}/restore").status_code == 409
    actions = [entry["action"] for entry in ops.get("/ops/security").json["entries"]]  # type: ignore[index] # JSON
    assert [action for action in actions if action.startswith("jobs_")] == ["jobs_restored", "jobs_discarded"]
    assert ops.post(f"/ops/jobs/{work.job_id}/retry").status_code == 200


def test_what_was_processed_again_meanwhile_does_not_come_back(app: Flask, ops: Program) -> None:
    work = failed(app, ops.org_id)
    assert ops.post(f"/ops/jobs/{work.job_id}/discard").status_code == 200
    with app.app_context():
        queue = services_of(app).queue
        lifecycle.queue_run(queue, ops.org_id, work.document_id, RunTrigger.REPROCESS, max_attempts=1)
    assert ops.post(f"/ops/jobs/{work.job_id}/restore").status_code == 200
    assert _open(ops) == []
    assert ops.get(f"/ops/jobs/{work.job_id}").json["resolution"] == "SUPERSEDED"  # type: ignore[index] # JSON


def test_a_whole_error_is_discarded_and_what_was_selected(app: Flask, ops: Program, operator: Browser) -> None:
    damaged = [failed(app, ops.org_id, f"{n}.pdf", code="corrupt") for n in range(2)]
    slow = failed(app, ops.org_id, "slow.pdf")
    told = operator.post("/ops/jobs/discard", data={"stage": "process_document", "code": "corrupt"})
    assert told.status_code == 303
    assert _open(ops) == [str(slow.job_id)]
    assert ops.post("/ops/jobs/discard", json={"ids": [str(slow.job_id), str(uuid4())]}).json == {
        "discarded": 1,
        "more": False,
    }
    assert _open(ops) == []
    ids = [str(work.job_id) for work in damaged]
    assert ops.post("/ops/jobs/restore", json={"ids": ids}).json == {"restored": 2}
    assert set(_open(ops)) == set(ids)


@pytest.mark.parametrize("body", [{}, {"stage": "process_document"}, {"code": "corrupt"}, {"ids": ["x"]}, {"all": 1}])
def test_nothing_named_discards_nothing(app: Flask, ops: Program, operator: Browser, body: dict[str, object]) -> None:
    work = failed(app, ops.org_id)
    assert ops.post("/ops/jobs/discard", json=body).status_code == 422
    assert operator.post("/ops/jobs/discard", data={"selected": "1"}).status_code == 303
    assert _open(ops) == [str(work.job_id)]


def test_another_orgs_failures_are_neither_shown_nor_changed(app: Flask, people: People, ops: Program) -> None:
    theirs = people.org("Theirs")
    work = failed(app, theirs, "secret.pdf")
    assert ops.get(f"/ops/jobs/{work.job_id}").status_code == 404
    for action in ("discard", "restore", "retry", "cancel"):
        assert ops.post(f"/ops/jobs/{work.job_id}/{action}").status_code == 404
    assert ops.post("/ops/jobs/discard", json={"ids": [str(work.job_id)]}).json == {"discarded": 0, "more": False}
    everything = {"stage": "process_document", "code": "timed_out"}
    assert ops.post("/ops/jobs/discard", json=everything).json == {"discarded": 0, "more": False}
    for q in (work.job_id, work.run_id, work.document_id, "secret"):
        assert ops.get(f"/ops/jobs?q={q}").json["jobs"] == []  # type: ignore[index] # it is a JSON answer


def test_a_job_has_a_page(app: Flask, ops: Program, operator: Browser) -> None:
    work = failed(app, ops.org_id, "<i>bill</i>.pdf", "no answer <script>")
    found = ops.get(f"/ops/jobs/{work.job_id}").json
    assert found is not None
    assert (found["filename"], found["status"], found["error_code"]) == ("<i>bill</i>.pdf", "FAILED", "timed_out")
    assert (found["run"]["id"], found["run"]["state"]) == (str(work.run_id), "FAILED")
    assert found["errors"][0]["worker"] == "tests"
    assert (found["payload"], found["checkpoint"], found["locked_by"]) == ({}, {}, None)
    assert "RUN_FAILED" in {event["kind"] for event in found["events"]}
    page = operator.get(f"/ops/jobs/{work.job_id}").text
    assert "&lt;i&gt;bill&lt;/i&gt;.pdf" in page
    assert "no answer &lt;script&gt;" in page
    assert str(work.run_id) in page
    assert ops.get(f"/ops/jobs/{uuid4()}").status_code == 404


def test_the_page_of_a_running_job_names_its_worker(app: Flask, ops: Program, operator: Browser) -> None:
    work = queued(app, ops.org_id)
    with app.app_context():
        claim(services_of(app).queue, work.job_id)
    found = ops.get(f"/ops/jobs/{work.job_id}").json
    assert found is not None
    assert (found["status"], found["locked_by"]) == ("PROCESSING", "tests")
    assert found["heartbeat_at"]
    assert "Lease of worker" in operator.get(f"/ops/jobs/{work.job_id}").text


def test_jobs_are_found_by_name_and_by_id_whatever_their_state(app: Flask, ops: Program, operator: Browser) -> None:
    bill, letter = failed(app, ops.org_id, "bill-2024.pdf"), queued(app, ops.org_id, "letter.pdf")
    for q, expected in {
        "bill": [bill],
        "2024": [bill],
        "letter": [letter],
        str(bill.job_id): [bill],
        str(letter.run_id): [letter],
        f" {letter.document_id} ": [letter],
        "nothing": [],
        str(uuid4()): [],
        "\0": [],
    }.items():
        found = ops.get("/ops/jobs", query_string={"q": q}).json
        assert found is not None
        assert [job["id"] for job in found["jobs"]] == [str(work.job_id) for work in expected], q
    assert "No job was found" in operator.get("/ops/jobs?q=nothing").text
    assert "letter.pdf" in operator.get("/ops/jobs?q=letter").text
