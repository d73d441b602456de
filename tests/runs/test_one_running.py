"""The guard against two runs of one document at work, where many try at the same moment."""

import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

from flask import Flask
from sqlalchemy import select

from webapp.db import reading, transaction
from webapp.documents.model import ProcessingRun
from webapp.documents.states import RunTrigger
from webapp.runs import transitions
from webapp.runs.transitions import NewRun

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


def test_ten_clicks_make_ten_runs_of_which_one_may_start(bare_app: Flask, org_id: UUID, document_id: UUID) -> None:
    def click() -> NewRun:
        with transaction(org_id):
            return transitions.create(org_id, document_id, RunTrigger.REPROCESS)

    made = _together(bare_app, click)
    assert len({run.id for run in made}) == TOGETHER
    assert [run.must_wait for run in made].count(False) == 1
