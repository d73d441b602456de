"""Where Docmill is given a role that row-level security does not apply to, its transactions run as another one."""

import logging
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import flask_migrate
import psycopg
import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from tests import postgres
from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.worker.bench import wait_for
from webapp.accounts import orgs, users
from webapp.accounts.roles import Role
from webapp.app import create_app
from webapp.db import reading, row_security, transaction
from webapp.db.grants import grant
from webapp.db.role import SERVING_ROLE
from webapp.worker.process import WorkerProcess

# Each test copies and upgrades a database of its own.
pytestmark = pytest.mark.slow

NOTICE = (
    "The database role postgres is a superuser; Docmill serves as docmill_serving, to which row-level security applies."
)
MakeDatabase = Callable[[str], postgres.DatabaseUrls]


@pytest.fixture
def urls(postgres_server: postgres.Server, postgres_template: str, worker_id: str) -> Iterator[postgres.DatabaseUrls]:
    """A database of its own, which ordinary roles migrated."""
    name = f"serving_{worker_id}"
    yield postgres_server.create_database(name, template=postgres_template)
    postgres_server.drop_database(name)


@contextmanager
def application(folder: Path, url: str, **variables: str) -> Iterator[Flask]:
    app = make_bare_app(settings_for(folder, DATABASE_URL=url, **variables))
    with app.app_context():
        yield app
    dispose(app)


@pytest.fixture
def app(urls: postgres.DatabaseUrls, tmp_path: Path) -> Iterator[Flask]:
    """An application of a superuser's, on a database that was upgraded as one."""
    with application(tmp_path, urls.superuser_url) as app:
        flask_migrate.upgrade()
        yield app


@pytest.fixture
def two_orgs(app: Flask) -> tuple[UUID, UUID]:
    """Each with one person."""
    with transaction(everywhere=True):
        ours, theirs = (orgs.create(name).id for name in ("Ours", "Theirs"))
        for org_id in (ours, theirs):
            users.create(org_id, "ana@example.org", Role.MEMBER)
    return ours, theirs


class TestSuperuser:
    def test_a_query_that_forgets_its_org_sees_no_row_of_another(self, two_orgs: tuple[UUID, UUID]) -> None:
        ours, _ = two_orgs
        for opened in (transaction, reading):
            with opened(ours) as session:
                assert session.execute(text("SELECT org_id FROM users")).all() == [(ours,)]
        with reading(everywhere=True) as session:
            assert session.scalar(text("SELECT count(*) FROM users")) == 2

    def test_another_orgs_row_is_neither_changed_nor_deleted(self, two_orgs: tuple[UUID, UUID]) -> None:
        ours, theirs = two_orgs
        for statement in ("UPDATE users SET role = 'ops'", "DELETE FROM users"):
            with transaction(ours) as session:
                found = session.execute(text(f"{statement} WHERE org_id = :org RETURNING id"), {"org": theirs})
                assert found.all() == []
        with reading(theirs) as session:
            assert session.scalars(text("SELECT role FROM users")).all() == ["member"]

    def test_no_row_is_written_into_another_org(self, two_orgs: tuple[UUID, UUID]) -> None:
        ours, theirs = two_orgs
        with pytest.raises(DBAPIError) as refused, transaction(ours) as session:
            session.execute(text("UPDATE users SET org_id = :org, email = 'spy@x'"), {"org": theirs})
        assert getattr(refused.value.orig, "sqlstate", None) == "42501"

    @pytest.mark.parametrize(
        "statement", ["ALTER TABLE users DISABLE ROW LEVEL SECURITY", "TRUNCATE users", "CREATE TABLE x ()"]
    )
    def test_it_may_work_on_rows_and_nothing_else(self, two_orgs: tuple[UUID, UUID], statement: str) -> None:
        with pytest.raises(DBAPIError) as refused, transaction(two_orgs[0]) as session:
            session.execute(text(statement))
        assert getattr(refused.value.orig, "sqlstate", None) == "42501"

    def test_the_role_ends_with_the_transaction(self, two_orgs: tuple[UUID, UUID]) -> None:
        with transaction(two_orgs[0]) as session:
            assert session.scalar(text("SELECT current_user")) == SERVING_ROLE
            driver = _driver(session)
        for failing in (False, True):
            assert driver.execute("SELECT current_user").fetchone() == ("postgres",)
            if not failing:
                with pytest.raises(ZeroDivisionError), transaction(two_orgs[0]):
                    raise ZeroDivisionError

    def test_nothing_is_wrong_and_it_is_said_plainly(self, app: Flask) -> None:
        settings = app.config["DOCMILL_SETTINGS"]
        assert (row_security.fault(), row_security.refusal(settings)) == (None, None)
        assert not row_security.awaits_upgrade(settings)
        assert row_security.notice() == NOTICE

    def test_an_upgrade_may_be_repeated(self, app: Flask) -> None:
        flask_migrate.upgrade()
        assert row_security.notice() == NOTICE


def _driver(session: Any) -> "psycopg.Connection[Any]":
    driver: psycopg.Connection[Any] = session.connection().connection.driver_connection
    return driver


def _sent(org_id: UUID, folder: Path) -> list[str]:
    """What is sent to the server for a transaction of one statement, on a connection that was used before."""
    with transaction(org_id) as session:
        driver = _driver(session)
    path = folder / "trace"
    with path.open("w") as file:
        driver.pgconn.trace(file.fileno())
        with transaction(org_id) as session:
            assert _driver(session) is driver
            session.execute(text("SELECT 1"))
        driver.pgconn.untrace()
    return [line for line in path.read_text().splitlines() if "\tF\t" in line and ("Query" in line or "Parse" in line)]


@pytest.mark.usefixtures("app")
def test_the_role_is_set_in_the_round_trip_of_the_beginning(two_orgs: tuple[UUID, UUID], tmp_path: Path) -> None:
    begin, select, commit = _sent(two_orgs[0], tmp_path)
    assert "BEGIN; SELECT set_config('role', 'docmill_serving', true), set_config('app.org_id'" in begin
    assert "SELECT 1" in select
    assert "COMMIT" in commit


def test_an_ordinary_role_takes_on_none(postgresql_database: DatabaseUnderTest, tmp_path: Path) -> None:
    with application(tmp_path, postgresql_database.url):
        with transaction(everywhere=True):
            org_id = orgs.create("Ours").id
        begin, select, commit = _sent(org_id, tmp_path)
        assert row_security.notice() is None
        with reading(org_id) as session:
            assert session.scalar(text("SELECT current_user = session_user")) is True
    assert "BEGIN; SELECT set_config('app.org_id'" in begin
    assert "role" not in begin + select + commit


@pytest.mark.parametrize("variables", [{"ROW_SECURITY": "warn"}, {"EXECUTION": "embedded"}])
def test_before_the_upgrade_it_goes_on_without_where_it_may(
    urls: postgres.DatabaseUrls, tmp_path: Path, variables: dict[str, str]
) -> None:
    """From the upgrade on, transactions of the processes that run already take on the role, too."""
    with application(tmp_path, urls.superuser_url, **variables) as app:
        settings = app.config["DOCMILL_SETTINGS"]
        assert "is a superuser, so row-level security does not keep" in str(row_security.fault())
        assert row_security.refusal(settings) is None
        assert not row_security.awaits_upgrade(settings)
        flask_migrate.upgrade()
        assert (row_security.fault(), row_security.notice()) == (None, NOTICE)


def test_a_worker_waits_for_the_upgrade_that_makes_the_role(
    urls: postgres.DatabaseUrls, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The tables are this version's already; the web process brings the rest up to date beside the worker."""
    app = create_app(settings_for(tmp_path, DATABASE_URL=urls.superuser_url))
    with app.app_context(), caplog.at_level(logging.INFO):
        process = WorkerProcess(app.extensions["docmill"], lambda reason: None, handlers={})
        assert [process.is_database_ready() for _ in range(2)] == [False] * 2
        assert len([message for message in caplog.messages if "db upgrade" in message]) == 1
        flask_migrate.upgrade()
        assert process.is_database_ready()
        assert process.reason_to_refuse() is None
    assert NOTICE in caplog.messages
    dispose(app)


def test_a_database_that_was_prepared_stays_so_when_an_ordinary_role_upgrades_it(
    app: Flask, urls: postgres.DatabaseUrls, tmp_path: Path
) -> None:
    with psycopg.connect(urls.owner_url) as connection:
        connection.execute("CREATE TABLE later (id int)")
    with application(tmp_path, urls.runtime_url, DATABASE_OWNER_URL=urls.owner_url):
        flask_migrate.upgrade()
    with psycopg.connect(urls.owner_url) as connection:
        row = connection.execute("SELECT has_table_privilege('docmill_serving', 'later', 'INSERT')").fetchone()
    assert row == (True,)


@dataclass(frozen=True)
class Cluster:
    """A server whose roles are this test's alone."""

    server: postgres.Server
    make: MakeDatabase

    def execute(self, statement: str, database: str = "postgres") -> None:
        with psycopg.connect(self.server.url("postgres", database), autocommit=True) as connection:
            connection.execute(statement.encode())

    def url_of(self, role: str, database: str) -> str:
        return f"postgresql://{role}:secret@127.0.0.1:{self.server.port}/{database}"


@pytest.fixture(scope="module")
def own_server() -> Iterator[postgres.Server]:
    with pytest.MonkeyPatch.context() as patch:
        # Without it, it is nobody else's: roles belong to all databases of a server.
        patch.delenv("PYTEST_XDIST_TESTRUNUID", raising=False)
        with postgres.server() as server:
            yield server


@pytest.fixture
def cluster(own_server: postgres.Server) -> Iterator[Cluster]:
    """Without the serving role, and with a role that bypasses row-level security."""
    made: list[str] = []

    def make(name: str) -> postgres.DatabaseUrls:
        made.append(name)
        return own_server.create_database(name)

    cluster = Cluster(own_server, make)
    cluster.execute("CREATE ROLE bypassing LOGIN BYPASSRLS PASSWORD 'secret'")
    yield cluster
    for name in made:
        own_server.drop_database(name)
    for role in (SERVING_ROLE, "bypassing"):
        cluster.execute(f"DROP ROLE IF EXISTS {role}")


class TestRoles:
    def test_a_role_that_bypasses_it_and_makes_roles_serves_as_another(self, cluster: Cluster, tmp_path: Path) -> None:
        cluster.make("bypassed")
        cluster.execute("ALTER DATABASE bypassed OWNER TO bypassing")
        cluster.execute("ALTER ROLE bypassing CREATEROLE")
        with application(tmp_path, cluster.url_of("bypassing", "bypassed")) as app:
            assert row_security.awaits_upgrade(app.config["DOCMILL_SETTINGS"])
            flask_migrate.upgrade()
            assert row_security.refusal(app.config["DOCMILL_SETTINGS"]) is None
            assert str(row_security.notice()).startswith("The database role bypassing has BYPASSRLS; Docmill serves as")
            with transaction(everywhere=True):
                ours, _ = orgs.create("Ours").id, orgs.create("Theirs").id
                users.create(ours, "ana@example.org", Role.MEMBER)
            with reading(ours) as session:
                assert session.scalar(text("SELECT count(*) FROM users")) == 1

    @pytest.mark.parametrize("exists", [False, True])
    def test_one_that_may_make_no_roles_is_refused(
        self, cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture, exists: bool
    ) -> None:
        cluster.make("bypassed")
        cluster.execute("ALTER DATABASE bypassed OWNER TO bypassing")
        if exists:
            cluster.execute(f"CREATE ROLE {SERVING_ROLE}")
        with application(tmp_path, cluster.url_of("bypassing", "bypassed")) as app:
            flask_migrate.upgrade()
            refusal = row_security.refusal(app.config["DOCMILL_SETTINGS"])
            assert not row_security.awaits_upgrade(app.config["DOCMILL_SETTINGS"])
        assert "The database role bypassing has BYPASSRLS, so row-level security does not keep" in str(refusal)
        assert [message for message in caplog.messages if "could not be made or granted" in message]
        if exists:
            cluster.execute(f"GRANT {SERVING_ROLE} TO bypassing")
            with application(tmp_path, cluster.url_of("bypassing", "bypassed")) as app:
                flask_migrate.upgrade()
                assert row_security.refusal(app.config["DOCMILL_SETTINGS"]) is None

    def test_an_owner_without_rights_leaves_it_to_the_role_that_serves(self, cluster: Cluster, tmp_path: Path) -> None:
        urls = cluster.make("owned")
        with application(tmp_path, urls.superuser_url, DATABASE_OWNER_URL=urls.owner_url):
            flask_migrate.upgrade()
            assert (row_security.fault(), row_security.notice()) == (None, NOTICE)

    def test_an_owner_who_may_admits_the_role_that_serves(self, cluster: Cluster, tmp_path: Path) -> None:
        urls = cluster.make("owned")
        url = cluster.url_of("bypassing", "owned")
        with application(tmp_path, url, DATABASE_OWNER_URL=urls.superuser_url):
            flask_migrate.upgrade()
            assert row_security.fault() is None

    def test_a_role_of_that_name_with_rights_of_its_own_is_not_used(self, cluster: Cluster, tmp_path: Path) -> None:
        urls = cluster.make("strange")
        cluster.execute(f"CREATE ROLE {SERVING_ROLE} BYPASSRLS")
        with application(tmp_path, urls.superuser_url):
            flask_migrate.upgrade()
            assert "is a superuser, so" in str(row_security.fault())

    def test_two_databases_of_one_server_may_be_migrated_at_once(self, cluster: Cluster, tmp_path: Path) -> None:
        with ExitStack() as stack, ThreadPoolExecutor(1) as other:
            settings, engines = [], []
            for name in ("first", "second"):
                url = cluster.make(name).superuser_url
                settings.append(settings_for(tmp_path / name, DATABASE_URL=url))
                engines.append(sa.create_engine(settings[-1].database_url, poolclass=sa.NullPool))
            first, second = (stack.enter_context(engine.connect()) for engine in engines)
            for connection in (first, second):
                connection.execute(text("CREATE TABLE alembic_version ()"))
            pid = second.scalar(text("SELECT pg_backend_pid()"))
            grant(first, settings[0])
            done = other.submit(grant, second, settings[1])
            with engines[0].connect() as watching:
                _wait_until_blocked(watching, pid)
            first.commit()
            done.result(20)
            second.commit()
            for connection in (first, second):
                granted = text("SELECT has_table_privilege('docmill_serving', 'alembic_version', 'SELECT')")
                assert connection.scalar(granted) is True


def _wait_until_blocked(connection: sa.Connection, pid: Any) -> None:
    wait_for(lambda: bool(connection.scalar(text("SELECT cardinality(pg_blocking_pids(:pid)) > 0"), {"pid": pid})))
