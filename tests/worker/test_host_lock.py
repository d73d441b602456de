"""Exactly one process is the embedded host of a database."""

import psycopg
from flask import Flask

from tests.conftest import DatabaseUnderTest
from tests.worker.bench import wait_for
from webapp.db import db
from webapp.worker.host_lock import AdvisoryLock, host_lock


def test_one_of_two_is_the_host_until_it_lets_go(bare_app: Flask) -> None:
    first, second = host_lock(db.engine), host_lock(db.engine)
    assert first.acquire()
    assert not second.acquire()
    assert (first.is_held(), second.is_held()) == (True, False)
    first.release()
    assert second.acquire()
    assert not first.is_held()
    second.release()


def test_letting_go_of_nothing_is_no_error(bare_app: Flask) -> None:
    host_lock(db.engine).release()


def test_a_lost_connection_is_noticed(bare_app: Flask, database: DatabaseUnderTest) -> None:
    lock = host_lock(db.engine)
    assert lock.acquire()
    if isinstance(lock, AdvisoryLock):
        assert database.superuser_url is not None
        with psycopg.connect(database.superuser_url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
                " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
            )
        wait_for(lambda: not lock.is_held())
    lock.release()
