"""Reads whose cost does not grow with the table: counts that stop, and plans by indexes."""

from dataclasses import dataclass
from typing import Any

from sqlalchemy import CTE, ColumnElement, ScalarSelect, Select, TextClause, func, literal_column, select

from webapp.db import ask_postgresql
from webapp.db.engines import INDEXES_ALONE

COUNTED_MAX = 10_000


@dataclass(frozen=True)
class Count:
    """A number of rows; `more` where counting stopped at COUNTED_MAX."""

    number: int = 0
    more: bool = False

    @classmethod
    def of(cls, counted: int | None) -> "Count":
        """From the result of `up_to_most`: COUNTED_MAX + 1 means "more"."""
        number = counted or 0
        return cls(min(number, COUNTED_MAX), number > COUNTED_MAX)

    def __add__(self, other: "Count") -> "Count":
        number = self.number + other.number
        return Count(min(number, COUNTED_MAX), self.more or other.more or number > COUNTED_MAX)

    def __bool__(self) -> bool:
        return self.number > 0


def up_to_most(rows: Select[Any]) -> ScalarSelect[int]:
    """How many rows there are, counted as far as COUNTED_MAX + 1."""
    # A literal: for a parameter the planner expects a tenth of the table.
    few = rows.with_only_columns(literal_column("1")).limit(literal_column(str(COUNTED_MAX + 1))).subquery()
    return select(func.count()).select_from(few).scalar_subquery()


def distinct_values(column: ColumnElement[Any], *conditions: ColumnElement[bool] | TextClause) -> CTE:
    """The distinct values of a column, as `value`: each is one probe of an index, however many rows have it.

    The last row is NULL.
    """
    first = select(func.min(column).label("value")).where(*conditions)
    known = first.cte(recursive=True)
    following = select(func.min(column)).where(*conditions, column > known.c.value).scalar_subquery()
    return known.union_all(select(following).where(known.c.value.is_not(None)))


def plan_by_indexes() -> None:
    """Let PostgreSQL use indexes alone, until the end of the open transaction.

    Statistics may be from before an import that brought most of the rows, and row-level security counts as one more
    condition that hardly any row meets. Left alone, the planner may then fetch and sort all rows of an org for a page.
    """
    ask_postgresql(_PLAN)


_PLAN = select(*(func.set_config(name, value, True) for name, value in INDEXES_ALONE.items()))
