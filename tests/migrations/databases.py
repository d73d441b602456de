"""What the tests of migrations ask a database for, whatever revision its tables are at."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.script import ScriptDirectory
from flask import Flask

from tests import postgres

MIGRATIONS = postgres.ROOT / "migrations"
on_both = pytest.mark.parametrize("unmigrated", ["sqlite", "postgresql"], indirect=True)


@contextmanager
def connections(app: Flask) -> Iterator[sa.Engine]:
    """Connections of the tables' owner, who sees the rows of all orgs."""
    engine = sa.create_engine(app.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
    sa.event.listen(engine, "connect", see_everything)
    yield engine
    engine.dispose()


def see_everything(connection: Any, _: object) -> None:
    """On PostgreSQL row-level security applies to the owner, too; SQLite checks foreign keys when it is told to."""
    is_sqlite = isinstance(connection, sqlite3.Connection)
    connection.execute("PRAGMA foreign_keys = ON" if is_sqlite else "SET app.scope = 'system'")
    connection.commit()


def do(engine: sa.Engine, *statements: str) -> None:
    """Execute them in one transaction."""
    with engine.begin() as connection:
        for statement in statements:
            connection.exec_driver_sql(statement)


def found(engine: sa.Engine, query: str) -> list[tuple[object, ...]]:
    """The rows that a query finds."""
    with engine.connect() as connection:
        return [tuple(row) for row in connection.exec_driver_sql(query)]


def scripts() -> ScriptDirectory:
    """The migrations, as Alembic reads them."""
    return ScriptDirectory.from_config(Config(MIGRATIONS / "alembic.ini"))
