"""How often an org, and one person or token of it, may ask: a bucket of tokens for each, that fills up all the time.

Each web process has the buckets in memory. Beside other web processes it also takes what it gave out from the shared
buckets in the database, a twentieth of a bucket at a time, and learns what the others took: so an ordinary request
writes nothing, and an org gets what it may from all web processes together, within a twentieth for each. What keeps
the rows of a page up to date has buckets of its own, so that an open page never shuts its reader out.
"""

import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from uuid import UUID

from flask import Flask, current_app, request

from webapp.accounts import rate_buckets
from webapp.accounts.keys import digest
from webapp.clock import monotonic
from webapp.config import Settings
from webapp.config.limits import LimitSettings
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.web import visitors
from webapp.web.access import Access, access_of, current_user, services
from webapp.web.errors import Problem

# So many seconds' worth may be asked at once.
BURST_SECONDS = 10.0
# What a web process may give out before it tells the others, as a share of a bucket; and the share of a rate that it
# never tells them.
UNSHARED_SHARE = 0.05
# One person or token may have so much of what their org may.
OWN_SHARE = 0.5
HOUR_SECONDS = 3600.0
_BUCKETS_MAX = 50_000
# Pages for those who have a link and nothing else.
_LINKS = frozenset({"account.sign_in_link", "shared.show", "shared.document", "shared.original"})
# So many openings of a link, and downloads by it, have a line in the security log, and then one a minute: whoever has
# it must not fill the log.
_OPENINGS_AT_ONCE, _OPENINGS_PER_SECOND = 100.0, 1 / 60


@dataclass
class _Bucket:
    tokens: float
    filled_at: float
    unshared: float = 0.0
    """Tokens that were taken here, and that the shared bucket does not know of yet."""


@dataclass(frozen=True)
class Allowance:
    """So many tokens a second come into a bucket that holds so many."""

    key: str
    per_second: float
    size: float

    @property
    def unshared_max(self) -> float:
        """So much may be taken before the shared bucket is told."""
        return max(1.0, self.size * UNSHARED_SHARE)


class Rates:
    """The buckets of one process. Those that nobody has used for longest are forgotten, which fills them."""

    def __init__(self, *, is_shared: bool = False) -> None:
        self._is_shared = is_shared
        self._lock = threading.Lock()
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

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
                _take(bucket, 1)
            due = [each for each, bucket in pairs if bucket.unshared >= each.unshared_max]
        self._share(due)
        with self._lock:
            owed = [-self._filled(each, monotonic()).tokens / each.per_second for each in due]
        return max(0.0, max(owed, default=0.0))

    def spend(self, allowance: Allowance, number: int) -> None:
        """Take so many tokens for what has happened already, even more than there are."""
        with self._lock:
            _take(self._filled(allowance, monotonic()), number)
        self._share([allowance])

    def left(self, allowance: Allowance) -> int:
        """How many tokens there are."""
        self._share([allowance])
        with self._lock:
            return max(0, math.floor(self._filled(allowance, monotonic()).tokens))

    def _filled(self, allowance: Allowance, present: float) -> _Bucket:
        bucket = self._buckets.setdefault(allowance.key, _Bucket(allowance.size, present))
        self._buckets.move_to_end(allowance.key)
        while len(self._buckets) > _BUCKETS_MAX:
            self._buckets.popitem(last=False)
        gained = (present - bucket.filled_at) * allowance.per_second
        bucket.tokens, bucket.filled_at = min(allowance.size, bucket.tokens + gained), present
        # A trickle is never worth a write.
        bucket.unshared = max(0.0, bucket.unshared - gained * UNSHARED_SHARE)
        return bucket

    def _share(self, allowances: list[Allowance]) -> None:
        """Take from the shared buckets what was taken here, and learn what others took."""
        if not self._is_shared or not allowances:
            return
        with self._lock:
            present = monotonic()
            owed = {each.key: self._owe(each, present) for each in allowances}
        try:
            seconds = rate_buckets.take(owed)
        except DATABASE_ERRORS as error:
            if trouble_of(error) is None:
                raise
            # The buckets here still hold; the others learn of it with the next request.
            seconds = {}
        with self._lock:
            for each in allowances:
                self._learn(each, owed[each.key], seconds.get(each.key))

    def _owe(self, allowance: Allowance, present: float) -> float:
        """What the shared bucket has to learn, in seconds of its filling."""
        bucket = self._filled(allowance, present)
        unshared, bucket.unshared = bucket.unshared, 0.0
        return unshared / allowance.per_second

    def _learn(self, allowance: Allowance, owed: float, seconds: float | None) -> None:
        """The shared bucket is full in so many seconds; None where it could not be asked."""
        bucket = self._filled(allowance, monotonic())
        if seconds is None:
            bucket.unshared += owed * allowance.per_second
            return
        # It does not know what other threads have taken here meanwhile.
        known = allowance.size - max(0.0, seconds) * allowance.per_second - bucket.unshared
        bucket.tokens = min(bucket.tokens, known)


def _take(bucket: _Bucket, number: int) -> None:
    bucket.tokens -= number
    bucket.unshared += number


def init_rates(app: Flask, settings: Settings) -> None:
    """Count each request before anything is done for it. Register this before the guard, which may read a form."""
    app.extensions["docmill_rates"] = Rates(is_shared=not settings.is_embedded)
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
    if endpoint in _LINKS:
        _count_visitor()
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


def may_note_opening(share_id: UUID) -> bool:
    """Whether this opening of a share link has a line of its own in the security log."""
    return _may_note("openings", share_id)


def may_note_download(share_id: UUID) -> bool:
    """The same for a download by the link."""
    return _may_note("link_downloads", share_id)


def _may_note(kind: str, share_id: UUID) -> bool:
    return not _rates().take(Allowance(f"{kind}:{share_id}", _OPENINGS_PER_SECOND, _OPENINGS_AT_ONCE))


def _count_visitor() -> None:
    """Nobody is signed in who opens a link, so what counts is the network that they come from."""
    per_second = services().settings.limits.rate_links
    network = digest(visitors.network_of(request.remote_addr))
    allowance = Allowance(f"links:{network}", per_second, max(1.0, per_second * BURST_SECONDS))
    if per_second and (wait := _rates().take(allowance)):
        _refuse("rate_links", wait)


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
        Allowance(f"{kind}:{org_id}", per_second, size),
        Allowance(f"{kind}:{org_id}:{ref}", own, max(1.0, own * BURST_SECONDS)),
    )


def _reprocess(org_id: UUID) -> Allowance | None:
    per_hour = services().settings.limits.reprocess_per_hour
    return Allowance(f"reprocess:{org_id}", per_hour / HOUR_SECONDS, per_hour) if per_hour else None


def _refuse(reason: str, wait: float) -> None:
    raise Problem(429, reason, headers={"Retry-After": str(max(1, math.ceil(wait)))})


def _rates() -> Rates:
    found: Rates = current_app.extensions["docmill_rates"]
    return found
