"""Transactions: whose rows they are about, how they join, and what the column types keep."""

import threading
from datetime import UTC, datetime, timedelta, timezone
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import psycopg
import pytest
from flask import Flask
from sqlalchemy import func, literal, select, text
from sqlalchemy.exc import OperationalError

from tests.bare import DatabaseUnderTest, dispose, make_bare_app
from webapp.accounts.model import Org
from webapp.clock import after, new_id, now
from webapp.config import Settings
from webapp.db import NoTransaction, db, in_transaction, reading, session, transaction
from webapp.db.errors import Trouble, trouble_of
from webapp.search.model import CachedEmbedding


def add_org(name: str) -> UUID:
    with transaction(everywhere=True) as opened:
        org = Org(name=name)
        opened.add(org)
    return org.id


def add_org_and_fail(name: str) -> None:
    with transaction(everywhere=True):
        add_org(name)
        raise ArithmeticError


def org_names() -> list[str]:
    with reading(everywhere=True) as opened:
        return list(opened.scalars(select(Org.name).order_by(Org.name)))


def test_it_commits_at_the_end_and_not_before(bare_app: Flask) -> None:
    add_org("kept")
    with pytest.raises(ArithmeticError):
        add_org_and_fail("dropped")
    assert org_names() == ["kept"]
    assert not in_transaction()


def test_an_inner_transaction_joins_the_outer_one(bare_app: Flask) -> None:
    with pytest.raises(ArithmeticError):
        add_org_and_fail("inner")
    assert org_names() == []


def test_a_write_cannot_join_a_reading(bare_app: Flask) -> None:
    with reading(everywhere=True), pytest.raises(NoTransaction), transaction(everywhere=True):
        pass


def test_another_org_cannot_join(bare_app: Flask) -> None:
    with transaction(uuid4()), pytest.raises(NoTransaction), transaction(uuid4()):
        pass


def test_it_must_say_whose_rows(bare_app: Flask) -> None:
    with pytest.raises(NoTransaction), transaction():
        pass
    with pytest.raises(NoTransaction):
        session()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_lost_scope_shows_nothing(bare_app: Flask) -> None:
    """After a transaction its connection goes back to the pool without any org."""
    org = add_org("first")
    with transaction(org) as opened:
        opened.add(CachedEmbedding(org_id=org, model="m", text_sha256="0" * 64, embedding=[1.0]))
    with db.engine.connect() as connection:
        assert connection.scalar(select(func.count()).select_from(CachedEmbedding)) == 0


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_connection_that_dies_before_its_transaction_begins_is_let_go(
    bare_app: Flask, database: DatabaseUnderTest, caplog: pytest.LogCaptureFixture
) -> None:
    assert database.superuser_url
    with db.engine.connect() as connection:
        driver_connection: Any = connection.connection.driver_connection
        with psycopg.connect(database.superuser_url, autocommit=True) as killer:
            killer.execute("SELECT pg_terminate_backend(%s, 5000)", (driver_connection.info.backend_pid,))
        with pytest.raises(OperationalError) as lost:
            connection.begin()
        assert trouble_of(lost.value) is Trouble.AWAY
    with transaction(everywhere=True) as opened:
        assert opened.scalar(select(func.count()).select_from(Org)) == 0
    assert caplog.messages == []


def test_two_writers_wait_for_each_other(bare_app: Flask) -> None:
    """Reading and then writing in one transaction must not fail under contention."""
    org = add_org("0")

    def count_up() -> None:
        with bare_app.app_context():
            for _ in range(20):
                with transaction(everywhere=True) as opened:
                    found = opened.get_one(Org, org, with_for_update=True, populate_existing=True)
                    found.name = str(int(found.name) + 1)

    threads = [threading.Thread(target=count_up) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert org_names() == ["80"]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_sqlite_is_durable_and_strict(settings: Settings) -> None:
    app = make_bare_app(settings)
    with app.app_context(), reading(everywhere=True) as opened:
        found = [opened.execute(text(f"PRAGMA {name}")).scalar() for name in ("synchronous", "foreign_keys")]
    dispose(app)
    assert found == [2, 1]


def test_times_come_back_as_they_went_in(bare_app: Flask) -> None:
    moscow = timezone(timedelta(hours=3))
    moment = datetime(2026, 3, 1, 2, 30, 0, 123000, tzinfo=moscow)  # SQLite keeps milliseconds
    with transaction(everywhere=True) as opened:
        opened.add(Org(name="a", created_at=moment))
    with reading(everywhere=True) as opened:
        stored = opened.scalars(select(Org.created_at)).one()
    assert stored == moment
    assert stored.tzinfo is UTC


def test_a_time_without_zone_is_refused(bare_app: Flask) -> None:
    with pytest.raises(Exception, match="time zone"), transaction(everywhere=True) as opened:
        opened.add(Org(name="a", created_at=datetime(2026, 3, 1)))  # noqa: DTZ001 - that is the point


def test_the_database_tells_the_time(bare_app: Flask) -> None:
    with transaction(everywhere=True) as opened:
        opened.add(Org(name="now"))
        opened.add(Org(name="later", created_at=after(literal(90.5))))
    with reading(everywhere=True) as opened:
        first, later = opened.scalars(select(Org.created_at).order_by(Org.created_at)).all()
        due = opened.scalars(select(Org.name).where(Org.created_at <= now())).all()
    assert timedelta(seconds=90) < later - first < timedelta(seconds=92)
    assert due == ["now"]


def test_vectors_come_back_as_they_went_in(bare_app: Flask) -> None:
    org = add_org("a")
    with transaction(org) as opened:
        opened.add(CachedEmbedding(org_id=org, model="m", text_sha256="0" * 64, embedding=[0.5, -0.25, 3.0]))
    with reading(org) as opened:
        stored = opened.scalars(select(CachedEmbedding.embedding)).one()
    assert stored.dtype == np.float32
    assert stored.tolist() == [0.5, -0.25, 3.0]


def test_later_ids_sort_after_earlier_ones() -> None:
    made = [new_id() for _ in range(1000)]
    assert made == sorted(made)
    assert len(set(made)) == 1000
