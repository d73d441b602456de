"""An answer of the database that never arrives: before or after it has decided, the client cannot know which."""

import io
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import func, select

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from tests.emulators.wire import Wire, wired
from tests.worker.bench import PATIENCE_SECONDS, Bench, finish, wait_for
from webapp.app import create_app
from webapp.db import reading
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.documents.model import Document
from webapp.jobs.states import JobStatus
from webapp.library.intake import ingest, receive
from webapp.pipeline.steps import StageContext
from webapp.worker.attempt import Outcome

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)


@pytest.fixture
def wire_and_url(database: DatabaseUnderTest) -> Iterator[tuple[Wire, str]]:
    with wired(database.url) as found:
        yield found


@pytest.fixture
def wire(wire_and_url: tuple[Wire, str]) -> Wire:
    return wire_and_url[0]


@pytest.fixture
def far_app(wire_and_url: tuple[Wire, str], tmp_path: Path) -> Iterator[Flask]:
    quick = {"POLL_SECONDS": "0.05", "HEARTBEAT_SECONDS": "0.2"}
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=wire_and_url[1], **quick))
    with app.app_context():
        yield app
    dispose(app)


@pytest.fixture
def far(far_app: Flask) -> Iterator[Bench]:
    """A bench whose database is at the other end of the wire."""
    bench = Bench(far_app, far_app.extensions["docmill"])
    yield bench
    bench.close()


@pytest.mark.parametrize("is_after", [False, True])
def test_the_last_commit_of_a_job(far: Bench, wire: Wire, is_after: bool) -> None:
    run_id = far.new_run()
    fault = wire.lose(b"RUN_SUCCEEDED", is_after=is_after)
    outcome = far.attempt(finish)
    assert fault.happened.is_set()
    if is_after:
        assert outcome is Outcome.LEASE_LOST, "it was done, and is not done again"
        assert far.states(run_id) == ("SUCCEEDED", "COMPLETED")
    else:
        assert outcome is Outcome.SNOOZED
        assert far.states(run_id) == ("RUNNING", "PENDING")
        assert far.events(run_id)[-1] == "JOB_WAITS"
    assert far.job(run_id).attempts == 0
    assert far.events(run_id).count("RUN_SUCCEEDED") == int(is_after)


@pytest.mark.parametrize("is_after", [False, True])
def test_the_end_of_a_failed_attempt_counts_once(far: Bench, wire: Wire, is_after: bool) -> None:
    run_id = far.new_run(max_attempts=5)
    fault = wire.lose(b"JOB_RETRY_SCHEDULED", is_after=is_after)

    def fails(context: StageContext) -> None:
        raise ValueError("as always")

    outcome = far.attempt(fails)
    assert fault.happened.is_set()
    assert outcome is (Outcome.LEASE_LOST if is_after else Outcome.RETRIED)
    assert far.job(run_id).attempts == 1
    assert far.events(run_id).count("JOB_RETRY_SCHEDULED") == 1


@pytest.mark.slow
@pytest.mark.parametrize("is_after", [False, True])
def test_a_claim(far: Bench, wire: Wire, is_after: bool) -> None:
    """Its jobs are found again under the worker's name, and no attempt is counted."""
    run_id = far.new_run()
    # The one statement of a claim names the worker, and is a transaction of its own.
    fault = wire.lose(b"RUN_STARTED", at=b"worker-0", is_after=is_after)
    far.pool(finish)
    assert fault.happened.wait(PATIENCE_SECONDS)
    wait_for(lambda: far.queue.counts()[JobStatus.COMPLETED] == 1)
    assert far.job(run_id).attempts == 0
    assert far.events(run_id).count("RUN_STARTED") == 1
    assert far.broken == []


@pytest.mark.parametrize("is_after", [False, True])
def test_an_upload(far: Bench, wire: Wire, is_after: bool) -> None:
    data = b"Some words that are worth keeping.\n"
    fault = wire.lose(b"INSERT INTO documents", is_after=is_after)
    incoming = receive(far.services.providers.blobs.incoming(), io.BytesIO(data), len(data))
    if is_after:
        found = ingest(far.services, far.org_id, incoming, "a.txt")
        assert found.duplicate_of is None
    else:
        with pytest.raises(DATABASE_ERRORS) as caught:
            ingest(far.services, far.org_id, incoming, "a.txt")
        assert trouble_of(caught.value)
    assert fault.happened.is_set()
    assert _documents(far.org_id) == int(is_after)
    assert len(list(far.services.providers.blobs.list())) == int(is_after)


def _documents(org_id: UUID) -> int:
    with reading(org_id) as session:
        return session.scalar(select(func.count()).select_from(Document)) or 0


@pytest.mark.slow
def test_a_wire_that_is_cut_again_and_again_delays_and_loses_nothing(far: Bench, wire: Wire) -> None:
    runs = [far.new_run(max_attempts=3) for _ in range(40)]
    far.pool(finish, threads=3)

    for _ in range(30):
        wire.cut(0.5)
        far.pools[0].wake()
    wait_for(lambda: far.queue.counts()[JobStatus.COMPLETED] == len(runs))
    assert far.broken == []
    assert {far.job(run).attempts for run in runs} == {0}
