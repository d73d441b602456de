"""A database that any earlier commit made is brought up by `flask db upgrade`, and is then like a new one."""

import functools
import io
from concurrent.futures import ThreadPoolExecutor

import flask_migrate
import pytest
import sqlalchemy as sa
from alembic.config import Config
from flask import Flask

from tests.migrations.databases import MIGRATIONS, connections, do, found, on_both, scripts
from tests.migrations.filled import Filled, fill_states
from tests.migrations.schema import schema_of
from webapp.db import schema_is_current

EARLIER = sorted(path.name[:4] for path in (MIGRATIONS / "earlier").glob("*.py"))
_VERSION = "SELECT version_num FROM alembic_version"


@pytest.mark.slow
@on_both
@pytest.mark.parametrize("revision", EARLIER)
def test_no_row_is_lost_and_the_tables_become_those_of_a_new_database(
    unmigrated: Flask, revision: str, request: pytest.FixtureRequest
) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision=revision)
        assert not schema_is_current()
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before = filled.rows(connection)
        assert all(before.values())
        flask_migrate.upgrade()
        assert schema_is_current()
        flask_migrate.check()  # exits where models and tables differ
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            schema = schema_of(connection)
    new = sa.create_engine(request.getfixturevalue(f"{engine.dialect.name}_database").owner_url)
    with new.connect() as connection:
        assert schema == schema_of(connection)
    new.dispose()


@on_both
def test_jobs_and_runs_of_each_state_go_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0001")
        with engine.begin() as connection:
            fill_states(connection)
            filled = Filled(connection)
            before = filled.rows(connection)
        for step in (flask_migrate.upgrade, lambda: flask_migrate.downgrade(revision="0001"), flask_migrate.upgrade):
            step()
            with engine.connect() as connection:
                assert filled.rows(connection) == before
        for impossible in (
            "UPDATE document_processing_jobs SET locked_by = 'a' WHERE status = 'PENDING'",
            "UPDATE document_processing_jobs SET status = 'PENDING', completed_at = NULL",
            "UPDATE processing_runs SET finished_at = NULL WHERE state = 'SUCCEEDED'",
        ):
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, impossible)


@on_both
def test_commands_know_the_earlier_revisions(unmigrated: Flask) -> None:
    head, said = scripts().get_current_head(), io.StringIO()
    with unmigrated.app_context(), connections(unmigrated) as engine:
        unmigrated.extensions["migrate"].migrate.configure(functools.partial(_speaking_into, said))
        flask_migrate.upgrade(revision="0005")
        with pytest.raises(SystemExit):
            flask_migrate.check()
        flask_migrate.current()
        flask_migrate.upgrade()
        flask_migrate.current()
        assert said.getvalue().split() == ["0005", head, "(head)"]
        with engine.begin() as connection:
            fill_states(connection)
        with pytest.raises(SystemExit):
            flask_migrate.downgrade(revision="base")
        assert found(engine, _VERSION) == [(head,)]
        assert len(found(engine, "SELECT id FROM documents")) == 1


def _speaking_into(output: io.StringIO, config: Config) -> Config:
    config.stdout = output
    return config


@pytest.mark.slow
@pytest.mark.parametrize("unmigrated", ["postgresql"], indirect=True)
def test_users_never_wait_for_a_migration_that_waits(unmigrated: Flask) -> None:
    """A transaction that holds one table and then wants another is let through, whatever their order."""
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0002")
        with ThreadPoolExecutor(1) as other, engine.connect() as busy:
            busy.execute(sa.text("SET lock_timeout = '2s'"))
            busy.execute(sa.text("LOCK TABLE chunks IN ROW EXCLUSIVE MODE"))
            migrated = other.submit(_migrate, unmigrated)
            with pytest.raises(TimeoutError):
                migrated.result(1)
            for table in ("documents", "processing_runs", "document_processing_jobs"):
                busy.execute(sa.text(f"LOCK TABLE {table} IN ROW EXCLUSIVE MODE"))
            busy.rollback()
            migrated.result(20)
        assert found(engine, _VERSION) == [(scripts().get_current_head(),)]


def _migrate(app: Flask) -> None:
    with app.app_context():
        flask_migrate.upgrade()
