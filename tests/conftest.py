"""What every test uses: both databases, migrated, empty, and served by a role without privileges.

`database` is parametrised: a test that asks for it, directly or through `bare_app` or `app`, runs
once on SQLite and once on PostgreSQL; `@pytest.mark.parametrize("database", ["postgresql"], indirect=True)`
keeps one that is about what only PostgreSQL does to it.
"""

import contextlib
import fcntl
import functools
import os
import shutil
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
from argon2 import PasswordHasher
from flask import Flask
from flask_migrate import upgrade
from sqlalchemy import create_engine, text

from tests import postgres
from tests.applications import MEMORY_MB, CompiledTemplates, Keeper
from tests.bare import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.emptied import Emptied
from tests.redis_server import RedisServer, running_redis
from webapp.accounts import passwords
from webapp.app import create_app
from webapp.config import Settings
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.local.opener import LocalOpener

CHEAP_HASHER = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1)

# Many tests know them from here.
__all__ = ["DatabaseUnderTest", "dispose", "make_bare_app", "settings_for"]


Flask.jinja_options["bytecode_cache"] = CompiledTemplates()
# Power does not fail here, so nobody has to wait for the disk. Processes that tests start do wait.
os.fsync = lambda fd: None
# Nobody here speaks TLS, but many clients want to read all the world's certificates before they begin.
ssl.create_default_context = functools.cache(ssl.create_default_context)  # type: ignore[assignment] # takes the same


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
def shared_folder(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder of all the workers of this test run."""
    own = tmp_path_factory.getbasetemp()
    return own if worker_id == "master" else own.parent


@contextlib.contextmanager
def _for_the_first(done: Path) -> Iterator[bool]:
    """Whether this worker has to do it; the others wait until it is done."""
    with done.with_suffix(".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield not done.exists()
        done.touch()


@pytest.fixture(scope="session")
def postgres_template(postgres_server: postgres.Server, shared_folder: Path) -> str:
    """A migrated database to copy: it goes with its server."""
    name = "template_migrated"
    # The last worker to leave a server ends it; another one may be started for those that come later.
    with _for_the_first(shared_folder / f"postgres-{postgres_server.port}.migrated") as is_first:
        if is_first:
            urls = postgres_server.create_database(name)
            _migrate(settings_for(shared_folder, DATABASE_URL=urls.runtime_url, DATABASE_OWNER_URL=urls.owner_url))
    return name


@pytest.fixture(scope="session")
def sqlite_template(shared_folder: Path) -> Path:
    """A migrated SQLite file to copy."""
    path = shared_folder / "template.sqlite3"
    with _for_the_first(shared_folder / "sqlite.migrated") as is_first:
        if is_first:
            _migrate(settings_for(shared_folder, DATABASE_URL=f"sqlite:///{path}"))
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


@pytest.fixture(scope="session")
def keeper() -> Iterator[Keeper]:
    """The applications that the tests of this worker share."""
    keeper = Keeper()
    yield keeper
    keeper.close()


@pytest.fixture(scope="session")
def local_extractor(keeper: Keeper) -> LocalExtractor:
    """One parsers' process for all tests of this worker."""
    return keeper.extractor


@pytest.fixture(scope="session")
def local_opener(keeper: Keeper) -> LocalOpener:
    """One process that opens locked files for all tests of this worker."""
    return keeper.opener


@pytest.fixture(scope="session")
def sqlite_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where each test finds its SQLite file: always here, so that one engine serves them all."""
    return tmp_path_factory.mktemp("sqlite") / "docmill.sqlite3"


@pytest.fixture
def sqlite_database(sqlite_template: Path, sqlite_place: Path, keeper: Keeper) -> Iterator[DatabaseUnderTest]:
    """SQLite alone, for what only it does."""
    for leftover in sqlite_place.parent.iterdir():
        leftover.unlink()
    shutil.copyfile(sqlite_template, sqlite_place)
    url = f"sqlite:///{sqlite_place}"
    yield DatabaseUnderTest("sqlite", url, url)
    keeper.close_connections(url)


@pytest.fixture(scope="session")
def reused_database(
    postgres_server: postgres.Server, postgres_template: str, keeper: Keeper, worker_id: str
) -> Iterator[Emptied]:
    """One database for the tests of this worker, one after the other: emptying is faster than copying."""
    name = f"test_{worker_id}"
    urls = postgres_server.create_database(name, template=postgres_template)
    with contextlib.closing(Emptied(urls, keeper)) as emptied:
        yield emptied
    postgres_server.drop_database(name)


@pytest.fixture
def postgresql_database(reused_database: Emptied) -> Iterator[DatabaseUnderTest]:
    """PostgreSQL alone, for what only it does; the product's role is the one without privileges."""
    urls = reused_database.urls
    yield DatabaseUnderTest("postgresql", urls.runtime_url, urls.owner_url, urls.superuser_url)
    reused_database.empty()


@pytest.fixture
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same hashes with parameters that cost nothing; tests/accounts/test_passwords.py has the real ones."""
    monkeypatch.setattr(passwords, "_hasher", CHEAP_HASHER)
    nobody = CHEAP_HASHER.hash("nobody signs in with this")
    monkeypatch.setattr(passwords, "_nobody", lambda: nobody)


@pytest.fixture
def settings(database: DatabaseUnderTest, tmp_path: Path) -> Settings:
    """Settings on the database under test; quick timings, so that no test waits."""
    return settings_for(
        tmp_path / "data",
        DATABASE_URL=database.url,
        POLL_SECONDS="0.05",
        HEARTBEAT_SECONDS="0.2",
        BACKOFF_BASE_SECONDS="0.1",
        EXTRACT_MEMORY_MB=str(MEMORY_MB),
        MODELS_DIR=str(postgres.ROOT / ".cache" / "models"),
    )


@pytest.fixture
def bare_app(settings: Settings, keeper: Keeper) -> Iterator[Flask]:
    """The database alone, inside an application context: for the rooms below the web."""
    app = keeper.bare(settings)
    with app.app_context():
        yield app
    keeper.take_back(app)


@pytest.fixture
def app(settings: Settings, keeper: Keeper) -> Iterator[Flask]:
    """The whole application; the tests before and after use it, too."""
    app = keeper.whole(settings)
    yield app
    keeper.take_back(app)


@pytest.fixture
def own_app(settings: Settings) -> Iterator[Flask]:
    """The whole application, for a test that changes it."""
    app = create_app(settings)
    app.testing = True
    yield app
    dispose(app)


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """A running redis-server for the tests of this worker; whoever asks for it has the mark `redis`."""
    with running_redis() as server:
        yield server
