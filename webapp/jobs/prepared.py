"""A statement that costs one call into the driver: prepared at its first use on a connection, values as texts.

A driver's cursor looks at every value and every time at the statement; for one that ends a single job that takes
longer than ending it.
"""

import re
from collections.abc import Sequence
from hashlib import sha256
from itertools import count
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from webapp.jobs.hot import Hot

_DONE = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class Prepared:
    """One statement. Its values are texts in the database's own notation, in the places of `%s`."""

    def __init__(self, text: str) -> None:
        self._text = text
        numbers = count(1)
        self._wire = re.sub("%s", lambda _: f"${next(numbers)}", text).encode()
        self._name = f"docmill {sha256(text.encode()).hexdigest()[:16]}".encode()
        self._known: WeakSet[psycopg.Connection[Any]] = WeakSet()

    def rows(self, here: Hot, values: Sequence[str]) -> int:
        """Do it; how many rows that changed."""
        if not here.is_own:
            # Who knows what stands between us and the server, and what it keeps.
            return int(here.cursor.execute(self._text, values).rowcount)
        connection: psycopg.Connection[Any] = here.cursor.connection
        if connection not in self._known:
            _checked(connection, connection.pgconn.prepare(self._name, self._wire))
            self._known.add(connection)
        sent = [value.encode() for value in values]
        if any(0 in value for value in sent):
            raise psycopg.DataError("a text with a zero byte cannot be stored")
        result = _checked(connection, connection.pgconn.exec_prepared(self._name, sent))
        return result.command_tuples or 0


def _checked(connection: "psycopg.Connection[Any]", result: PGresult) -> PGresult:
    if result.status in _DONE:
        return result
    if connection.broken or connection.closed:
        raise psycopg.OperationalError("the connection was lost")
    raise error_from_result(result, connection.info.encoding)
