"""The hot statements stay fast as the table grows, and right whatever plan the database makes."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast
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
from webapp.jobs import postgresql, sqlite, taking
from webapp.jobs.hot import Lane, Wanted
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import JobError
from webapp.jobs.states import JobStatus, Priority
from webapp.jobs.taking import How
from webapp.jobs.turns import LINES_MAX, NOBODY, Standing

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


def hot_plans(*, limit: int) -> dict[str, str]:
    """The plans of the hot statements, which the driver prepares behind SQLAlchemy's back."""
    wanted = Wanted("a", new_id(), limit, Lane([], is_inside=False), Standing([uuid4()], [1], [2]))
    with transaction(everywhere=True) as opened:
        driver: Any = opened.connection().connection.driver_connection
        cursor = driver.cursor()
        if opened.connection().dialect.name == "sqlite":
            return {name: _plan(cursor, "QUERY PLAN", *hot) for name, hot in _SQLITE.items()}
        cursor.execute(postgresql.PLAN_FOR_THIS_TRANSACTION)
        return {
            **{
                f"claim {how}": _plan(
                    cursor, "(FORMAT JSON)", taking.statement(how), postgresql.claim_values(wanted, {"other": 0})
                )
                for how in How
            },
            "complete": _plan(cursor, "(FORMAT JSON)", postgresql.COMPLETE, (uuid4(), uuid4())),
            "complete many": _plan(cursor, "(FORMAT JSON)", postgresql.COMPLETE_MANY, ([uuid4()] * 50, [uuid4()] * 50)),
        }


_SQLITE: dict[str, tuple[str, Any]] = {
    "next line": (sqlite.NEXT_LINE, ("a", 0, "b")),
    "line": (sqlite.OF_LINE, ("a", 0, "b", 5)),
    "take": (sqlite.TAKE, ("a", "b", "[]")),
    "complete": (sqlite.COMPLETE, ("a", "b")),
}


def _plan(cursor: Any, how: str, statement: str, values: Any) -> str:
    return json.dumps(cursor.execute(f"EXPLAIN {how} {statement}", values).fetchall(), default=str)


def scans_the_table(plan: str) -> bool:
    """SQLite says "SCAN table" where it reads all of it, with or without the help of an index."""
    return bool(re.search(r'"Seq Scan"[^{}]*"Relation Name": "document_processing_jobs"', plan)) or bool(
        re.search(r"SCAN document_processing_jobs(?! USING INDEX ix_jobs_held)", plan)
    )


@pytest.mark.slow
def test_each_statement_finds_its_rows_by_an_index(crowded: SqlLetterbox) -> None:
    queue = crowded.queue
    first, second, third, fourth = queue.claim("a", 4)
    with plans() as seen:
        queue.reset_stale(7200, SILENT)
        assert "ix_jobs_held" in seen[-1]
        queue.heartbeat([first, second])
        queue.fence(first)
        queue.checkpoint(first, {})
        assert not any("ix_jobs_held" in plan for plan in seen[1:])
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
    assert len(seen) >= 13
    assert [plan for plan in seen if scans_the_table(plan)] == []


_OF_LINES = {*(f"claim {how}" for how in How), "next line", "line"}


@pytest.mark.slow
def test_hot_statements_read_lines_from_their_beginnings(crowded: SqlLetterbox) -> None:
    found = hot_plans(limit=10)
    assert [name for name, plan in found.items() if scans_the_table(plan)] == []
    assert {name for name, plan in found.items() if "ix_jobs_due" in plan} == _OF_LINES & set(found)
    assert not any("Bitmap" in plan or "Hash" in plan for plan in found.values())


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("crowd", ["done", "queued"])
def test_a_claim_reads_no_more_however_many_jobs_there_are(
    letterbox: SqlLetterbox, database: DatabaseUnderTest, crowd: str
) -> None:
    """One million that are done, or 100,000 of another org that wait: statistics know nothing of them yet."""
    few = [enqueue(letterbox) for _ in range(3)]
    before, before_from_first = _pages_read(), _pages_read(how=How.FROM_FIRST_LINE)
    (run,) = letterbox.new_runs(1, letterbox.new_org())
    assert database.superuser_url
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        for statement in _CROWDS[crowd]:
            connection.execute(statement, {"org": run.org_id, "document": run.document_id, "run": run.id})
    assert _pages_read() <= before + 40
    assert _pages_read(how=How.FROM_FIRST_LINE) <= before_from_first + 40
    assert few[0].id in ids(letterbox.queue.claim("a", 2))


_MANY = """
INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
    attempts, max_attempts, available_at, created_at, completed_at, error_log, updated_at)
"""
_DONE = f"""
{_MANY} SELECT uuidv7(), %(org)s, %(document)s, %(run)s, 'process_document', 'COMPLETED', 0, '{{}}', '{{}}',
    0, 1, now(), now(), now(), '[]', now()
FROM generate_series(1, 1000000)
"""
_DOCUMENTS = """
INSERT INTO documents
    (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at, updated_at)
SELECT uuidv7(), %(org)s, 'a', 'text/plain', 1, md5(n::text) || md5(n::text), 'a', 'PROCESSING', now(), now()
FROM generate_series(1, 100000) AS n
"""
_RUNS = """
INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at)
SELECT uuidv7(), org_id, id, 'QUEUED', 'UPLOAD', now() FROM documents WHERE org_id = %(org)s AND filename = 'a'
"""
_QUEUED = f"""
{_MANY} SELECT uuidv7(), org_id, document_id, id, 'process_document', 'PENDING', 0, '{{}}', '{{}}',
    0, 1, now(), now(), NULL, '[]', now()
FROM processing_runs WHERE org_id = %(org)s
"""
_CROWDS = {"done": [_DONE], "queued": [_DOCUMENTS, _RUNS, _QUEUED]}


@pytest.mark.slow
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("behind", ["nobody", "one in the middle"])
def test_a_claim_reads_no_more_however_many_orgs_wait(letterbox: SqlLetterbox, behind: str) -> None:
    """Some probes for each of the lines that it may look at, and not for each that there is."""
    runs = [letterbox.new_runs(1, letterbox.new_org())[0] for _ in range(600)]
    letterbox.queue.enqueue([run.job() for run in runs])
    assert _pages_read(NOBODY if behind == "nobody" else runs[300].org_id) < LINES_MAX * 9


def _pages_read(behind: UUID = NOBODY, how: How = How.FREELY) -> int:
    """What a claim of two jobs reads, and changes; it is undone."""
    wanted = Wanted("a", new_id(), 2, Lane([], is_inside=False), Standing([], [], [], behind))
    with transaction(everywhere=True) as opened:
        tried = opened.begin_nested()
        cursor = cast("Any", opened.connection().connection.driver_connection).cursor()
        cursor.execute(postgresql.PLAN_FOR_THIS_TRANSACTION)
        explain = "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
        cursor.execute(explain + taking.statement(how), postgresql.claim_values(wanted, None))
        (((plan,),),) = cursor.fetchall()
        tried.rollback()
    return int(plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"])


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
@pytest.mark.parametrize("lines", [1, 2])
def test_no_plan_takes_more_than_the_limit(
    letterbox: SqlLetterbox, plan: str, forbidden: tuple[str, ...], lines: int
) -> None:
    jobs = [run.job() for run in letterbox.new_runs(60)]
    letterbox.queue.enqueue(jobs)
    letterbox.queue.enqueue([run.job(priority=Priority.BULK) for run in letterbox.new_runs(lines - 1)])
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


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_claim_in_its_callers_transaction_is_planned_as_on_a_connection_of_its_own(letterbox: SqlLetterbox) -> None:
    with transaction(everywhere=True) as opened:
        assert opened.scalar(text("SHOW enable_seqscan")) == "on"
        letterbox.queue.claim("a", 1)
        assert opened.scalar(text("SHOW enable_seqscan")) == "off"


def test_the_number_of_statements_does_not_grow_with_the_jobs(letterbox: SqlLetterbox, bare_app: Flask) -> None:
    runs = letterbox.new_runs(30)
    letterbox.queue.enqueue([run.job() for run in runs])
    leases = letterbox.queue.claim("a", 30)
    with plans() as seen:
        letterbox.queue.heartbeat(leases)
        assert len(seen) == 1
        letterbox.queue.live_of_runs([run.id for run in runs])
        assert len(seen) == 2
        letterbox.queue.release(leases)
        assert len(seen) == 3
        letterbox.queue.cancel_run(uuid4())
        assert len(seen) == 4
