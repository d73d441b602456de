"""A worker that was started before there is anything to work on."""

import logging
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Connection, Engine, event

from tests.conftest import DatabaseUnderTest, dispose, settings_for
from webapp.app import create_app
from webapp.worker.process import WorkerProcess


def test_who_waits_for_tables_says_so_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It looks every second, perhaps for a night: what it waits for is news only once."""
    app = create_app(settings_for(tmp_path / "empty"))
    with app.app_context(), caplog.at_level(logging.WARNING):
        process = WorkerProcess(app.extensions["docmill"], lambda reason: None, handlers={})
        assert [process.is_database_ready() for _ in range(3)] == [False] * 3
    assert [message for message in caplog.messages if "db upgrade" in message] == caplog.messages
    assert len(caplog.messages) == 1
    dispose(app)


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_database_that_goes_away_meanwhile_is_asked_again(database: DatabaseUnderTest, tmp_path: Path) -> None:
    app = create_app(settings_for(tmp_path / "data", DATABASE_URL=database.url))
    cut: list[str] = []

    def cut_off(connection: Connection, cursor: Any, statement: str, *_: Any) -> None:
        if "rolname, rolsuper, rolbypassrls" in statement and not cut:
            cut.append(statement)
            with psycopg.connect(str(database.superuser_url), autocommit=True) as other:
                other.execute("SELECT pg_terminate_backend(%s)", [cursor.connection.info.backend_pid])

    with app.app_context():
        process = WorkerProcess(app.extensions["docmill"], lambda reason: None, handlers={})
        event.listen(Engine, "before_cursor_execute", cut_off)
        try:
            assert not process.is_database_ready()
        finally:
            event.remove(Engine, "before_cursor_execute", cut_off)
        assert cut
        assert process.is_database_ready()
        assert process.reason_to_refuse() is None
    dispose(app)
