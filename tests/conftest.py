"""What every test stands on: both databases, migrated, empty, and served by a role without privileges.

`database` is parametrised: a test that asks for it, directly or through `bare_app` or `app`, runs
once on SQLite and once on PostgreSQL; `@pytest.mark.parametrize("database", ["postgresql"], indirect=True)`
keeps one that is about what only PostgreSQL does to it.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import create_engine, text

from tests import postgres
from webapp.config import Settings
from webapp.db import db, init_database


@dataclass(frozen=True)
class DatabaseUnderTest:
    """A fresh, migrated database, and the URLs under which product and tests reach it."""

    name: str
    url: str
    owner_url: str
    superuser_url: str | None = None

    def environment(self, data_dir: Path, **more: str) -> dict[str, str]:
        """Variables with which a process of the product runs on it."""
        return {"DATABASE_URL": self.url, "DATA_DIR": str(data_dir), **more}


def settings_for(data_dir: Path, **variables: str) -> Settings:
    """Settings from these variables and nothing else: the tests' own environment plays no part."""
    return Settings.from_environment({"DATA_DIR": str(data_dir), "SECRET_KEY": "a key for tests only", **variables})


def make_bare_app(settings: Settings) -> Flask:
    """An application that has its database and nothing else."""
    app = Flask("webapp")
    init_database(app, settings)
    return app


def dispose(app: Flask) -> None:
    """Close the connections that the application holds."""
    with app.app_context():
        db.session.remove()
        db.engine.dispose()


def _migrate(settings: Settings) -> None:
    app = make_bare_app(settings)
    with app.app_context():
        upgrade()
    dispose(app)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[postgres.Server]:
    """The one embedded PostgreSQL of this test run."""
    with postgres.server() as server:
        yield server


@pytest.fixture(scope="session")
def postgres_template(
    postgres_server: postgres.Server, tmp_path_factory: pytest.TempPathFactory, worker_id: str
) -> Iterator[str]:
    """A migrated database to copy: once for each worker of the test run."""
    name = f"template_{worker_id}"
    urls = postgres_server.create_database(name)
    _migrate(
        settings_for(
            tmp_path_factory.mktemp("migrate"), DATABASE_URL=urls.runtime_url, DATABASE_OWNER_URL=urls.owner_url
        )
    )
    yield name
    postgres_server.drop_database(name)


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite file to copy."""
    path = tmp_path_factory.mktemp("template") / "docmill.sqlite3"
    _migrate(settings_for(path.parent, DATABASE_URL=f"sqlite:///{path}"))
    _leave_log(path)
    return path


def _leave_log(path: Path) -> None:
    """Everything into the one file, so that copying that file copies the database."""
    engine = create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)"))
    engine.dispose()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest) -> DatabaseUnderTest:
    """Each test runs on both databases."""
    found: DatabaseUnderTest = request.getfixturevalue(f"{request.param}_database")
    return found


@pytest.fixture
def sqlite_database(sqlite_template: Path, tmp_path: Path) -> DatabaseUnderTest:
    """SQLite alone, for what only it does."""
    path = tmp_path / "docmill.sqlite3"
    shutil.copy(sqlite_template, path)
    return DatabaseUnderTest("sqlite", f"sqlite:///{path}", f"sqlite:///{path}")


@pytest.fixture(scope="session")
def reused_database(
    postgres_server: postgres.Server, postgres_template: str, worker_id: str
) -> Iterator[postgres.DatabaseUrls]:
    """One database for the tests of this worker, one after the other: emptying is faster than copying."""
    name = f"test_{worker_id}"
    yield postgres_server.create_database(name, template=postgres_template)
    postgres_server.drop_database(name)


@pytest.fixture
def postgresql_database(reused_database: postgres.DatabaseUrls) -> Iterator[DatabaseUnderTest]:
    """PostgreSQL alone, for what only it does; the product's role is the one without privileges."""
    urls = reused_database
    yield DatabaseUnderTest("postgresql", urls.runtime_url, urls.owner_url, urls.superuser_url)
    with psycopg.connect(urls.superuser_url, autocommit=True) as connection:
        connection.execute(_END_OTHERS)
        bulky = connection.execute("DELETE FROM document_processing_jobs").rowcount > 5_000
        connection.execute("DELETE FROM orgs")
        connection.execute("DELETE FROM workers")
        connection.execute("DELETE FROM stage_controls")
        if bulky:
            connection.execute("VACUUM")


# Whoever is still connected belongs to a test that is over.
_END_OTHERS = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()
"""


@pytest.fixture
def settings(database: DatabaseUnderTest, tmp_path: Path) -> Settings:
    """Settings on the database under test; quick timings, so that no test waits."""
    return settings_for(
        tmp_path / "data",
        DATABASE_URL=database.url,
        POLL_SECONDS="0.05",
        HEARTBEAT_SECONDS="0.2",
        BACKOFF_BASE_SECONDS="0.1",
        MODELS_DIR=str(postgres.ROOT / ".cache" / "models"),
    )


@pytest.fixture
def bare_app(settings: Settings) -> Iterator[Flask]:
    """The database alone, inside an application context: for the rooms below the web."""
    app = make_bare_app(settings)
    with app.app_context():
        yield app
    dispose(app)


@pytest.fixture
def app(settings: Settings) -> Iterator[Flask]:
    """The whole application."""
    from webapp.app import create_app  # noqa: PLC0415 - moves up when every room is there

    app = create_app(settings)
    app.testing = True
    yield app
    dispose(app)
