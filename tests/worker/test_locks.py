"""Locks that end with their process: of the embedded host, and of each worker."""

import psycopg
import pytest
from flask import Flask

from tests.conftest import DatabaseUnderTest
from tests.worker.bench import wait_for
from webapp.db import session_url
from webapp.worker.locks import AdvisoryLock, host_lock


def test_one_of_two_is_the_host_until_it_releases_the_lock(bare_app: Flask) -> None:
    first, second = host_lock(session_url()), host_lock(session_url())
    assert first.acquire()
    assert not second.acquire()
    assert (first.is_held(), second.is_held()) == (True, False)
    first.release()
    assert second.acquire()
    assert not first.is_held()
    second.release()


def test_releasing_nothing_is_no_error(bare_app: Flask) -> None:
    host_lock(session_url()).release()


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_a_lost_session_is_noticed_at_once_and_frees_the_lock(bare_app: Flask, database: DatabaseUnderTest) -> None:
    lock, other = AdvisoryLock(session_url()), AdvisoryLock(session_url())
    assert lock.acquire(4711)
    assert not lock.wait_for_end(0.01)
    with psycopg.connect(str(database.superuser_url)) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    assert lock.wait_for_end(30)
    assert not lock.is_held()
    wait_for(lambda: other.acquire(4711))
    for each in (lock, other):
        each.release()
