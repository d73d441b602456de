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
from sqlalchemy import TextClause, Uuid, bindparam, event, insert, text
from sqlalchemy.engine import Connection

from tests.conftest import DatabaseUnderTest
from tests.jobs.rig import Run, SqlQueueRig, enqueue, ids
from webapp.clock import new_id, now
from webapp.db import db, reading, session, transaction
from webapp.jobs import claim
from webapp.jobs.claim import NO_ORG
from webapp.jobs.dispatch.bullmq import relay
from webapp.jobs.model import NEVER
from webapp.jobs.model import Job as JobRow
from webapp.jobs.queue import JobError
from webapp.jobs.states import JobStatus, Priority

DONE, WAITING, DELAYED = 5_000, 2_000, 50
SILENT = JobError("worker_silent", "its worker fell silent")


@pytest.fixture
def crowded(rig: SqlQueueRig, database: DatabaseUnderTest) -> SqlQueueRig:
    """Many jobs that are done, a long line that may not start yet, and few that are due."""
    (finished,) = rig.new_runs(1)
    _fill(finished, DONE, lambda number: {"stage": "done"}, status="COMPLETED", completed_at=now())
    (waiting,) = rig.new_runs(1)
    _fill(waiting, WAITING, lambda number: {"stage": str(number)}, available_at=None, wakes_at=NEVER)
    rig.queue.enqueue([run.job(delay_seconds=1000) for run in rig.new_runs(DELAYED)])
    for _ in range(20):
        enqueue(rig)
    _analyze(database)
    return rig


def _fill(run: Run, number: int, varying: Callable[[int], dict[str, Any]], **shared: Any) -> None:
    """Rows as they would be after long use, faster than by use."""
    shared |= {"org_id": run.org_id, "document_id": run.document_id, "run_id": run.id, "max_attempts": 1}
    rows = [{"id": new_id(), **varying(place)} for place in range(number)]
    with transaction(everywhere=True) as opened:
        opened.connection().execute(insert(JobRow).values(shared), rows)


def _analyze(database: DatabaseUnderTest) -> None:
    if database.superuser_url:
        with psycopg.connect(database.superuser_url, autocommit=True) as connection:
            connection.execute("ANALYZE document_processing_jobs, processing_runs, documents")
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


EVERY_ORG = {"above": UUID(int=0), "last": UUID(int=2**128 - 1)}


def claim_plan() -> str:
    """The plan of the claim in the transaction that is open, as a worker's has it."""
    values = {"stages": '["process_document", "other"]', "orgs": "{}", "behind": UUID(int=0), "worker": "a"}
    values |= {"lease_id": new_id(), "event_id": new_id(), "among": None, **EVERY_ORG}
    connection = session().connection()
    if connection.dialect.name == "sqlite":
        return json.dumps([list(row) for row in connection.execute(explained(claim._CHOOSE_ON_SQLITE), values)])
    return json.dumps(connection.execute(explained(claim._CLAIM_ON_POSTGRESQL), values).scalar_one())


def explained(statement: Any, how: str = "") -> TextClause:
    """The same statement, but its plan is what it answers with."""
    explain = "EXPLAIN QUERY PLAN" if session().connection().dialect.name == "sqlite" else f"EXPLAIN ({how}FORMAT JSON)"
    ids = [bindparam(name, type_=Uuid()) for name in claim._IDS if f":{name}" in statement.element.text]
    return text(f"{explain} {statement.element.text}").bindparams(*ids)


def scans_the_table(plan: str) -> bool:
    """SQLite says "SCAN table" where it reads all of it, with or without the help of an index."""
    return bool(re.search(r'"Seq Scan"[^{}]*"Relation Name": "document_processing_jobs"', plan)) or bool(
        re.search(r"SCAN document_processing_jobs(?! USING INDEX ix_jobs_held)", plan)
    )


@pytest.mark.slow
def test_each_statement_finds_its_rows_by_an_index(crowded: SqlQueueRig) -> None:
    queue = crowded.queue
    first, second, third, fourth = queue.claim("a", 4)
    with plans() as seen:
        queue.reset_stale(7200, SILENT)
        assert "ix_jobs_held" in seen[-1]
        queue.heartbeat([first, second])
        queue.fence(first)
        queue.checkpoint(first, {})
        assert not any("ix_jobs_held" in plan for plan in seen[1:])
        queue.complete(first)
        queue.fail(second, SILENT)
        queue.snooze(third, 10)
        queue.release([third, fourth])
        queue.let_in(fourth.run_id)
        queue.cancel_run(fourth.run_id)
        queue.fail_run(third.run_id, SILENT)
        queue.get(first.job_id)
        queue.of_run(first.run_id)
        queue.live_of_runs([first.run_id, second.run_id])
        queue.find(first.org_id, JobStatus.FAILED)
        queue.find(first.org_id)
    assert len(seen) >= 13
    assert [plan for plan in seen if scans_the_table(plan)] == []


@pytest.mark.slow
def test_a_claim_reads_each_orgs_jobs_from_the_oldest_on(crowded: SqlQueueRig) -> None:
    with transaction(everywhere=True, fixed_plans=True):
        plan = claim_plan()
    assert not scans_the_table(plan)
    assert "ix_jobs_due" in plan
    assert "Bitmap" not in plan
    assert "ix_processing_runs_live" not in plan


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.parametrize("crowd", ["done", "queued"])
@pytest.mark.parametrize("statistics", ["none", "misleading"])
def test_a_claim_reads_no_more_however_many_jobs_there_are(
    rig: SqlQueueRig, database: DatabaseUnderTest, crowd: str, statistics: str
) -> None:
    """200,000 that are done, or 30,000 of another org that wait.

    Statistics know nothing of them, or were made before they were committed: large tables that seem to be empty.
    """
    (run,) = rig.new_runs(1, rig.new_org())
    assert database.superuser_url
    with psycopg.connect(database.superuser_url, autocommit=True) as connection:
        # Rows that earlier tests left dead would be read, too.
        connection.execute("VACUUM document_processing_jobs, processing_runs, run_events, documents")
        few = [enqueue(rig) for _ in range(3)]
        before = _pages_read()
        with connection.transaction():
            for statement in _CROWDS[crowd]:
                connection.execute(statement, {"org": run.org_id, "document": run.document_id, "run": run.id})
            if statistics == "misleading":
                _analyze(database)
    # Its indexes are deeper then. Of many that wait, all are read once or twice where statistics were made at a bad
    # moment, and never once for each of them.
    _assert_few_pages_read(before + (120 if crowd == "done" else 5_000))
    assert few[0].id in ids(rig.queue.claim("a", 2))


_MANY = """
INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
    attempts, max_attempts, available_at, created_at, completed_at, error_log, updated_at)
"""
_DONE = f"""
{_MANY} SELECT uuidv7(), %(org)s, %(document)s, %(run)s, 'process_document', 'COMPLETED', 0, '{{}}', '{{}}',
    0, 1, now(), now(), now(), '[]', now()
FROM generate_series(1, 200000)
"""
_DOCUMENTS = """
INSERT INTO documents
    (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at, updated_at)
SELECT uuidv7(), %(org)s, 'a', 'text/plain', 1, md5(n::text) || md5(n::text), 'a', 'PROCESSING', now(), now()
FROM generate_series(1, 30000) AS n
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
def test_a_claim_reads_no_more_however_many_orgs_wait(rig: SqlQueueRig, behind: str) -> None:
    """A probe for each of the orgs that it may look at, and not for each that there is."""
    runs = [rig.new_runs(1, rig.new_org())[0] for _ in range(600)]
    rig.queue.enqueue([run.job() for run in runs])
    assert _pages_read(NO_ORG if behind == "nobody" else runs[300].org_id) < 2 * 64 * 6


def _assert_few_pages_read(most: int) -> None:
    """At most this many pages; the message shows the part of the plan that read more."""
    plan = _tried_claim(NO_ORG)
    assert _pages_of(plan) <= most, "\n".join(_costly_nodes(plan))


def _costly_nodes(node: dict[str, Any], depth: int = 0) -> Iterator[str]:
    """The nodes of a plan that read more than 100 pages, those within them indented."""
    if _pages_of(node) <= 100:
        return
    told = ("Node Type", "Subplan Name", "Index Name", "Index Cond", "Filter", "Rows Removed by Filter", "Actual Loops")
    yield f"{'  ' * depth}{_pages_of(node)} pages, {[node[key] for key in told if key in node]}"
    for child in node.get("Plans", []):
        yield from _costly_nodes(child, depth + 1)


def _pages_read(behind: UUID = NO_ORG) -> int:
    return _pages_of(_tried_claim(behind))


def _pages_of(node: dict[str, Any]) -> int:
    return int(node["Shared Hit Blocks"] + node["Shared Read Blocks"])


def _tried_claim(behind: UUID) -> dict[str, Any]:
    """The plan of a claim, with what it read; the claim is undone."""
    values = {"stages": '["process_document"]', "orgs": "{}", "behind": behind, "worker": "a"}
    values |= {"lease_id": new_id(), "event_id": new_id(), "among": None, **EVERY_ORG}
    with transaction(everywhere=True, fixed_plans=True) as opened:
        tried = opened.begin_nested()
        explain = explained(claim._CLAIM_ON_POSTGRESQL, "ANALYZE, BUFFERS, ")
        (plan,) = opened.execute(explain, values).scalar_one()
        tried.rollback()
    root: dict[str, Any] = plan["Plan"]
    return root


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_claim_is_planned_once_even_if_another_org_has_due_jobs(rig: SqlQueueRig) -> None:
    """Planned anew each time, as for values that make one plan cheap, it takes twice as long."""
    rig.queue.enqueue([run.job(priority=Priority.BULK) for run in rig.new_runs(30)])
    rig.queue.enqueue([run.job(priority=Priority.PERSON) for run in rig.new_runs(30)])
    # One session for all that follows: of several, each prepares its own statements.
    db.engine.dispose()
    for _ in range(20):
        (lease,) = rig.queue.claim("a")
        rig.queue.complete(lease)
    with transaction(everywhere=True) as opened:
        plans = opened.execute(_PLANS_OF_CLAIMS).all()
    assert len(plans) == 2
    assert all(made_once and not made_anew for made_once, made_anew in plans)


# By then the session has prepared them.
_PLANS_OF_CLAIMS = text("""
    SELECT generic_plans, custom_plans FROM pg_prepared_statements
    WHERE statement LIKE '-- Claims one due job%' OR statement LIKE '%min(document_processing_jobs.stage)%'
""")


@pytest.mark.slow
@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_the_relay_finds_due_jobs_by_their_index_with_a_plan_made_once(crowded: SqlQueueRig) -> None:
    values = {"stages": '["process_document"]', "behind": NO_ORG, "offered": [new_id()], "most": 10}
    with reading(everywhere=True, fixed_plans=True) as opened:
        for _ in range(20):
            assert len(opened.connection().execute(relay._DUE_JOBS, values).all()) == 10
        found = opened.execute(_PLANS_OF_RELAY).one()
        (plan,) = opened.execute(text(f"EXPLAIN (GENERIC_PLAN, FORMAT JSON) {_numbered(relay._DUE_JOBS)}")).one()
    assert found.generic_plans
    assert not found.custom_plans
    assert "ix_jobs_due" in json.dumps(plan)
    assert not scans_the_table(json.dumps(plan))


_PLANS_OF_RELAY = text("""
    SELECT generic_plans, custom_plans FROM pg_prepared_statements
    WHERE statement LIKE '-- Reads the next due jobs%' ORDER BY generic_plans DESC LIMIT 1
""")


def _numbered(statement: Any) -> str:
    """With $1, $2 … for its parameters, which have no values then."""
    numbers: dict[str, str] = {}
    return re.sub(
        r"(?<![:\w]):(\w+)", lambda found: numbers.setdefault(found[1], f"${len(numbers) + 1}"), statement.text
    )


@pytest.mark.slow
def test_waiting_done_and_delayed_jobs_are_never_claimed(crowded: SqlQueueRig) -> None:
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
def test_no_plan_takes_more_than_the_limit(rig: SqlQueueRig, plan: str, forbidden: tuple[str, ...]) -> None:
    jobs = [run.job() for run in rig.new_runs(60)]
    rig.queue.enqueue(jobs)
    rig.queue.enqueue([run.job(priority=Priority.BULK) for run in rig.new_runs(2)])
    taken: list[UUID] = []
    for limit in (1, 1, 1, 1, 1, 1, 1, 5):
        with transaction(everywhere=True) as opened:
            settings = [f"plan_cache_mode = {plan}", *(f"enable_{name} = off" for name in forbidden)]
            for setting in settings:
                opened.connection().exec_driver_sql(f"SET LOCAL {setting}")
            leases = rig.queue.claim("a", limit)
        assert len(leases) == limit
        taken += ids(leases)
    assert taken == ids(jobs[:12])


def test_the_number_of_statements_does_not_grow_with_the_jobs(rig: SqlQueueRig, bare_app: Flask) -> None:
    runs = rig.new_runs(30)
    rig.queue.enqueue([run.job() for run in runs])
    leases = rig.queue.claim("a", 30)
    with plans() as seen:
        rig.queue.heartbeat(leases)
        assert len(seen) == 1
        rig.queue.live_of_runs([run.id for run in runs])
        assert len(seen) == 2
        rig.queue.release(leases)
        assert len(seen) == 3
        rig.queue.cancel_run(uuid4())
        assert len(seen) == 4
