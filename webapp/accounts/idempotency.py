"""Idempotency keys: a program's request that is sent again under the same key gets the first answer again.

A key belongs to who sent it. It is kept for a day, and only where the request succeeded: what was refused may be
mended and sent again under the same key.
"""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, delete, select, update
from sqlalchemy.dialects import postgresql

from webapp.accounts.model import IdempotencyKey
from webapp.clock import new_id, utc_now
from webapp.db import session
from webapp.db.pruning import Prunable

KEY_CHARACTERS_MAX = 200
KEPT_DAYS = 1.0
# No request takes as long: one that has no answer by then was cut off.
_UNDER_WAY_MOST = timedelta(minutes=5)

_keys = cast(Table, IdempotencyKey.__table__)
PRUNABLE = Prunable(_keys, _keys.c.created_at)


@dataclass(frozen=True)
class Earlier:
    """What is known of an earlier request under the same key."""

    is_same: bool
    """Whether it asked for the same."""
    status: int | None
    location: str | None
    body: Any
    was_cut_off: bool
    """Whether it never got an answer: it may have been done or not."""


def begin(org_id: UUID, requested_by: str, key: str, request_sha256: str) -> UUID | Earlier:
    """Note a request as under way and return its id; or what is known of an earlier one. Inside of a transaction."""
    row = {
        "id": new_id(),
        "org_id": org_id,
        "requested_by": requested_by,
        "key": key,
        "request_sha256": request_sha256,
    }
    new = postgresql.insert(_keys).values(row).on_conflict_do_nothing().returning(_keys.c.id)
    found = session().scalar(new)
    if found is not None:
        return cast(UUID, found)
    k = _keys.c
    own = select(_keys).where(k.org_id == org_id, k.requested_by == requested_by, k.key == key)
    earlier = session().execute(own).one_or_none()
    if earlier is None:
        # It was refused and forgotten at this moment: the next time there is no earlier one.
        return Earlier(is_same=True, status=None, location=None, body=None, was_cut_off=False)
    return Earlier(
        is_same=earlier.request_sha256 == request_sha256,
        status=earlier.status,
        location=earlier.location,
        body=earlier.body,
        was_cut_off=earlier.status is None and utc_now() - earlier.created_at > _UNDER_WAY_MOST,
    )


def keep(row_id: UUID, status: int, location: str | None, body: Any) -> None:
    """Keep the answer to a request that succeeded. Inside of a transaction."""
    values = {"status": status, "location": location, "body": body}
    session().execute(update(_keys).where(_keys.c.id == row_id).values(values))


def forget(row_id: UUID) -> None:
    """The request was refused: it may be sent again under its key. Inside of a transaction."""
    session().execute(delete(_keys).where(_keys.c.id == row_id))
