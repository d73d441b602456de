"""Ends the reservations of calls whose process is known to be gone."""

from collections.abc import Collection
from typing import cast
from uuid import UUID

from sqlalchemy import Table, update

from webapp.clock import now
from webapp.db import session
from webapp.documents.ledger_model import CallReservation

_rows = cast(Table, CallReservation.__table__)


def abandon_calls(job_ids: Collection[UUID] | None) -> None:
    """Let nobody wait for the answers of these jobs (None: of all) any longer."""
    ended = update(_rows).where(_rows.c.ends_at > now())
    session().execute((ended if job_ids is None else ended.where(_rows.c.job_id.in_(job_ids))).values(ends_at=now()))
