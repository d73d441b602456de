"""Transactions that are done once more, where the database ended one of two that waited for each other."""

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError

from webapp.db.errors import is_deadlock

Result = TypeVar("Result")


def once_more(work: Callable[[], Result]) -> Result:
    """The result of `work`, which opens a transaction of its own and does nothing beside it.

    It is called again where a deadlock ended the first transaction: the other one of the two goes on meanwhile.
    """
    try:
        return work()
    except DBAPIError as error:
        if not is_deadlock(error):
            raise
    return work()
