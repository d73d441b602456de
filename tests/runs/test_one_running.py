"""The guard against two runs of one document at work, where many try at the same moment."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from uuid import UUID

from flask import Flask

from webapp.db import transaction
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


def test_ten_clicks_make_ten_runs_of_which_one_may_start(bare_app: Flask, org_id: UUID, document_id: UUID) -> None:
    def click() -> NewRun:
        with transaction(org_id):
            return transitions.create(org_id, document_id, RunTrigger.REPROCESS)

    made = _together(bare_app, click)
    assert len({run.id for run in made}) == TOGETHER
    assert [run.must_wait for run in made].count(False) == 1
