"""Chores: what nobody else would notice, done by any number of processes at once."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from flask import Flask
from sqlalchemy import select, update

from tests.documents.rows import document, new_document
from tests.worker.bench import Bench, finish
from webapp.clock import after, new_id, now, utc_now
from webapp.db import reading, transaction
from webapp.jobs.model import Worker
from webapp.jobs.queue import JobError, LeaseLost, NewJob
from webapp.jobs.states import JobStatus
from webapp.pipeline.paid_calls import kept_answers
from webapp.pipeline.paid_calls.kept_answers import Answer, Vectors
from webapp.runs import lifecycle
from webapp.search import vector_cache
from webapp.worker import chores
from webapp.worker.worker_table import Registration

TOGETHER = 4


def _at_once(app: Flask, chore: object) -> list[int]:
    gate = threading.Barrier(TOGETHER)

    def one() -> int:
        with app.app_context():
            gate.wait()
            return chore()  # type: ignore[operator,no-any-return] # any chore

    with ThreadPoolExecutor(TOGETHER) as threads:
        return [future.result() for future in [threads.submit(one) for _ in range(TOGETHER)]]


def test_silent_workers_lose_their_jobs_once_however_many_look(bench: Bench) -> None:
    runs = [bench.new_run(max_attempts=5) for _ in range(6)]
    zombies = [bench.claim().lease for _ in runs]
    for run_id in runs[:4]:
        bench.grow_silent(run_id, 7300)
    assert sum(_at_once(bench.app, lambda: chores.reset_silent(bench.services))) == 4
    assert [bench.job(run_id).attempts for run_id in runs] == [1, 1, 1, 1, 0, 0]
    assert [bench.events(run_id).count("JOB_RESET") for run_id in runs] == [1, 1, 1, 1, 0, 0]
    for zombie in zombies[:4]:
        try:
            lifecycle.succeed_run(bench.queue, zombie)
        except LeaseLost:
            continue
        raise AssertionError("a zombie wrote")


def test_overdue_runs_end_once_however_many_look(bench: Bench) -> None:
    late, young = bench.new_run(), bench.new_run()
    for _ in range(2):
        bench.claim()
    bench.grow_old(late, 121)
    assert sum(_at_once(bench.app, lambda: chores.end_overdue(bench.services, 120))) == 1
    assert bench.states(late) == ("TIMED_OUT", "FAILED")
    assert document(bench.org_id, bench.run(late).document_id).status == "TIMED_OUT"
    assert bench.states(young) == ("RUNNING", "PROCESSING")
    assert bench.events(late).count("RUN_TIMED_OUT") == 1


def test_a_run_that_waits_for_its_next_attempt_is_overdue_too(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=5)
    lifecycle.retry_or_fail(bench.queue, bench.claim().lease, JobError("unavailable", "away"))
    bench.grow_old(run_id, 121)
    assert chores.end_overdue(bench.services, 120) == 1
    assert bench.states(run_id) == ("TIMED_OUT", "FAILED")


def test_orphans_fail_with_their_process_and_the_next_run_goes_on(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    orphan, following = bench.new_run(document_id), bench.new_run(document_id)
    queued = bench.new_run()
    assert bench.claim().lease.run_id == orphan
    assert chores.end_orphans(bench.services) == 1
    assert bench.states(orphan) == ("FAILED", "FAILED")
    assert bench.run(orphan).failure_type == "PROCESS_TERMINATED"
    assert bench.events(orphan)[-1] == "RUN_FAILED"
    assert bench.states(queued) == ("QUEUED", "PENDING")
    assert {bench.claim().lease.run_id, bench.claim().lease.run_id} == {following, queued}


@pytest.mark.slow
def test_many_orphans_are_all_found(bench: Bench) -> None:
    for _ in range(130):
        bench.new_run()
    assert len(bench.attempts(lambda context: None).claim("worker", 130)) == 130
    assert chores.end_orphans(bench.services) == 130
    assert bench.queue.counts()[JobStatus.FAILED] == 130


@pytest.mark.parametrize("is_alone", [False, True])
def test_a_job_that_a_dead_worker_still_got_is_taken_back(bench: Bench, is_alone: bool) -> None:
    """A claim may be committed after its worker was found dead. Where we work alone, every other worker is dead."""
    dead, alive = Registration(threads=1), Registration(threads=1)
    dead.register(4711)
    with transaction(everywhere=True) as session:
        session.execute(update(Worker).values(ended_at=now()))
    alive.report()
    runs = [bench.new_run(max_attempts=3) for _ in range(2)]
    for registration in (dead, alive):
        bench.attempts(finish).claim(registration.name)
    assert chores.reset_gone(bench.services, Registration(threads=1).name if is_alone else None) == 1 + is_alone
    assert [bench.job(run).status for run in runs] == ["PENDING", "PENDING" if is_alone else "PROCESSING"]
    assert chores.reset_gone(bench.services, alive.name) == 0


def test_jobs_that_follow_a_success_are_queued_again(bench: Bench) -> None:
    run_id = bench.new_run(max_attempts=5)
    lifecycle.succeed_run(bench.queue, bench.claim().lease)
    follow = NewJob(bench.org_id, bench.live_run(run_id), "detect_connections", 2)
    bench.queue.enqueue([follow])
    assert len(bench.queue.claim("worker")) == 1
    bench.grow_silent(run_id, 1)
    assert chores.end_orphans(bench.services) == 0
    job = bench.queue.get(follow.id)
    assert job is not None
    assert (job.status, job.attempts) == ("PENDING", 1)


def _old_blob(bench: Bench, path: str, *, hours: float = 25) -> str:
    bench.services.providers.blobs.put_bytes(path, b"x")
    (file,) = [found for found in _data(bench).rglob(path.rsplit("/", 1)[-1]) if str(found).endswith(path)]
    moment = utc_now().timestamp() - hours * 3600
    os.utime(file, (moment, moment))
    return path


def _data(bench: Bench) -> Path:
    return bench.services.settings.data_dir


def _blobs(bench: Bench) -> set[str]:
    return {info.path for info in bench.services.providers.blobs.list()}


def test_old_blobs_without_a_row_are_removed_and_nothing_else(bench: Bench) -> None:
    document_id, org = new_document(bench.org_id), bench.org_id
    kept = {
        _old_blob(bench, f"{org}/documents/{document_id}/original"),
        _old_blob(bench, f"{org}/documents/{document_id}/markdown.md"),
        _old_blob(bench, f"{org}/extractions/{document_id.hex * 2}/local-1-a.json"),
        _old_blob(bench, f"{org}/documents/{new_id()}/original", hours=23),
        _old_blob(bench, f"{org}/notes/{new_id()}/by-hand.txt"),
        _old_blob(bench, "elsewhere/documents/by-hand.txt"),
    }
    other_org = UUID(int=5)
    _old_blob(bench, f"{org}/documents/{new_id()}/original")
    _old_blob(bench, f"{org}/extractions/{'0' * 64}/local-1-b.json")
    # Of an earlier document of the same bytes.
    _old_blob(bench, f"{org}/extractions/{document_id.hex * 2}-{new_id().hex}/local-1-b.json")
    _old_blob(bench, f"{other_org}/documents/{document_id}/original")
    assert chores.sweep_orphans(bench.services) == 4
    assert _blobs(bench) == kept


def test_vectors_that_could_not_be_stored_are_brought_back_or_go_with_their_org(bench: Bench) -> None:
    gone = UUID(int=5)
    _old_blob(bench, f"{gone}/answers/{new_id()}.json")
    _old_blob(bench, f"{bench.org_id}/documents/{new_document(bench.org_id)}/original")
    document_id = new_document(bench.org_id)
    vector = np.full(4, 0.5, np.float32)
    answer = Answer(new_id(), 0.1, brought=Vectors("some-model", document_id, {"0" * 64: vector}))
    path = f"{bench.org_id}/answers/{answer.call_id}.json"
    assert isinstance(answer.brought, Vectors)
    bench.services.providers.blobs.put_bytes(path, kept_answers.late_vectors(answer, answer.brought))
    assert chores.sweep_orphans(bench.services) == 1
    assert not [found for found in _blobs(bench) if "/answers/" in found]
    with reading(bench.org_id):
        assert vector_cache.known(bench.org_id, "some-model", ["0" * 64]) == {"0" * 64}


@pytest.mark.slow
def test_many_orphan_blobs_are_all_found(bench: Bench) -> None:
    for number in range(230):
        _old_blob(bench, f"{bench.org_id}/documents/{new_id()}/original-{number}")
    assert chores.sweep_orphans(bench.services, lambda: True) == 0
    assert chores.sweep_orphans(bench.services) == 230


def test_broken_uploads_are_swept_after_a_day(bench: Bench) -> None:
    incoming = bench.services.providers.blobs.incoming()
    for name, hours in (("upload-old", 25), ("upload-new", 1)):
        (incoming / name).write_bytes(b"x")
        moment = utc_now().timestamp() - hours * 3600
        os.utime(incoming / name, (moment, moment))
    assert chores.sweep_incoming(bench.services) == 1
    assert [file.name for file in incoming.iterdir()] == ["upload-new"]


def _workers() -> list[Worker]:
    with reading(everywhere=True) as session:
        return list(session.scalars(select(Worker)))


def test_a_process_reports_itself_and_signs_off(bench: Bench) -> None:
    registration, other = Registration(threads=4), Registration(threads=1)
    other.report()
    with transaction(everywhere=True) as session:
        session.execute(update(Worker).values(last_seen=after(-8 * 24 * 3600)))
    registration.report()
    first = _workers()
    registration.report()
    again = _workers()
    assert [worker.id for worker in again] == [registration.id], "who was silent for a week is forgotten"
    assert (again[0].pid, again[0].threads) == (os.getpid(), 4)
    assert again[0].started_at == first[0].started_at
    registration.sign_off()
    assert _workers() == []
    assert str(registration.id) in registration.name
