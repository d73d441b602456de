"""The migration that keeps delayed and waiting jobs out of the index of due ones."""

import flask_migrate
import sqlalchemy as sa
from flask import Flask

from tests.test_migration_pages import _connections
from tests.test_migrations import _FILL, _FILL_JOB, on_both, unmigrated  # noqa: F401 - a fixture
from webapp.clock import new_id

_TIMES = {"due": "'2020-01-01 00:00:00.000'", "delayed": "'2999-01-01 00:00:00.000'", "waiting": "NULL"}
_WAKES = "SELECT stage, wakes_at IS NULL, available_at IS NULL FROM document_processing_jobs ORDER BY stage"


@on_both
def test_delayed_and_waiting_jobs_get_the_time_at_which_they_wake(unmigrated: Flask) -> None:  # noqa: F811
    """Stage by stage: a job that is due has none, one that waits for a run has one far away."""
    one, nothing = new_id().hex, {"held": "NULL", "ended": "NULL", "worker": "NULL", "lease": "NULL"}
    with unmigrated.app_context(), _connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0008")
        with engine.begin() as connection:
            for statement in _FILL:
                connection.exec_driver_sql(statement.format(id=one, hash=one * 2, now="CURRENT_TIMESTAMP"))
            for stage, time in _TIMES.items():
                job = _FILL_JOB.format(job=new_id().hex, id=one, status="PENDING", now="CURRENT_TIMESTAMP", **nothing)
                connection.exec_driver_sql(job.replace("'a', 'PENDING'", f"'{stage}', 'PENDING'"))
                change = f"UPDATE document_processing_jobs SET available_at = {time} WHERE stage = '{stage}'"
                connection.exec_driver_sql(change)
        for _ in range(2):
            flask_migrate.upgrade()
            with engine.connect() as connection:
                found = [tuple(map(bool, row[1:])) for row in connection.exec_driver_sql(_WAKES)]
                wakes = connection.exec_driver_sql(
                    "SELECT CAST(wakes_at AS text) FROM document_processing_jobs WHERE stage = 'waiting'"
                ).scalar_one()
            assert found == [(False, False), (True, False), (False, True)], "delayed, due, waiting"
            assert wakes.startswith(("9000-01-01", "8999-12-31"))
            flask_migrate.downgrade(revision="0008")
            with engine.connect() as connection:
                columns = {column["name"] for column in sa.inspect(connection).get_columns("document_processing_jobs")}
                number = connection.exec_driver_sql("SELECT count(*) FROM document_processing_jobs").scalar_one()
            assert "wakes_at" not in columns
            assert number == len(_TIMES)
