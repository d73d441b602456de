"""The checks before a call that costs money: can its answer be stored, and may the org spend more today?

If not, no call is made and the job waits; no attempt is counted, and it goes on by itself. Work of this machine costs
nothing and is not checked.
"""

from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from uuid import UUID
from weakref import WeakKeyDictionary

from sqlalchemy import Engine, func, select

from webapp.clock import monotonic, utc_now
from webapp.db import db, reading, session, transaction
from webapp.db.errors import DATABASE_ERRORS, Trouble, trouble_of
from webapp.documents.ledger_model import CallReservation, ProviderCall
from webapp.jobs.interruptions import WaitReason, Waits
from webapp.pipeline.paid_calls.prices import FREE
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import FailureCode, ProviderError
from webapp.providers.ports import BlobStore
from webapp.search import vector_cache

# A margin, so that jobs of many orgs are not all due in the first second of a day.
AFTER_MIDNIGHT_SECONDS = 5.0
# How long a trial's result is used; longer on PostgreSQL, where each trial leaves dead rows.
_BELIEVED_SECONDS = {"postgresql": 10.0, "sqlite": 1.0}
_BELIEVED_TIMES_AS_LONG = 20.0
_had_space_at: WeakKeyDictionary[Engine, float] = WeakKeyDictionary()


@dataclass(frozen=True)
class _Spent:
    """What an org had spent on a day, and until when this number is used."""

    day: date
    total: float
    until: float


_spent: dict[UUID, _Spent] = {}


class _TakenBack(Exception):
    """Raised to roll back a trial write that succeeded."""


def before_paid_call(context: StageContext, provider: str) -> None:
    """Raise Waits if the answer of a paid call could not be stored, or the day's money is spent."""
    if provider == FREE:
        return
    if reason := lacks_space(context.providers.blobs, context.org_id):
        raise Waits(reason)
    if is_spent(context.org_id, context.spend_per_day):
        raise Waits(WaitReason.SPEND_LIMIT, seconds_until_tomorrow() + AFTER_MIDNIGHT_SECONDS)


def lacks_space(blobs: BlobStore, org_id: UUID) -> WaitReason | None:
    """Why an answer could not be stored now; None where it could."""
    try:
        blobs.check_space()
    except ProviderError as error:
        is_full = error.code is FailureCode.STORAGE_FULL
        return WaitReason.STORAGE_FULL if is_full else WaitReason.STORAGE_UNAVAILABLE
    return WaitReason.DATABASE_FULL if is_database_full(org_id) else None


def is_database_full(org_id: UUID) -> bool:
    """Whether the database takes no more rows, by a trial write; success is remembered for a while."""
    engine = db.engine
    if monotonic() - _had_space_at.get(engine, float("-inf")) < _BELIEVED_SECONDS[engine.dialect.name]:
        return False
    try:
        # Not a savepoint: a full SQLite ends the whole transaction.
        with suppress(_TakenBack), transaction(org_id):
            vector_cache.save_trial(org_id)
            raise _TakenBack
    except DATABASE_ERRORS as error:
        if trouble_of(error) is Trouble.FULL:
            return True
        raise
    _had_space_at[engine] = monotonic()
    return False


def is_spent(org_id: UUID, spend_per_day: float) -> bool:
    """Whether an org has reached its limit for today; without a limit (0) it never has."""
    if not spend_per_day:
        return False
    known = _spent.get(org_id)
    began = monotonic()
    if known is None or known.until <= began or known.day != utc_now().date():
        with reading(org_id):
            total = spent_today(org_id)
        took = monotonic() - began
        # Remembered for a multiple of its time: adding up many lines before each call would cost more than the call.
        known = _spent[org_id] = _Spent(utc_now().date(), total, began + _BELIEVED_TIMES_AS_LONG * took)
    return known.total >= spend_per_day


def spent_today(org_id: UUID) -> float:
    """What an org has spent since midnight (UTC), by the ledger's prices, with calls that are under way."""
    paid = select(func.coalesce(func.sum(ProviderCall.price), 0.0)).where(
        ProviderCall.org_id == org_id,
        ProviderCall.created_at >= _midnight(utc_now()),
        ProviderCall.reused.is_(False),
        ProviderCall.outcome != "error",
    )
    under_way = select(func.coalesce(func.sum(CallReservation.price), 0.0)).where(CallReservation.org_id == org_id)
    spent, to_come = session().execute(select(paid.scalar_subquery(), under_way.scalar_subquery())).one()
    return float(spent + to_come)


def seconds_until_tomorrow() -> float:
    """How long the present day (UTC) still lasts."""
    present = utc_now()
    return (_midnight(present) + timedelta(days=1) - present).total_seconds()


def _midnight(present: datetime) -> datetime:
    return datetime.combine(present.date(), time(), present.tzinfo)
