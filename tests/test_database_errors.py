"""Which errors pass by themselves: real ones, made by the real drivers, as far as a test can make them."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from webapp.db.errors import Trouble, trouble_of


@pytest.mark.parametrize(
    ("state", "trouble"),
    [
        ("40P01", Trouble.BUSY),
        ("40001", Trouble.BUSY),
        ("55P03", Trouble.BUSY),
        ("57014", Trouble.BUSY),
        ("53300", Trouble.BUSY),
        ("53100", Trouble.FULL),
        ("57P01", Trouble.AWAY),
        ("57P03", Trouble.AWAY),
        ("08006", Trouble.AWAY),
        ("25006", Trouble.AWAY),
        ("25P03", Trouble.AWAY),
        ("58030", Trouble.AWAY),
        ("42703", None),
        ("23505", None),
        ("54000", None),
        ("P0001", None),
    ],
)
def test_postgresql_says_it_by_its_state(state: str, trouble: Trouble | None) -> None:
    error = psycopg.errors.lookup(state)("what it says does not matter")
    assert trouble_of(error) is trouble
    assert trouble_of(DBAPIError.instance("SELECT", {}, error, psycopg.Error)) is trouble


def test_a_connection_that_is_gone_has_no_state() -> None:
    assert trouble_of(psycopg.OperationalError("the connection is closed")) is Trouble.AWAY
    lost = ProgrammingError("SELECT", {}, psycopg.ProgrammingError("odd"), connection_invalidated=True)
    assert trouble_of(lost) is Trouble.AWAY


def test_a_pool_without_a_free_connection_is_busy() -> None:
    assert trouble_of(PoolTimeout("QueuePool limit reached")) is Trouble.BUSY


def test_what_is_no_error_of_the_database_is_none() -> None:
    assert trouble_of(ValueError("x")) is None
    assert trouble_of(IntegrityError("INSERT", {}, Exception("x"))) is None
    assert trouble_of(OperationalError("BEGIN", {}, Exception("away"))) is Trouble.AWAY


class TestSqlite:
    def _error(self, act: Callable[[], object]) -> sqlite3.Error:
        with pytest.raises(sqlite3.Error) as caught:
            act()
        return caught.value

    def test_a_lock_that_others_hold(self, tmp_path: Path) -> None:
        first, second = (sqlite3.connect(tmp_path / "x", timeout=0, isolation_level=None) for _ in range(2))
        first.execute("BEGIN IMMEDIATE")
        assert trouble_of(self._error(lambda: second.execute("BEGIN IMMEDIATE"))) is Trouble.BUSY
        first.close()
        second.close()

    def test_a_full_disk(self, tmp_path: Path) -> None:
        connection = sqlite3.connect(tmp_path / "x", isolation_level=None)
        connection.execute("CREATE TABLE t (x)")
        connection.execute("PRAGMA max_page_count = 3")
        fill = "INSERT INTO t VALUES (zeroblob(100000))"
        assert trouble_of(self._error(lambda: connection.execute(fill))) is Trouble.FULL
        connection.close()

    def test_a_file_that_cannot_be_opened(self, tmp_path: Path) -> None:
        assert trouble_of(self._error(lambda: sqlite3.connect(tmp_path / "no" / "x"))) is Trouble.AWAY

    def test_a_statement_that_is_wrong(self, tmp_path: Path) -> None:
        connection = sqlite3.connect(tmp_path / "x")
        assert trouble_of(self._error(lambda: connection.execute("SELECT nothing"))) is None
        connection.close()
