"""Both ends of every connection miss the other when it vanishes without a word."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask

from webapp.db import db
from webapp.jobs.connections import connections
from webapp.worker.host_lock import AdvisoryLock
from webapp.worker.session_lock import SessionLock

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
LONGEST_SECONDS = 30

Borrowed = Callable[[], Any]


@contextmanager
def _of_the_pool() -> Iterator[Any]:
    with db.engine.connect() as connection:
        yield connection.connection.driver_connection


@contextmanager
def _of_the_queue() -> Iterator[Any]:
    with connections().lend() as here:
        yield here.cursor.connection


@contextmanager
def _of_the_listener() -> Iterator[Any]:
    line = connections().open()
    yield line
    line.close()


@contextmanager
def _of_the_session_lock() -> Iterator[Any]:
    lock = SessionLock(db.engine)
    lock.acquire()
    assert lock._connection is not None
    yield lock._connection.connection.driver_connection
    lock.let_go()


@contextmanager
def _of_the_host_lock() -> Iterator[Any]:
    lock = AdvisoryLock(db.engine)
    lock.acquire()
    assert lock._connection is not None
    yield lock._connection.connection.driver_connection
    lock.release()


@pytest.mark.parametrize(
    "borrowed", [_of_the_pool, _of_the_queue, _of_the_listener, _of_the_session_lock, _of_the_host_lock]
)
def test_a_vanished_end_is_missed_soon(bare_app: Flask, borrowed: Borrowed) -> None:
    with borrowed() as connection:
        assert _client_waits(connection.fileno()) <= LONGEST_SECONDS
        assert _server_waits(connection) <= LONGEST_SECONDS


def _client_waits(number: int) -> float:
    with socket.socket(fileno=os.dup(number)) as end:
        assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        found = [
            end.getsockopt(socket.IPPROTO_TCP, name)
            for name in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT, socket.TCP_USER_TIMEOUT)
        ]
    idle, interval, count, unanswered_ms = found
    assert unanswered_ms > 0
    return float(max(idle + interval * count, unanswered_ms / 1000))


def _server_waits(connection: Any) -> float:
    with connection.cursor() as cursor:
        found = [
            int(cursor.execute("SELECT setting FROM pg_settings WHERE name = %s", [name]).fetchone()[0])
            for name in (
                "tcp_keepalives_idle",
                "tcp_keepalives_interval",
                "tcp_keepalives_count",
                "tcp_user_timeout",
            )
        ]
    idle, interval, count, unanswered_ms = found
    assert unanswered_ms > 0
    return float(max(idle + interval * count, unanswered_ms / 1000))
