"""How much an org's uploaded files take, changed in the transactions that add or remove a document."""

import random
from typing import cast
from uuid import UUID

from sqlalchemy import Table, func, select
from sqlalchemy.dialects import postgresql

from webapp.db import session
from webapp.documents.model import OrgUsage

# Uploads of one org would wait for each other's commit if they all changed one row.
PARTS = 16
_usage = cast(Table, OrgUsage.__table__)
# Built once: each upload executes it. The clause is the same in both databases, and each compiles it.
_NEW = postgresql.insert(_usage)
_ADD = _NEW.on_conflict_do_update(
    index_elements=["org_id", "part"], set_={"stored_bytes": _usage.c.stored_bytes + _NEW.excluded.stored_bytes}
)
_STORED = func.coalesce(func.sum(_usage.c.stored_bytes), 0)


def add_stored(org_id: UUID, size_bytes: int) -> None:
    """Count a file that is added, or removed where the number is negative, in the transaction of its document."""
    part = random.randrange(PARTS)  # noqa: S311 - nothing secret about it
    session().execute(_ADD, {"org_id": org_id, "part": part, "stored_bytes": size_bytes})


def stored_bytes(org_id: UUID) -> int:
    """What an org's files take together."""
    return int(session().scalar(select(_STORED).where(_usage.c.org_id == org_id)) or 0)
