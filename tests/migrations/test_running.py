"""Migrations run whole or not at all, one process at a time, and lead to what the models say."""

import shutil
import subprocess
import sys
from pathlib import Path

import flask_migrate
import psycopg
import pytest
import sqlalchemy as sa
from flask import Flask

from tests import postgres
from tests.bare import DatabaseUnderTest, dispose, make_bare_app, settings_for
from tests.migrations.databases import MIGRATIONS, connections, do, found, on_both, scripts, see_everything
from tests.migrations.filled import fill_states
from webapp.db import Base


def _tables(app: Flask) -> set[str]:
    with connections(app) as engine:
        return set(sa.inspect(engine).get_table_names())


def _with_one_more(folder: Path, does: str, *, fails: bool = False) -> str:
    """The migrations, and behind the newest another one that does this."""
    directory = folder / "migrations"
    shutil.copytree(MIGRATIONS, directory)
    ending = 'raise ArithmeticError("in the middle of a migration")' if fails else ""
    values = {"head": scripts().get_current_head(), "does": does, "ending": ending}
    (directory / "versions" / "more.py").write_text(_MORE.format(**values))
    return str(directory)


_MORE = """
from alembic import op

revision = "more"
down_revision = "{head}"


def upgrade():
    op.execute("{does}")
    {ending}
"""


def test_the_models_say_what_the_migrations_make(database: DatabaseUnderTest, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, DATABASE_URL=database.url, DATABASE_OWNER_URL=database.owner_url)
    app = make_bare_app(settings)
    with app.app_context():
        flask_migrate.check()  # exits where they differ
    dispose(app)


@on_both
def test_drift_is_noticed(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        do(engine, "ALTER TABLE workers ADD COLUMN stray integer")
        with pytest.raises(SystemExit):
            flask_migrate.check()


@on_both
def test_a_migration_that_fails_leaves_nothing(unmigrated: Flask, tmp_path: Path) -> None:
    directory = _with_one_more(tmp_path, "CREATE TABLE half (id integer)", fails=True)
    with unmigrated.app_context(), pytest.raises(ArithmeticError):
        flask_migrate.upgrade(directory=directory)
    assert _tables(unmigrated) == set()


@on_both
def test_a_new_database_does_without_the_earlier_migrations(unmigrated: Flask, tmp_path: Path) -> None:
    directory = _with_one_more(tmp_path, "CREATE TABLE later (id integer)")
    for path in Path(directory, "earlier").glob("*.py"):
        path.write_text(path.read_text().replace("def upgrade() -> None:", "def upgrade() -> None:\n    assert False"))
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(directory=directory)
        assert found(engine, "SELECT version_num FROM alembic_version") == [("more",)]
    assert {"documents", "later"} <= _tables(unmigrated)


@pytest.mark.slow
@on_both
def test_many_processes_may_migrate_at_once(unmigrated: Flask) -> None:
    settings = unmigrated.config["DOCMILL_SETTINGS"]
    environment = {
        "DATABASE_URL": settings.database_url,
        "DATABASE_OWNER_URL": settings.database_owner_url,
        "DATA_DIR": str(settings.data_dir),
        "PATH": "/usr/bin:/bin",
    }
    command = [sys.executable, "-c", _UPGRADE]
    processes = [subprocess.Popen(command, cwd=postgres.ROOT, env=environment) for _ in range(3)]
    assert [process.wait(timeout=50) for process in processes] == [0, 0, 0]
    assert "documents" in _tables(unmigrated)


_UPGRADE = """
import flask_migrate
from tests.conftest import make_bare_app
from webapp.config import Settings

app = make_bare_app(Settings.from_environment())
with app.app_context():
    flask_migrate.upgrade()
"""


@pytest.mark.slow
def test_a_lock_that_is_not_to_be_had_fails_the_migration(
    postgresql_database: DatabaseUnderTest, tmp_path: Path
) -> None:
    directory = _with_one_more(tmp_path, "ALTER TABLE orgs ADD COLUMN later integer")
    settings = settings_for(
        tmp_path, DATABASE_URL=postgresql_database.url, DATABASE_OWNER_URL=postgresql_database.owner_url
    )
    app = make_bare_app(settings)
    assert postgresql_database.superuser_url is not None
    with psycopg.connect(postgresql_database.superuser_url) as busy:
        busy.execute("SELECT count(*) FROM orgs")  # an open transaction holds its lock on the table
        with app.app_context(), pytest.raises(sa.exc.OperationalError, match="lock timeout"):
            flask_migrate.upgrade(directory=directory)
    dispose(app)


@pytest.mark.parametrize("unmigrated", ["postgresql"], indirect=True)
def test_who_writes_rows_may_call_the_functions_of_their_rules(unmigrated: Flask) -> None:
    """Even where somebody is careful with what everybody may do."""
    with unmigrated.app_context(), connections(unmigrated) as engine:
        do(engine, "ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC")
        flask_migrate.upgrade()
    serving = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_url, poolclass=sa.NullPool)
    sa.event.listen(serving, "connect", see_everything)
    with serving.begin() as connection:
        fill_states(connection)
    serving.dispose()


@pytest.mark.parametrize("unmigrated", ["sqlite"], indirect=True)
def test_a_migration_that_leaves_rows_without_what_they_refer_to_is_rolled_back(
    unmigrated: Flask, tmp_path: Path
) -> None:
    """Foreign keys rest while SQLite's tables are made anew, so they are looked at before the commit."""
    directory = _with_one_more(tmp_path, "DELETE FROM orgs")
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        with engine.begin() as connection:
            fill_states(connection)
        with pytest.raises(SystemExit):
            flask_migrate.upgrade(directory=directory)
        assert len(found(engine, "SELECT id FROM orgs")) == 1


def test_there_is_one_head() -> None:
    assert len(scripts().get_heads()) == 1


def test_every_table_of_an_org_has_forced_row_level_security(postgresql_database: DatabaseUnderTest) -> None:
    assert postgresql_database.superuser_url is not None
    with psycopg.connect(postgresql_database.superuser_url) as connection:
        guarded = {
            row[0]
            for row in connection.execute(
                "SELECT relname FROM pg_class WHERE relrowsecurity AND relforcerowsecurity AND relkind = 'r'"
            )
        }
    of_orgs = {table.name for table in Base.metadata.sorted_tables if "org_id" in table.columns}
    # The index of words on PostgreSQL, which only SQL of our own reads.
    assert of_orgs | {"chunk_words"} == guarded
