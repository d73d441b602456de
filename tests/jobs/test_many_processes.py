"""Several processes and threads on one queue: each job is worked on once, by one of them."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import DatabaseUnderTest
from tests.jobs.rig import SqlQueueRig
from tests.postgres import ROOT
from webapp.jobs.states import JobStatus

PROCESSES, JOBS = 4, 400


def start(name: str, environment: dict[str, str]) -> "subprocess.Popen[str]":
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.jobs.drainer", name],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "SECRET_KEY": "a key for tests only", **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process


def drained(processes: "list[subprocess.Popen[str]]") -> list[Counter[str]]:
    """Let them all begin at the same moment; what each did, by job and outcome."""
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    outputs = [process.communicate(timeout=50)[0] for process in processes]
    assert [process.returncode for process in processes] == [0] * len(processes)
    return [Counter(output.splitlines()) for output in outputs]


@pytest.mark.slow
@pytest.mark.alone
def test_four_processes_do_each_job_once(rig: SqlQueueRig, database: DatabaseUnderTest, tmp_path: Path) -> None:
    runs = rig.new_runs(JOBS)
    jobs = [run.job(payload={"fails": number % 10 == 0}) for number, run in enumerate(runs)]
    rig.queue.enqueue(jobs)
    processes = [start(f"process {number}", database.environment(tmp_path)) for number in range(PROCESSES)]
    shares = drained(processes)
    expected = Counter(f"{job.id} COMPLETED" for job in jobs)
    expected.update(f"{job.id} PENDING" for job in jobs if job.payload["fails"])
    assert sum(shares, Counter[str]()) == expected
    assert all(shares)
    assert rig.queue.counts() == {status: JOBS * (status is JobStatus.COMPLETED) for status in JobStatus}
    assert {job.attempts for job in rig.queue.find(jobs[0].org_id, limit=JOBS)} == {0, 1}
