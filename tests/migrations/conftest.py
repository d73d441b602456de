"""An application on an empty database, before any migration."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask import Flask

from tests import postgres
from tests.bare import dispose, make_bare_app, settings_for


@pytest.fixture
def unmigrated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """SQLite, or PostgreSQL as its owner: `on_both` runs a test on each."""
    if request.param == "sqlite":
        app = make_bare_app(settings_for(tmp_path))
        yield app
        dispose(app)
        return
    server: postgres.Server = request.getfixturevalue("postgres_server")
    name = f"unmigrated_{request.getfixturevalue('worker_id')}"
    urls = server.create_database(name)
    app = make_bare_app(settings_for(tmp_path, DATABASE_URL=urls.runtime_url, DATABASE_OWNER_URL=urls.owner_url))
    yield app
    dispose(app)
    server.drop_database(name)
