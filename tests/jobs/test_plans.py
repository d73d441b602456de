"""The hot statements stay fast as the table grows, and right whatever plan the database makes."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from flask import Flask
from sqlalchemy import event, insert, text
from sqlalchemy.engine import Connection

from tests.conftest import DatabaseUnderTest
from tests.jobs.letterbox import Run, SqlLetterbox, enqueue, ids
from webapp.clock import new_id, now
from webapp.db import db, transaction
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import JobError
from webapp.jobs.states import JobStatus

DONE, HELD, DELAYED = 20_000, 5_000, 50
SILENT = JobError("worker_silent", "its worker fell silent")


@pytest.fixture
def crowded(letterbox: SqlLetterbox, database: DatabaseUnderTest) -> SqlLetterbox:
    """Many jobs that are done, a long line that may not start yet, and few that are due."""
    (finished,) = letterbox.new_runs(1)
    _fill(finished, DONE, lambda number: {"stage": "done"}, status="COMPLETED", completed_at=now())
    (waiting,) = letterbox.new_runs(1)
    _fill(waiting, HELD, lambda number: {"stage": str(number)}, available_at=None)
    letterbox.queue.enqueue([run.job(delay_seconds=1000) for run in letterbox.new_runs(DELAYED)])
    for _ in range(20):
        enqueue(letterbox)
    _analyze(database)
    return letterbox


def _fill(run: Run, number: int, varying: Callable[[int], dict[str, Any]], **shared: Any) -> None:
    """Rows as they would be after long use, faster than by use."""
    shared |= {"org_id": run.org_id, "document_id": run.document_id, "run_id": run.id, "max_attempts": 1}
    rows = [{"id": new_id(), **varying(place)} for place in range(number)]
    with transaction(everywhere=True) as opened:
        opened.connection().execute(insert(JobRow).values(shared), rows)


def _analyze(database: DatabaseUnderTest) -> None:
    if database.superuser_url:
        with psycopg.connect(database.superuser_url, autocommit=True) as connection:
            connection.execute("ANALYZE document_processing_jobs")
            return
    with transaction(everywhere=True) as opened:
        opened.execute(text("ANALYZE"))


@contextmanager
def plans() -> Iterator[list[str]]:
    """The plans of all statements that are executed in here, as one text each."""
    seen: list[str] = []
    explain = "EXPLAIN (FORMAT JSON) " if db.engine.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN "

    def look(connection: Connection, cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
        if re.search(r"\b(UPDATE|FROM|INTO) document_processing_jobs\b", statement):
            other = cursor.connection.cursor()
            other.execute(explain + statement, parameters)
            seen.append(json.dumps(other.fetchall(), default=str))
            other.close()

    event.listen(db.engine, "before_cursor_execute", look)
    try:
        yield seen
    finally:
        event.remove(db.engine, "before_cursor_execute", look)


def scans_the_table(plan: str) -> bool:
    """SQLite says "SCAN table" where it reads all of it, with or without the help of an index."""
    return "Seq Scan" in plan or bool(re.search(r"SCAN document_processing_jobs(?! USING INDEX ix_jobs_held)", plan))


@pytest.mark.slow
def test_each_statement_finds_its_rows_by_an_index(crowded: SqlLetterbox) -> None:
    queue = crowded.queue
    with plans() as seen:
        first, second, third, fourth = queue.claim("a", 4)
        assert "ix_jobs_due" in seen[-1]
        queue.reset_stale(7200, SILENT)
        assert "ix_jobs_held" in seen[-1]
        queue.heartbeat([first, second])
        queue.fence(first)
        queue.checkpoint(first, {})
        queue.complete(first)
        assert not any("ix_jobs_held" in plan for plan in seen[2:])
        queue.fail(second, SILENT)
        queue.snooze(third, 10)
        queue.release([third, fourth])
        queue.unhold(fourth.run_id)
        queue.cancel_run(fourth.run_id)
        queue.fail_run(third.run_id, SILENT)
        queue.get(first.job_id)
        queue.of_run(first.run_id)
        queue.live_of_runs([first.run_id, second.run_id])
        queue.find(first.org_id, JobStatus.FAILED)
        queue.find(first.org_id)
    assert len(seen) >= 15
    assert [plan for plan in seen if scans_the_table(plan)] == []


@pytest.mark.slow
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_an_import_that_statistics_know_nothing_of_is_not_sorted(
    letterbox: SqlLetterbox, database: DatabaseUnderTest
) -> None:
    (finished,) = letterbox.new_runs(1)
    _fill(finished, 2_000, lambda number: {"stage": "done"}, status="COMPLETED", completed_at=now())
    _analyze(database)
    (imported,) = letterbox.new_runs(1)
    jobs = [imported.job(str(number)) for number in range(2_000)]
    letterbox.queue.enqueue(jobs)
    with plans() as seen:
        assert ids(letterbox.queue.claim("a", 3)) == ids(jobs[:3])
    assert "ix_jobs_due" in seen[0]
    assert "Sort" not in seen[0]
    assert "Bitmap" not in seen[0]


@pytest.mark.slow
def test_held_done_and_delayed_jobs_are_never_claimed(crowded: SqlLetterbox) -> None:
    assert len(crowded.queue.claim("a", 1000)) == 20
    assert crowded.queue.claim("a", 1000) == []


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("plan", ["force_generic_plan", "force_custom_plan"])
@pytest.mark.parametrize(
    "forbidden",
    [
        (),
        ("hashjoin", "mergejoin", "hashagg"),
        ("hashjoin", "mergejoin", "material", "sort"),
        ("nestloop",),
        ("indexscan", "bitmapscan", "indexonlyscan"),
        ("seqscan", "hashjoin", "mergejoin", "hashagg", "material", "memoize"),
    ],
    ids=lambda names: "-".join(names) or "none",
)
def test_no_plan_takes_more_than_the_limit(letterbox: SqlLetterbox, plan: str, forbidden: tuple[str, ...]) -> None:
    jobs = [run.job() for run in letterbox.new_runs(60)]
    letterbox.queue.enqueue(jobs)
    taken: list[UUID] = []
    for limit in (1, 1, 1, 1, 1, 1, 1, 5):
        with transaction(everywhere=True) as opened:
            settings = [f"plan_cache_mode = {plan}", *(f"enable_{name} = off" for name in forbidden)]
            for setting in settings:
                opened.connection().exec_driver_sql(f"SET LOCAL {setting}")
            leases = letterbox.queue.claim("a", limit)
        assert len(leases) == limit
        taken += ids(leases)
    assert taken == ids(jobs[:12])


def test_the_number_of_statements_does_not_grow_with_the_jobs(letterbox: SqlLetterbox, bare_app: Flask) -> None:
    runs = letterbox.new_runs(30)
    with plans() as seen:
        letterbox.queue.enqueue([run.job() for run in runs])
        leases = letterbox.queue.claim("a", 30)
        assert len(seen) == 2
        letterbox.queue.heartbeat(leases)
        assert len(seen) == 3
        letterbox.queue.live_of_runs([run.id for run in runs])
        assert len(seen) == 4
        letterbox.queue.release(leases)
        assert len(seen) == 5
        letterbox.queue.cancel_run(uuid4())
        assert len(seen) == 6
