"""How often an org, and one person or token of it, may ask: a bucket of tokens for each, that fills up all the time.

The buckets live in this process; with several web processes an org may get as many times as much. What keeps the rows
of a page up to date has buckets of its own, so that an open page never shuts its reader out.
"""

import math
import threading
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass
from uuid import UUID

from flask import Flask, current_app, request

from webapp.clock import monotonic
from webapp.config.limits import LimitSettings
from webapp.web.access import Access, access_of, current_user, services
from webapp.web.errors import Problem

# So many seconds' worth may be asked at once.
BURST_SECONDS = 10.0
# One person or token may have so much of what their org may.
OWN_SHARE = 0.5
HOUR_SECONDS = 3600.0
_BUCKETS_MAX = 50_000


@dataclass
class _Bucket:
    tokens: float
    filled_at: float


@dataclass(frozen=True)
class Allowance:
    """So many tokens a second come into a bucket that holds so many."""

    key: Hashable
    per_second: float
    size: float


class Rates:
    """The buckets of one process. Those that nobody has used for longest are forgotten, which fills them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._buckets: OrderedDict[Hashable, _Bucket] = OrderedDict()

    def take(self, *allowances: Allowance) -> float:
        """Take a token out of each bucket, or out of none: in how many seconds to try again, 0 if taken."""
        present = monotonic()
        with self._lock:
            buckets = [self._filled(each, present) for each in allowances]
            pairs = list(zip(allowances, buckets, strict=True))
            waits = [(1.0 - bucket.tokens) / each.per_second for each, bucket in pairs]
            if max(waits, default=0.0) > 0:
                return max(waits)
            for bucket in buckets:
                bucket.tokens -= 1.0
            return 0.0

    def spend(self, allowance: Allowance, number: int) -> None:
        """Take so many tokens for what has happened already, even more than there are."""
        with self._lock:
            self._filled(allowance, monotonic()).tokens -= number

    def left(self, allowance: Allowance) -> int:
        """How many tokens there are."""
        with self._lock:
            return max(0, math.floor(self._filled(allowance, monotonic()).tokens))

    def _filled(self, allowance: Allowance, present: float) -> _Bucket:
        bucket = self._buckets.setdefault(allowance.key, _Bucket(allowance.size, present))
        self._buckets.move_to_end(allowance.key)
        while len(self._buckets) > _BUCKETS_MAX:
            self._buckets.popitem(last=False)
        gained = (present - bucket.filled_at) * allowance.per_second
        bucket.tokens, bucket.filled_at = min(allowance.size, bucket.tokens + gained), present
        return bucket


def init_rates(app: Flask) -> None:
    """Count each request before anything is done for it. Register this before the guard, which may read a form."""
    app.extensions["docmill_rates"] = Rates()
    app.before_request(_count)


def reprocess_left(org_id: UUID) -> int | None:
    """How many documents an org may still have processed again; None for any number. 429 where it is none."""
    allowance = _reprocess(org_id)
    if allowance is None:
        return None
    left = _rates().left(allowance)
    if not left:
        _refuse("rate_reprocess", _rates().take(allowance))
    return left


def count_reprocess(org_id: UUID, documents: int) -> None:
    """So many documents were queued again."""
    allowance = _reprocess(org_id)
    if allowance is not None and documents:
        _rates().spend(allowance, documents)


def _count() -> None:
    endpoint = request.endpoint
    if endpoint is None or access_of(current_app, endpoint) is Access.PUBLIC:
        return
    who = current_user()
    if who is None:
        return
    for kind, per_second in _kinds(endpoint, services().settings.limits):
        if per_second:
            org, own = _allowances(kind, who.org_id, who.ref, per_second)
            if wait := _rates().take(org, own):
                _refuse(f"rate_{kind}", wait)


def _kinds(endpoint: str, limits: LimitSettings) -> list[tuple[str, float]]:
    """What a request counts as, and how many of these an org may send in a second; 0 for any number."""
    if endpoint == "document.status":
        return [("polls", limits.rate_polls)]
    found = [("requests", limits.rate_requests)]
    if endpoint == "upload.create":
        found.append(("uploads", limits.rate_uploads))
    if endpoint == "search.show" and request.args.get("q"):
        found.append(("searches", limits.rate_searches))
    return found


def _allowances(kind: str, org_id: UUID, ref: str, per_second: float) -> tuple[Allowance, Allowance]:
    size, own = max(1.0, per_second * BURST_SECONDS), per_second * OWN_SHARE
    return (
        Allowance((kind, org_id), per_second, size),
        Allowance((kind, org_id, ref), own, max(1.0, own * BURST_SECONDS)),
    )


def _reprocess(org_id: UUID) -> Allowance | None:
    per_hour = services().settings.limits.reprocess_per_hour
    return Allowance(("reprocess", org_id), per_hour / HOUR_SECONDS, per_hour) if per_hour else None


def _refuse(reason: str, wait: float) -> None:
    raise Problem(429, reason, headers={"Retry-After": str(max(1, math.ceil(wait)))})


def _rates() -> Rates:
    found: Rates = current_app.extensions["docmill_rates"]
    return found
