"""What is old is forgotten by the settings, and nobody waits for it."""

import threading
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from sqlalchemy import create_engine, func, insert, select, text, update

from tests.bare import DatabaseUnderTest
from tests.documents.rows import events_of, new_document
from tests.worker.bench import Bench
from webapp.clock import after, first_id_at, monotonic, new_id, utc_now
from webapp.db import reading, transaction
from webapp.db.pruning import Pruned
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import ProcessingRun, RunEvent
from webapp.documents.states import FailureType
from webapp.jobs.model import Job
from webapp.jobs.queue import JobError
from webapp.jobs.states import JobStatus
from webapp.runs import lifecycle
from webapp.runs.retention import EVENTS, ROWS_AT_ONCE, prune, prune_all

DAY = 86_400
MANY = 10_000


def grow_old(bench: Bench, days: float) -> None:
    with transaction(everywhere=True) as session:
        for table in (RunEvent, ProviderCall):
            session.execute(update(table).values(created_at=after(-days * DAY)))
        done = update(Job).where(Job.completed_at.is_not(None))
        session.execute(done.values(created_at=after(-days * DAY), completed_at=after(-days * DAY)))


def number_of(table: type[Job] | type[RunEvent] | type[ProviderCall] | type[ProcessingRun]) -> int:
    with reading(everywhere=True) as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def pruned(bench: Bench) -> dict[str, int]:
    """What was forgotten, but for the security log, which is empty here and has tests of its own."""
    found = prune(bench.services)
    assert found.pop("audit") == 0
    others = ("operations", "tag changes", "keys", "source items", "deliveries", "share links")
    assert [found.pop(other, 0) for other in others] == [0] * len(others)
    return found


def finished(bench: Bench) -> UUID:
    run_id = bench.new_run()
    lifecycle.succeed_run(bench.queue, bench.claim().lease)
    with transaction(bench.org_id) as session:
        call = {"provider": "local", "operation": "extract", "units": 1, "seconds": 0.1, "outcome": "ok"}
        session.execute(insert(ProviderCall).values(org_id=bench.org_id, run_id=run_id, reused=False, **call))
    return run_id


def test_jobs_go_after_a_month_and_history_stays(bench: Bench) -> None:
    run_id = finished(bench)
    assert pruned(bench) == {"jobs": 0}
    grow_old(bench, 31)
    assert pruned(bench) == {"jobs": 1}
    assert (number_of(Job), number_of(ProcessingRun), number_of(ProviderCall)) == (0, 1, 1)
    assert events_of(bench.org_id, run_id) == ["RUN_QUEUED", "RUN_STARTED", "RUN_SUCCEEDED"]
    assert bench.run(run_id).state == "SUCCEEDED"


def test_events_and_calls_go_where_the_settings_say_so(bench: Bench) -> None:
    run_id = finished(bench)
    grow_old(bench, 31)
    bench.with_queue(job_retention_days=0, event_retention_days=40, call_retention_days=7)
    assert pruned(bench) == {"events": 0, "calls": 1}
    bench.with_queue(event_retention_days=30)
    assert pruned(bench) == {"events": 3, "calls": 0}
    assert (number_of(Job), events_of(bench.org_id, run_id)) == (1, [])
    assert bench.run(run_id).state == "SUCCEEDED"


def test_a_setting_of_nothing_keeps_all(bench: Bench) -> None:
    finished(bench)
    grow_old(bench, 5000)
    bench.with_queue(job_retention_days=0)
    assert pruned(bench) == {}
    assert number_of(Job) == 1


def test_a_failed_job_is_kept_until_its_document_has_a_newer_run(bench: Bench) -> None:
    document_id = new_document(bench.org_id)
    bench.new_run(document_id)
    lifecycle.fail_run(bench.queue, bench.claim().lease, FailureType.STEP_FAILED, JobError("code", "message"))
    other = bench.new_run()
    bench.queue.cancel_run(other)
    grow_old(bench, 31)
    assert pruned(bench) == {"jobs": 1}  # the cancelled one
    assert [job.status for job in bench.queue.find(bench.org_id)] == [JobStatus.FAILED]
    bench.new_run(document_id)
    assert pruned(bench) == {"jobs": 1}
    assert [job.status for job in bench.queue.find(bench.org_id)] == [JobStatus.PENDING]


@pytest.mark.slow
def test_a_table_keeps_its_size_when_as_much_goes_as_comes(bench: Bench, database: DatabaseUnderTest) -> None:
    sizes = []
    for _ in range(5):
        fill(bench, 2_000)
        sizes.append(tidied_size(database))
        assert pruned(bench)["jobs"] >= 2_000
        # As autovacuum does, but always before more rows come.
        tidied_size(database)
    assert sizes[-1] <= 1.2 * sizes[1]


def tidied_size(database: DatabaseUnderTest) -> int:
    """The bytes of the jobs, after the server has noted the space of deleted rows; SQLite has it noted at once."""
    engine = create_engine(database.owner_url, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        if engine.dialect.name == "sqlite":
            found = connection.execute(text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size"))
        else:
            connection.execute(text("VACUUM document_processing_jobs"))
            found = connection.execute(text("SELECT pg_total_relation_size('document_processing_jobs')"))
        size = int(found.scalar_one())
    engine.dispose()
    return size


def fill(bench: Bench, number: int) -> None:
    """Rows as they would be after long use, faster than by use."""
    run_id = bench.new_run()
    document_id = bench.run(run_id).document_id
    bench.queue.cancel_run(run_id)
    shared = {"org_id": bench.org_id, "document_id": document_id, "run_id": run_id, "stage": "done", "max_attempts": 1}
    old = {"status": JobStatus.COMPLETED, "created_at": after(-40 * DAY), "completed_at": after(-40 * DAY)}
    with transaction(everywhere=True) as session:
        rows = [{"id": new_id()} for _ in range(number)]
        session.connection().execute(insert(Job).values(**shared, **old), rows)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_claims_go_on_while_much_is_forgotten(bench: Bench) -> None:
    fill(bench, MANY)
    done: list[dict[str, int]] = []

    def forget() -> None:
        with bench.app.app_context():
            done.append(pruned(bench))

    for _ in range(5):
        bench.new_run(new_document(bench.org_id))
    thread = threading.Thread(target=forget)
    thread.start()
    longest, claims = 0.0, 0
    while thread.is_alive():
        start = monotonic()
        leases = bench.queue.claim("worker", 1)
        longest, claims = max(longest, monotonic() - start), claims + len(leases)
        bench.queue.release(leases)
    thread.join()
    assert done == [{"jobs": MANY}]
    assert claims > 10
    assert longest < 1.0


def test_it_stops_when_the_process_ends(bench: Bench) -> None:
    fill(bench, 1200)
    ending = threading.Event()
    ending.set()
    assert 0 < prune(bench.services, ending)["jobs"] <= 500


def with_ids_of(bench: Bench, moment: datetime, number: int, **times: object) -> None:
    """Rows whose maker's clock said so, as many."""
    bench.new_run()
    first = first_id_at(moment).int
    with transaction(everywhere=True) as session:
        run_id = session.scalars(select(RunEvent.run_id)).first()
        document_id = session.scalar(select(RunEvent.document_id).where(RunEvent.run_id == run_id))
        shared = {"org_id": bench.org_id, "document_id": document_id, "run_id": run_id, "kind": "RUN_QUEUED", **times}
        rows = [{"id": UUID(int=first + place)} for place in range(1, number + 1)]
        session.connection().execute(insert(RunEvent).values(**shared), rows)


@pytest.mark.parametrize("days", [-40, 0, 400])
def test_a_clock_that_was_wrong_keeps_nothing_for_ever(bench: Bench, days: float) -> None:
    bench.with_queue(job_retention_days=0, event_retention_days=30)
    long_ago, more_than_a_page = utc_now() - timedelta(days=40), ROWS_AT_ONCE + 100
    # Young, but made by a clock that was far behind; then old ones, made by one as it is now or was wrong, too.
    with_ids_of(bench, long_ago - timedelta(days=5), more_than_a_page)
    with_ids_of(bench, utc_now() + timedelta(days=days), more_than_a_page, created_at=after(-40 * DAY))
    kept = number_of(RunEvent) - more_than_a_page
    assert pruned(bench) == {"events": more_than_a_page}
    assert number_of(RunEvent) == kept


def test_a_pass_does_not_look_at_all_that_is_young(bench: Bench) -> None:
    with_ids_of(bench, utc_now(), 5 * ROWS_AT_ONCE)
    pages = 0

    def page(**where: object) -> Pruned:
        nonlocal pages
        pages += 1
        return EVENTS.prune_page(30 * DAY, **where)  # type: ignore[arg-type] # as the pass gives it

    assert prune_all(page, threading.Event()) == 0
    assert pages == 2
