"""Notices when the database refuses a row because of a foreign key: something referred to what is not there.

Nothing is stored wrongly then, but code that relies on it lost work. So it is counted.
"""

import logging
import re
from collections.abc import Callable
from functools import partial

from sqlalchemy import Engine, event
from sqlalchemy.engine import ExceptionContext

from webapp.db.later import write_later

_log = logging.getLogger(__name__)

_FOREIGN_KEY = {"23503", "SQLITE_CONSTRAINT_FOREIGNKEY"}
_TABLE = re.compile(r"\b(?:INSERT INTO|UPDATE|DELETE FROM)\s+\"?(\w+)", re.IGNORECASE)


def report_refusals(engine: Engine, store: Callable[[str], None]) -> None:
    """Call `store` with the name of the table, in a transaction of its own, for each row that was refused."""

    @event.listens_for(engine, "handle_error")
    def _look(context: ExceptionContext) -> None:
        if not is_foreign_key(context.original_exception):
            return
        found = _TABLE.search(context.statement or "")
        table = found[1].lower() if found else "unknown"
        _log.error("the database refused a row of %s: it refers to a row that is not there", table)
        write_later(f"that a row of {table} was refused", partial(store, table))


def is_foreign_key(error: BaseException) -> bool:
    """Whether a driver's error says that a foreign key was violated."""
    return (getattr(error, "sqlstate", None) or getattr(error, "sqlite_errorname", None)) in _FOREIGN_KEY
