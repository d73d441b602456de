"""Migrations: they run whole or not at all, one process at a time, and lead to what the models say."""

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import flask_migrate
import psycopg
import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from flask import Flask

from tests import postgres
from tests.conftest import DatabaseUnderTest, dispose, make_bare_app, settings_for
from webapp.clock import new_id
from webapp.db import Base


@pytest.fixture
def unmigrated(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Flask]:
    """An application on an empty database: SQLite, or PostgreSQL as its owner."""
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


on_both = pytest.mark.parametrize("unmigrated", ["sqlite", "postgresql"], indirect=True)


def _tables(app: Flask) -> set[str]:
    engine = sa.create_engine(app.config["DOCMILL_SETTINGS"].database_owner_url)
    found = set(sa.inspect(engine).get_table_names())
    engine.dispose()
    return found


def test_the_models_say_what_the_migrations_make(database: DatabaseUnderTest, tmp_path: Path) -> None:
    settings = settings_for(tmp_path, DATABASE_URL=database.url, DATABASE_OWNER_URL=database.owner_url)
    app = make_bare_app(settings)
    with app.app_context():
        flask_migrate.check()  # exits where they differ
    dispose(app)


@on_both
def test_drift_is_noticed(unmigrated: Flask) -> None:
    settings = unmigrated.config["DOCMILL_SETTINGS"]
    with unmigrated.app_context():
        flask_migrate.upgrade()
        engine = sa.create_engine(settings.database_owner_url)
        with engine.begin() as connection:
            connection.execute(sa.text("ALTER TABLE workers ADD COLUMN stray integer"))
        engine.dispose()
        with pytest.raises(SystemExit):
            flask_migrate.check()


_BROKEN = """
from alembic import op

revision = "broken"
down_revision = "{head}"


def upgrade():
    op.execute("CREATE TABLE half (id integer)")
    raise ArithmeticError("in the middle of a migration")
"""


@on_both
def test_a_migration_that_fails_leaves_nothing(unmigrated: Flask, tmp_path: Path) -> None:
    directory = tmp_path / "migrations"
    shutil.copytree(postgres.ROOT / "migrations", directory)
    (directory / "versions" / "broken.py").write_text(_BROKEN.format(head=_heads()[0]))
    with unmigrated.app_context(), pytest.raises(ArithmeticError):
        flask_migrate.upgrade(directory=str(directory))
    assert _tables(unmigrated) == set()


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
    directory = tmp_path / "migrations"
    shutil.copytree(postgres.ROOT / "migrations", directory)
    alter = _BROKEN.replace("CREATE TABLE half (id integer)", "ALTER TABLE orgs ADD COLUMN later integer")
    (directory / "versions" / "alter.py").write_text(alter.format(head=_heads()[0]).replace("    raise", "    # raise"))
    settings = settings_for(
        tmp_path, DATABASE_URL=postgresql_database.url, DATABASE_OWNER_URL=postgresql_database.owner_url
    )
    app = make_bare_app(settings)
    assert postgresql_database.superuser_url is not None
    with psycopg.connect(postgresql_database.superuser_url) as busy:
        busy.execute("SELECT count(*) FROM orgs")  # an open transaction holds its lock on the table
        with app.app_context(), pytest.raises(sa.exc.OperationalError, match="lock timeout"):
            flask_migrate.upgrade(directory=str(directory))
    dispose(app)


@pytest.mark.slow
@pytest.mark.parametrize("unmigrated", ["postgresql"], indirect=True)
def test_a_busy_process_never_waits_for_a_migration_that_waits(unmigrated: Flask) -> None:
    """A transaction that holds one table and then wants another is let through, whatever their order."""
    settings = unmigrated.config["DOCMILL_SETTINGS"]
    with unmigrated.app_context():
        flask_migrate.upgrade(revision="0002")
        engine = sa.create_engine(settings.database_owner_url, poolclass=sa.NullPool)
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
        with engine.connect() as connection:
            assert connection.scalar(sa.text("SELECT version_num FROM alembic_version")) == _heads()[0]
        engine.dispose()


def _migrate(app: Flask) -> None:
    with app.app_context():
        flask_migrate.upgrade()


@on_both
def test_a_full_database_goes_forward_without_losing_a_row(unmigrated: Flask) -> None:
    with unmigrated.app_context():
        flask_migrate.upgrade(revision="0001")
        engine = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
        sa.event.listen(engine, "connect", _see_everything)
        with engine.begin() as connection:
            _fill(connection)
            columns = _columns(connection)
            before = _rows(connection, columns)
        for step in (flask_migrate.upgrade, lambda: flask_migrate.downgrade(revision="0001"), flask_migrate.upgrade):
            step()
            with engine.connect() as connection:
                assert _rows(connection, columns) == before
        with engine.connect() as connection, pytest.raises(sa.exc.IntegrityError):
            connection.execute(sa.text("UPDATE document_processing_jobs SET locked_by = 'a' WHERE status = 'PENDING'"))
        with engine.connect() as connection, pytest.raises(sa.exc.IntegrityError):
            connection.execute(sa.text("UPDATE document_processing_jobs SET status = 'PENDING', completed_at = NULL"))
        with engine.connect() as connection, pytest.raises(sa.exc.IntegrityError):
            connection.execute(sa.text("UPDATE processing_runs SET finished_at = NULL WHERE state = 'SUCCEEDED'"))
        engine.dispose()


@pytest.mark.parametrize("unmigrated", ["postgresql"], indirect=True)
def test_the_rules_of_rows_can_be_called_by_the_roles_that_write_them(unmigrated: Flask) -> None:
    """Even where somebody is careful with what everybody may do."""
    settings = unmigrated.config["DOCMILL_SETTINGS"]
    engine = sa.create_engine(settings.database_owner_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER DEFAULT PRIVILEGES REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC"))
    with unmigrated.app_context():
        flask_migrate.upgrade()
    engine = sa.create_engine(settings.database_url, poolclass=sa.NullPool)
    sa.event.listen(engine, "connect", _see_everything)
    with engine.begin() as connection:
        _fill(connection)
    engine.dispose()


def _see_everything(connection: Any, _: object) -> None:
    is_sqlite = isinstance(connection, sqlite3.Connection)
    connection.execute("PRAGMA foreign_keys = ON" if is_sqlite else "SET app.scope = 'system'")
    connection.commit()


_FILL = (
    "INSERT INTO orgs (id, name, created_at) VALUES ('{id}', 'a', {now})",
    """
    INSERT INTO documents (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at,
        updated_at) VALUES ('{id}', '{id}', 'a', 'text/plain', 1, '{hash}', 'a', 'PROCESSING', {now}, {now})
    """,
    """
    INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at)
    VALUES ('{id}', '{id}', '{id}', 'QUEUED', 'UPLOAD', {now})
    """,
)
_FILL_RUN = """
INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at, started_at, finished_at, failure_type)
VALUES ('{run}', '{id}', '{id}', '{state}', 'RETRY', {now}, {started}, {finished}, {failure})
"""
_FILL_JOB = """
INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
    attempts, max_attempts, available_at, created_at, started_at, heartbeat_at, completed_at, locked_by, lease_id,
    error_log, updated_at)
VALUES ('{job}', '{id}', '{id}', '{id}', 'a', '{status}', 0, '{{}}', '{{}}', 0, 1, {now}, {now}, {held}, {held},
    {ended}, {worker}, {lease}, '[]', {now})
"""


def _fill(connection: sa.Connection) -> None:
    """An org, its document; runs and jobs in each state that a row may be in, of stages that never collide."""
    one, present = new_id().hex, "CURRENT_TIMESTAMP"
    for statement in _FILL:
        connection.exec_driver_sql(statement.format(id=one, hash=one * 2, now=present))
    for state in ("RUNNING", "SUCCEEDED", "TIMED_OUT", "FAILED", "CANCELLED"):
        values = {
            "started": present if state != "FAILED" else "NULL",
            "finished": present if state != "RUNNING" else "NULL",
            "failure": "'CANCELLED'" if state in {"FAILED", "CANCELLED"} else "NULL",
        }
        run = _FILL_RUN.format(run=new_id().hex, id=one, state=state, now=present, **values)
        connection.exec_driver_sql(run)
    for status in ("PROCESSING", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED"):
        is_held = status == "PROCESSING"
        values = {
            "held": present if is_held else "NULL",
            "ended": "NULL" if is_held else present,
            "worker": "'a'" if is_held else "NULL",
            "lease": f"'{one}'" if is_held else "NULL",
        }
        job = _FILL_JOB.format(job=new_id().hex, id=one, status=status, now=present, **values)
        connection.exec_driver_sql(job)
    waiting = {"held": "NULL", "ended": "NULL", "worker": "NULL", "lease": "NULL"}
    job = _FILL_JOB.format(job=new_id().hex, id=one, status="PENDING", now=present, **waiting)
    connection.exec_driver_sql(job.replace("'a', 'PENDING'", "'b', 'PENDING'"))


_FILLED = ("documents", "processing_runs", "document_processing_jobs")


def _columns(connection: sa.Connection) -> dict[str, str]:
    """The columns that these tables have now: later ones are added to them."""
    found = sa.inspect(connection)
    return {table: ", ".join(column["name"] for column in found.get_columns(table)) for table in _FILLED}


def _rows(connection: sa.Connection, columns: dict[str, str]) -> list[tuple[object, ...]]:
    found = [connection.exec_driver_sql(f"SELECT {columns[table]} FROM {table} ORDER BY id") for table in _FILLED]
    return [tuple(row) for rows in found for row in rows]


@pytest.mark.parametrize("unmigrated", ["sqlite"], indirect=True)
def test_a_migration_that_leaves_rows_without_what_they_refer_to_is_rolled_back(
    unmigrated: Flask, tmp_path: Path
) -> None:
    """Foreign keys rest while SQLite's tables are made anew, so they are looked at before the commit."""
    directory = tmp_path / "migrations"
    shutil.copytree(postgres.ROOT / "migrations", directory)
    losing = _BROKEN.replace("CREATE TABLE half (id integer)", "DELETE FROM orgs").replace("    raise", "    # raise")
    (directory / "versions" / "losing.py").write_text(losing.format(head=_heads()[0]))
    with unmigrated.app_context():
        flask_migrate.upgrade()
        engine = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
        with engine.begin() as connection:
            _fill(connection)
        with pytest.raises(SystemExit):
            flask_migrate.upgrade(directory=str(directory))
        with engine.connect() as connection:
            assert len(connection.exec_driver_sql("SELECT id FROM orgs").all()) == 1
        engine.dispose()


def test_there_is_one_head() -> None:
    assert len(_heads()) == 1


def _heads() -> list[str]:
    config = Config()
    config.set_main_option("script_location", str(postgres.ROOT / "migrations"))
    return list(ScriptDirectory.from_config(config).get_heads())


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
    assert of_orgs == guarded


_FILL_CHUNK = """
INSERT INTO chunks (id, org_id, document_id, ordinal, text, text_sha256, created_at)
VALUES ('{chunk}', '{id}', '{id}', {ordinal}, '{text}', 'a', {now})
"""
_FILL_CONNECTION = """
INSERT INTO connections (source_chunk_id, target_chunk_id, kind, org_id, score, created_at)
VALUES ('{source}', '{target}', 'near_duplicate', '{id}', 1, {now})
"""


@on_both
def test_connections_of_passages_that_say_nothing_go_and_the_passages_stay(unmigrated: Flask) -> None:
    with unmigrated.app_context():
        flask_migrate.upgrade(revision="0007")
        engine = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
        sa.event.listen(engine, "connect", _see_everything)
        one = new_id().hex
        texts = ["* * *", "…", "Rye", "Рожь", "* * *", "٣"]
        chunks = [new_id().hex for _ in texts]
        with engine.begin() as connection:
            for statement in _FILL:
                connection.exec_driver_sql(statement.format(id=one, hash=one * 2, now="CURRENT_TIMESTAMP"))
            for ordinal, (chunk, text) in enumerate(zip(chunks, texts, strict=True)):
                values = {"chunk": chunk, "id": one, "ordinal": ordinal, "text": text, "now": "CURRENT_TIMESTAMP"}
                connection.exec_driver_sql(_FILL_CHUNK.format(**values))
            for source, target in ((0, 4), (1, 2), (3, 0), (2, 3), (5, 3)):
                ends = {"source": chunks[source], "target": chunks[target]}
                connection.exec_driver_sql(_FILL_CONNECTION.format(id=one, now="CURRENT_TIMESTAMP", **ends))
        flask_migrate.upgrade()
        with engine.connect() as connection:
            left = connection.exec_driver_sql("SELECT source_chunk_id, target_chunk_id FROM connections").all()
            number = connection.exec_driver_sql("SELECT count(*) FROM chunks").scalar()
        engine.dispose()
    found = {tuple(str(end).replace("-", "") for end in row) for row in left}
    assert found == {(chunks[2], chunks[3]), (chunks[5], chunks[3])}
    assert number == len(texts)
