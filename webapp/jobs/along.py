"""What else a claim does, in its own stroke, to rows of which the queue knows nothing.

A job in hand means something to those who work on it, and that must hold in the same moment or not at all. A
transaction of several statements would do, but each of them is a round trip between a job and its first line.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from sqlite3 import Cursor
from typing import Any, Generic, TypeVar
from uuid import UUID

Found = TypeVar("Found")


@dataclass(frozen=True)
class Along(Generic[Found]):
    """Written for both databases, in their drivers' own words. Whatever it raises undoes the claim.

    On PostgreSQL: common table expressions that may read `taken` (a row for each job that is being claimed), the last
    of them being `along`: the same rows, with more columns behind. `values` are its parameters as texts, for so many
    jobs at most. On SQLite: a call that is given the runs of the jobs, and answers with these columns for each. `read`
    makes of them what is handed out with the job.
    """

    postgresql: str
    values: Callable[[int], Mapping[str, str]]
    sqlite: Callable[[Cursor, Sequence[UUID]], list[tuple[Any, ...]]]
    read: Callable[[tuple[Any, ...]], Found]
