"""A database that takes no more rows: by SQLite's own limit, or by the error that PostgreSQL answers with."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
from sqlalchemy import event, text

from tests.bare import DatabaseUnderTest
from webapp.db import db


@contextmanager
def full_database(database: DatabaseUnderTest, table: str, *, spare_pages: int) -> Iterator[None]:
    """Full for this process: on PostgreSQL for rows of one table, on SQLite but for so many pages."""
    with _full_sqlite(spare_pages) if database.name == "sqlite" else _full_postgresql(database, table):
        yield


@contextmanager
def _full_sqlite(spare_pages: int) -> Iterator[None]:
    with db.engine.connect() as connection:
        pages = connection.execute(text("PRAGMA page_count")).scalar_one()

    def limit(connection: Any, _: object) -> None:
        connection.execute(f"PRAGMA max_page_count = {pages + spare_pages}")

    db.engine.dispose()
    event.listen(db.engine, "connect", limit)
    try:
        yield
    finally:
        event.remove(db.engine, "connect", limit)
        db.engine.dispose()


@contextmanager
def _full_postgresql(database: DatabaseUnderTest, table: str) -> Iterator[None]:
    with psycopg.connect(str(database.superuser_url), autocommit=True) as superuser:
        superuser.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE EXCEPTION 'as the test says' USING ERRCODE = '53100'; END $$"
        )
        superuser.execute(
            f"CREATE TRIGGER refuse BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION refuse()".encode()
        )
        try:
            yield
        finally:
            superuser.execute("DROP FUNCTION refuse CASCADE")
