"""A worker that freezes inside the transaction that publishes a result: others finish its work, it writes nothing."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.conftest import DatabaseUnderTest
from tests.journeys.site import Installation
from tests.pipeline.workplace import prose
from tests.worker.bench import wait_for
from webapp.clock import monotonic
from webapp.db.engines import IDLE_IN_TRANSACTION_SECONDS

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.journey, pytest.mark.timeout(300)]

ZOMBIE_AFTER_SECONDS = 3
# What a loaded machine may add.
PATIENCE_SECONDS = 20
TABLES = ("chunks", "run_events", "processing_runs", "documents", "artifacts", "document_processing_jobs")


@pytest.fixture
def site(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> Iterator[Installation]:
    variables = {
        **postgresql_database.environment(tmp_path / "data"),
        "DATABASE_OWNER_URL": postgresql_database.owner_url,
        "POLL_SECONDS": "0.1",
        "HEARTBEAT_SECONDS": "0.2",
        "ZOMBIE_AFTER_SECONDS": str(ZOMBIE_AFTER_SECONDS),
        "WATCHDOG_SECONDS": "0.5",
        "WORKER_THREADS": "1",
        "EMBED_THREADS": "1",
        "WEB_CONCURRENCY": "1",
    }
    site = Installation(variables, tmp_path / "site.log", patience_seconds=60)
    site.token = site.flask("tokens", "create", "--org", "Ours", "--role", "ops")
    with site.running("gunicorn", "wsgi:app"):
        site.wait_until_ready()
        yield site


def _is_stopped(process: "subprocess.Popen[bytes]") -> bool:
    state = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state == "T"


def _rows(database: DatabaseUnderTest) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(str(database.superuser_url)) as connection:
        return {
            table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2".encode()).fetchall() for table in TABLES
        }


@pytest.mark.parametrize("place", ["webapp.search.index._add", "webapp.pipeline.publish._describe"])
def test_a_frozen_worker_holds_nobody_up_and_writes_nothing(
    site: Installation, postgresql_database: DatabaseUnderTest, place: str
) -> None:
    with site.running(sys.executable, "-m", "tests.journeys.frozen", place) as frozen:
        [uploaded] = site.upload({"a.md": prose(3)})
        wait_for(lambda: _is_stopped(frozen), f"for the freeze; the log is {site.log}", 60)
        began_at = monotonic()
        with ThreadPoolExecutor(1) as person, site.running(sys.executable, "worker.py") as other:
            asked = person.submit(site.post, f"/documents/{uploaded['id']}/reprocess")
            assert asked.result()["status"] == "PROCESSING", "not 503"
            assert monotonic() - began_at < IDLE_IN_TRANSACTION_SECONDS + PATIENCE_SECONDS
            site.wait_for_status(uploaded["id"], "READY")
            assert monotonic() - began_at < IDLE_IN_TRANSACTION_SECONDS + ZOMBIE_AFTER_SECONDS + PATIENCE_SECONDS
            began_at = monotonic()
            site.post(f"/documents/{uploaded['id']}/reprocess")
            assert monotonic() - began_at < 5
            site.wait_for_status(uploaded["id"], "READY")
            wait_for(lambda: _is_settled(postgresql_database))
            assert _is_stopped(frozen)
            other.send_signal(signal.SIGTERM)
            other.wait(30)
        before = _rows(postgresql_database)
        assert [row for row in before["processing_runs"] if "SUCCEEDED" not in row] == []
        os.kill(frozen.pid, signal.SIGCONT)
        wait_for(lambda: ": LEASE_LOST" in site.log.read_text(), f"for its end; the log is {site.log}")
        assert _rows(postgresql_database) == before
        [again] = site.upload({"b.md": prose(3, start=70)})
        site.wait_for_status(again["id"], "READY")
        assert frozen.poll() is None, "the same process works again"


def _is_settled(database: DatabaseUnderTest) -> bool:
    jobs = "SELECT count(*) FROM document_processing_jobs WHERE status IN ('PENDING', 'PROCESSING')"
    with psycopg.connect(str(database.superuser_url)) as connection:
        return connection.execute(jobs.encode()).fetchone() == (0,)
