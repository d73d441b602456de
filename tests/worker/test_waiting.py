"""A worker that was started before there is anything to work on."""

import logging
from pathlib import Path

import pytest

from tests.conftest import dispose, settings_for
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
