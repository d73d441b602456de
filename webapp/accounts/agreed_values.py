"""Values that all processes of an installation have in common, on whichever machine they run."""

from typing import cast

from sqlalchemy import Table, select
from sqlalchemy.dialects import postgresql

from webapp.accounts.model import AgreedValue
from webapp.db import reading, transaction

_values = cast(Table, AgreedValue.__table__)


def agree(name: str, proposed: str) -> str:
    """The value that all processes use under this name: that of the process which proposed one first."""
    known = _find(name)
    if known is not None:
        return known
    with transaction(everywhere=True) as session:
        # The clause is the same in both databases, and each compiles it.
        row = postgresql.insert(_values).values(name=name, value=proposed)
        session.execute(row.on_conflict_do_nothing())
    return _find(name) or proposed


def _find(name: str) -> str | None:
    with reading(everywhere=True) as session:
        return session.scalar(select(_values.c.value).where(_values.c.name == name))
