"""The guard against two runs of one document at work, where many try at the same moment."""

import itertools
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select

from tests.conftest import DatabaseUnderTest
from tests.documents.rows import new_document, queue
from tests.documents.starter import work
from tests.postgres import ROOT
from webapp.db import reading, transaction
from webapp.documents import runs
from webapp.documents.model import ProcessingRun
from webapp.documents.runs import NewRun
from webapp.documents.states import RunTrigger

Value = TypeVar("Value")

TOGETHER = 10


def _together(app: Flask, task: Callable[[], Value], number: int = TOGETHER) -> list[Value]:
    gate = threading.Barrier(number)

    def one() -> Value:
        with app.app_context():
            gate.wait()
            return task()

    with ThreadPoolExecutor(number) as threads:
        return [future.result() for future in [threads.submit(one) for _ in range(number)]]


def _assert_fifo(org_id: UUID) -> None:
    """Within each document, runs have started in the order in which they were created, each after an end."""
    with reading(org_id) as session:
        history = list(session.scalars(select(ProcessingRun).order_by(ProcessingRun.created_at, ProcessingRun.id)))
    by_document: dict[UUID, list[ProcessingRun]] = {}
    for run in history:
        by_document.setdefault(run.document_id, []).append(run)
    for line in by_document.values():
        for earlier, later in itertools.pairwise(line):
            assert earlier.finished_at is not None
            assert later.started_at is not None
            assert earlier.finished_at <= later.started_at


def test_of_many_starters_of_a_run_one_wins(bare_app: Flask, org_id: UUID, document_id: UUID) -> None:
    run_id = queue(org_id, document_id)

    def start() -> bool:
        with transaction(org_id):
            return runs.start(run_id)

    assert sorted(_together(bare_app, start)) == [False] * (TOGETHER - 1) + [True]


def test_ten_clicks_make_ten_runs_of_which_one_may_start(bare_app: Flask, org_id: UUID, document_id: UUID) -> None:
    def click() -> NewRun:
        with transaction(org_id):
            return runs.create(org_id, document_id, RunTrigger.REPROCESS)

    made = _together(bare_app, click)
    assert len({run.id for run in made}) == TOGETHER
    assert [run.must_wait for run in made].count(False) == 1


def test_threads_that_start_whatever_they_find(bare_app: Flask, org_id: UUID) -> None:
    wanted = {queue(org_id, document_id) for document_id in [new_document(org_id) for _ in range(3)] for _ in range(4)}
    started = [run_id for each in _together(bare_app, lambda: work(org_id), 4) for run_id in each]
    assert sorted(started) == sorted(wanted)
    _assert_fifo(org_id)


@pytest.mark.slow
@pytest.mark.alone
def test_processes_that_start_whatever_they_find(database: DatabaseUnderTest, tmp_path: Path, org_id: UUID) -> None:
    wanted = {queue(org_id, document_id) for document_id in [new_document(org_id) for _ in range(5)] for _ in range(8)}
    environment = {**os.environ, **database.environment(tmp_path, SECRET_KEY="a key for tests only")}
    command = [sys.executable, "-m", "tests.documents.starter", str(org_id)]
    pipe = subprocess.PIPE
    starters = [
        subprocess.Popen(command, cwd=ROOT, env=environment, stdin=pipe, stdout=pipe, text=True) for _ in range(3)
    ]
    for starter in starters:
        assert starter.stdout is not None
        assert starter.stdout.readline() == "ready\n"
    for starter in starters:
        assert starter.stdin is not None
        starter.stdin.write("\n")
        starter.stdin.flush()
    started = [UUID(line) for starter in starters for line in starter.communicate(timeout=50)[0].split()]
    assert [starter.returncode for starter in starters] == [0, 0, 0]
    assert sorted(started) == sorted(wanted)
    _assert_fifo(org_id)
