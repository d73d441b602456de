"""A statement that costs one call into the driver: prepared at its first use on a connection, values as texts.

A driver's cursor looks at every value and every time at the statement; for one that ends a single job that takes
longer than ending it.
"""

import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from itertools import count
from typing import Any
from weakref import WeakSet

import psycopg
from psycopg.adapt import Transformer
from psycopg.errors import error_from_result
from psycopg.pq import ExecStatus
from psycopg.pq.abc import PGresult

from webapp.jobs.hot import Hot

_DONE = {ExecStatus.COMMAND_OK, ExecStatus.TUPLES_OK}


class Prepared:
    """One statement. Its values are texts in the database's own notation, in the places of `%s`, or of `%(name)s`."""

    def __init__(self, text: str) -> None:
        self._text = text
        numbers, self._numbers = count(1), dict[str, int]()
        self._wire = re.sub(r"%(?:\((\w+)\))?s", lambda place: f"${self._number(place[1], numbers)}", text).encode()
        self._name = f"docmill {sha256(text.encode()).hexdigest()[:16]}".encode()
        self._known: WeakSet[psycopg.Connection[Any]] = WeakSet()

    def rows(self, here: Hot, values: Sequence[str]) -> int:
        """Do it; how many rows that changed."""
        if not here.is_own:
            # Who knows what stands between us and the server, and what it keeps.
            return int(here.cursor.execute(self._text, values).rowcount)
        return self._do(here.cursor.connection, values).command_tuples or 0

    def fetch(self, here: Hot, values: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Do it, with values by their names; the rows that it brings."""
        if not here.is_own:
            found: list[tuple[Any, ...]] = here.cursor.execute(self._text, values).fetchall()
            return found
        connection = here.cursor.connection
        result = self._do(connection, [values[name] for name in self._numbers])
        rows = Transformer.from_context(connection)
        rows.set_pgresult(result)
        return rows.load_rows(0, result.ntuples, tuple)

    def _number(self, name: str | None, numbers: "count[int]") -> int:
        """A name has one number in all its places."""
        return next(numbers) if name is None else self._numbers.setdefault(name, len(self._numbers) + 1)

    def _do(self, connection: "psycopg.Connection[Any]", values: Sequence[str]) -> PGresult:
        if connection not in self._known:
            _checked(connection, connection.pgconn.prepare(self._name, self._wire))
            self._known.add(connection)
        sent = [value.encode() for value in values]
        if any(0 in value for value in sent):
            raise psycopg.DataError("a text with a zero byte cannot be stored")
        return _checked(connection, connection.pgconn.exec_prepared(self._name, sent))


def _checked(connection: "psycopg.Connection[Any]", result: PGresult) -> PGresult:
    if result.status in _DONE:
        return result
    if connection.broken or connection.closed:
        raise psycopg.OperationalError("the connection was lost")
    raise error_from_result(result, connection.info.encoding)
