"""The protocol for programs that work off a stage: every call, repeated calls and lost leases."""

import hashlib
import json
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.http_worker import EXTRACTION, Place, place_of
from tests.web.shelves import read_json, services_of, shelve, work_off
from tests.worker.bench import wait_for
from webapp.clock import after
from webapp.jobs.queue import LeaseLost
from webapp.pipeline.http_workers import job as work
from webapp.runs import lifecycle
from webapp.worker.chores import reset_gone, reset_silent, reset_silent_http
from webapp.worker.worker_table import Registration

pytestmark = both_databases


@pytest.fixture
def place(app: Flask) -> Place:
    return place_of(app)


def test_a_stage_is_worked_off_from_claim_to_complete(place: Place) -> None:
    document_id = place.upload()
    (job,) = place.claim()
    assert (job["stage"], job["attempt"], job["document"]["id"]) == ("process_document", 1, document_id)
    assert place.status(document_id) == "PROCESSING"
    original = place.send("GET", job["inputs"]["original"])
    assert original.data == b"Wheat is ground between stones.\n"
    assert read_json(place.call(job, "heartbeat", {"progress": 0.5})) == {"stop": None}
    body = json.dumps(EXTRACTION).encode()
    stored = read_json(place.put(job, body))
    assert stored == {"kind": "extraction", "sha256": hashlib.sha256(body).hexdigest(), "size_bytes": len(body)}
    assert read_json(place.call(job, "complete")) == {"status": "COMPLETED", "next_stage": "index"}

    work_off(place.app)

    assert place.status(document_id) == "READY"
    assert "# A mill" in place.member.get(f"/documents/{document_id}/markdown").text
    assert [one.stage for one in place.jobs()] == ["process_document", "index", "detect_connections"]
    steps = [step for kind, step in place.events() if kind == "STEP_STARTED"]
    assert steps == ["extracting", "saving_markdown", "chunking", "embedding", "publishing", "connecting"]


def test_the_bar_grows_and_the_steps_are_the_documents_own(place: Place) -> None:
    document_id = place.upload()
    (job,) = place.claim()
    place.call(job, "heartbeat", {"progress": 0.5})
    seen = [read_json(place.member.get(f"/documents/{document_id}/status"))["progress"]]
    place.put(job)
    place.call(job, "complete")
    found = read_json(place.member.get(f"/documents/{document_id}/status"))
    seen.append(found["progress"])
    assert 0 < seen[0] < seen[1] < 1
    page = place.people.browser("member").get(f"/documents/{document_id}").text
    assert "Read the sound" not in page


@pytest.mark.parametrize(
    ("call", "body"),
    [("complete", None), ("fail", {"message": "it broke"}), ("release", None), ("checkpoint", {"a": 1})],
)
def test_a_call_whose_answer_was_lost_is_repeated_with_the_same_answer(place: Place, call: str, body: Any) -> None:
    job = place.job()
    place.put(job)
    first = place.call(job, call, body)
    assert first.status_code == 200, first.text
    before = [(one.stage, one.status, one.attempts) for one in place.jobs()], place.events()
    second = place.call(job, call, body)
    assert (second.status_code, second.json) == (200, first.json)
    assert ([(one.stage, one.status, one.attempts) for one in place.jobs()], place.events()) == before


def test_a_stage_that_no_worker_takes_is_shown_as_such(place: Place) -> None:
    document_id, ops = place.upload(), place.people.program("ops")

    def shown() -> tuple[str | None, bool, bool]:
        status = read_json(place.member.get(f"/documents/{document_id}/status"))
        marked = {row["stage"]: row["is_untaken"] for row in read_json(ops.get("/ops"))["stages"]}
        return status["waits_for"], marked["process_document"], marked["index"]

    def alive(*registrations: Registration) -> bool:
        with place.app.app_context():
            for registration in registrations:
                registration.report()
        return True

    person = place.people.browser("ops")
    one, other = Registration(1, ("index",)), Registration(1)
    assert shown() == (None, False, False), "without any worker it is not about stages"
    alive(one)
    assert shown() == ("worker", True, False)
    for path, words in (
        ("/ops", "No worker takes this stage"),
        ("/", "Waiting for the program that does this step"),
    ):
        # It is alive for a moment only, which a slow page may exceed.
        wait_for(lambda: alive(one) and words in person.get(path).text, words)  # noqa: B023 - called at once
    alive(one, other)
    assert shown() == (None, False, False)


def test_each_attempt_has_its_line_in_the_timeline(place: Place) -> None:
    job = place.job()
    place.call(job, "release")
    (again,) = place.claim()
    place.put(again)
    place.call(again, "complete")
    lines = [kind for kind, step in place.events() if step == "extracting"]
    assert lines == ["STEP_STARTED", "STEP_STARTED", "STEP_SUCCEEDED"]


def test_a_job_that_is_cancelled_at_its_claim_is_not_handed_out(place: Place) -> None:
    job = place.job()
    with place.app.app_context():
        services = services_of(place.app)
        lease = services.queue.held(UUID(job["id"]), UUID(job["lease_id"]), "http/")
        assert lease is not None
        lifecycle.cancel_job(services.queue, place.worker.org_id, lease.job_id)
        with pytest.raises(LeaseLost):
            work._begun(services, replace(lease, checkpoint={}))


def test_the_end_of_a_lease_is_no_answer_to_another_call(place: Place) -> None:
    job = place.job()
    place.put(job)
    place.call(job, "release")
    for call in ("complete", "fail", "checkpoint"):
        answer = place.call(job, call, {"message": "x"})
        assert (answer.status_code, read_json(answer)["reason"]) == (409, "lease_lost")
    assert place.put(job).status_code == 409
    assert place.send("GET", job["inputs"]["original"]).status_code == 409
    assert read_json(place.call(job, "heartbeat")) == {"stop": "lease_lost"}


def test_a_claim_whose_answer_was_lost_is_repeated_with_the_same_jobs(place: Place) -> None:
    for number in range(3):
        place.upload(b"number %d" % number, f"{number}.txt")
    claim_id = str(uuid4())
    first = place.claim(claim_id=claim_id, limit=2)
    started = [kind for kind, _ in place.events()].count("STEP_STARTED")
    again = place.claim(claim_id=claim_id, limit=2)
    assert sorted(job["lease_id"] for job in again) == sorted(job["lease_id"] for job in first)
    assert len(first) == 2
    assert [kind for kind, _ in place.events()].count("STEP_STARTED") == started == 2
    (other,) = place.claim(claim_id=str(uuid4()), limit=2)
    assert other["lease_id"] not in {job["lease_id"] for job in first}


def test_who_lost_the_lease_writes_nothing(place: Place) -> None:
    job = place.job()
    place.change(lease_id=uuid4(), locked_by="somebody else")
    before = place.jobs()[0].checkpoint, place.events()
    calls = [place.call(job, name, {"message": "x"}) for name in ("complete", "fail", "release", "checkpoint")]
    assert [answer.status_code for answer in [*calls, place.put(job)]] == [409] * 5
    assert (place.jobs()[0].checkpoint, place.events()) == before


def test_a_crash_loses_nothing_that_was_saved(place: Place) -> None:
    job = place.job()
    # Embedded, a job has one attempt.
    place.change(max_attempts=3)
    assert job["checkpoint"] is None
    value = {"page": 7, "text": "a\x00b ü"}
    assert place.call(job, "checkpoint", value).status_code == 200
    body = json.dumps(EXTRACTION).encode()
    place.put(job, body)
    place.change(heartbeat_at=after(-3600))
    with place.app.app_context():
        assert reset_silent(services_of(place.app)) == 0
        assert reset_silent_http(services_of(place.app)) == 1
    place.change(wakes_at=None)
    (again,) = place.claim()
    assert (again["attempt"], again["checkpoint"]) == (2, value)
    assert again["result"]["sha256"] == hashlib.sha256(body).hexdigest()
    assert place.call(again, "complete").status_code == 200
    work_off(place.app)
    assert {one.status for one in place.jobs()} == {"COMPLETED"}


def test_a_program_that_sends_heartbeats_keeps_its_job(place: Place) -> None:
    job = place.job()
    place.change(heartbeat_at=after(-3600))
    assert read_json(place.call(job, "heartbeat")) == {"stop": None}
    with place.app.app_context():
        assert reset_silent_http(services_of(place.app)) == 0
        # Embedded, the jobs of other processes are taken back; a program over HTTP is none of those.
        assert reset_gone(services_of(place.app), only_worker="host:1:a") == 0
    assert place.put(job).status_code == 200


def test_a_worker_of_our_own_is_not_taken_for_a_program(place: Place) -> None:
    place.upload()
    services = services_of(place.app)
    with place.app.app_context():
        (lease,) = services.queue.claim("host:1:a")
        place.change(heartbeat_at=after(-3600))
        assert reset_silent_http(services) == 0
        assert services.queue.heartbeat([lease]) == {lease.job_id}


def test_a_failure_counts_an_attempt_and_a_permanent_one_ends_the_run(place: Place) -> None:
    place.change()
    document_id = place.upload()
    (job,) = place.claim()
    if job["attempts_max"] == 1:
        place.change(max_attempts=3)
    failed = place.call(job, "fail", {"message": "the model was away", "retry_after_seconds": 3600})
    assert read_json(failed) == {"status": "PENDING"}
    (row,) = place.jobs()
    assert (row.status, row.attempts, row.error_log[-1]["code"]) == ("PENDING", 1, "http_worker_failed")
    assert "the model was away" in row.error_log[-1]["message"]
    assert place.claim() == [], "it was asked to wait an hour"
    place.change(wakes_at=None)
    (job,) = place.claim()
    ended = place.call(job, "fail", {"message": "page 3 has a password", "code": "encrypted"})
    assert read_json(ended) == {"status": "FAILED"}
    found = read_json(place.member.get(f"/documents/{document_id}"))
    assert (found["status"], found["run"]["failure_type"]) == ("FAILED", "BAD_INPUT")
    assert found["error"]["code"] == "encrypted"
    assert [step for kind, step in place.events() if kind == "STEP_FAILED"] == ["extracting"] * 2


def test_a_program_learns_that_a_person_has_cancelled_or_paused(place: Place) -> None:
    job, queue = place.job(), services_of(place.app).queue
    with place.app.app_context():
        queue.pause("process_document", by="tests")
    assert read_json(place.call(job, "heartbeat")) == {"stop": "paused"}
    assert place.claim() == []
    with place.app.app_context():
        lifecycle.cancel_job(queue, place.worker.org_id, place.jobs()[0].id)
    assert read_json(place.call(job, "heartbeat")) == {"stop": "cancelled"}
    answer = place.put(job)
    assert (answer.status_code, read_json(answer)["reason"]) == (409, "cancelled")


def test_a_program_gets_jobs_of_its_own_org_alone(place: Place) -> None:
    theirs = place.people.program(org="Theirs")
    shelve(theirs, ("theirs.txt", b"theirs"))
    assert place.claim(limit=16) == []
    own = place.upload()
    (job,) = place.claim(limit=16)
    assert job["document"]["id"] == own
    other = place.people.program("worker", org="Theirs")
    assert other.get(job["inputs"]["original"]).status_code == 404
    assert other.post(job["calls"]["complete"]).status_code == 404
    # Another token of the same org has no lease either.
    assert place.people.program("worker").post(job["calls"]["release"]).status_code == 409


def test_a_worker_can_do_nothing_else(place: Place) -> None:
    document_id = place.upload()
    for path in ("/documents", f"/documents/{document_id}", "/ops", "/metrics", "/search?q=a"):
        assert place.worker.get(path).status_code == 403
    for role in ("viewer", "member", "ops", "operator", "metrics"):
        answer = place.people.program(role).post("/worker/claim", json={"worker": "w", "stages": ["analyze"]})
        assert (answer.status_code, read_json(answer)["reason"]) == (403, "workers_only")


def test_a_second_result_takes_the_place_of_the_first(place: Place) -> None:
    job = place.job()
    place.put(job)
    blobs = services_of(place.app).providers.blobs
    before = {blob.path for blob in blobs.list() if "http-extraction" in blob.path}
    place.put(job, {**EXTRACTION, "markdown": "Another text."})
    now = {blob.path for blob in blobs.list() if "http-extraction" in blob.path}
    assert (len(before), len(now), before & now) == (1, 1, set())


def test_two_calls_at_once_lose_nothing(place: Place) -> None:
    job = place.job()
    together(
        lambda: place.people.app.test_client().put(
            job["calls"]["checkpoint"], json={"a": 1}, headers=dict(place.worker.headers)
        ),
        lambda: place.people.app.test_client().put(
            job["result"]["url"], json=EXTRACTION, headers=dict(place.worker.headers)
        ),
    )
    entry = place.jobs()[0].checkpoint["http_worker"]
    assert (json.loads(entry["saved"]), entry["result"]["kind"]) == ({"a": 1}, "extraction")


def together(*calls: Callable[[], object]) -> None:
    """Do these at the same time."""
    threads = [threading.Thread(target=call) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_claim_waits_for_a_job_and_for_no_longer_than_it_asked(place: Place) -> None:
    assert place.claim(wait_seconds=0.2) == []
    found: list[Any] = []
    waiting = threading.Thread(target=lambda: found.extend(place.claim(wait_seconds=30)))
    waiting.start()
    document_id = place.upload()
    waiting.join(20)
    assert [job["document"]["id"] for job in found] == [document_id]
