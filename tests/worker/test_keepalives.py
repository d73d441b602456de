"""Both ends of every connection detect that the other has vanished without a word."""

import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from flask import Flask

from webapp.db import db, session_url
from webapp.jobs.wakeup import Sleeper
from webapp.worker.locks import AdvisoryLock

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
LONGEST_SECONDS = 30

Borrowed = Callable[[], Any]


@contextmanager
def _of_the_pool() -> Iterator[Any]:
    with db.engine.connect() as connection:
        yield connection.connection.driver_connection


@contextmanager
def _of_the_listener() -> Iterator[Any]:
    sleeper = Sleeper()
    sleeper.fall_asleep()
    yield sleeper._connection
    sleeper.close()


@contextmanager
def _of_a_lock() -> Iterator[Any]:
    lock = AdvisoryLock(session_url())
    lock.acquire()
    yield lock.session.connection.driver_connection
    lock.release()


@pytest.mark.parametrize("borrowed", [_of_the_pool, _of_the_listener, _of_a_lock])
def test_a_peer_that_vanished_is_detected_soon(bare_app: Flask, borrowed: Borrowed) -> None:
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
