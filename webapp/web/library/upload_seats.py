"""How many uploads may be on their way at once, so that some threads are always free for pages.

An upload holds a thread while its bytes come. One that is here already, as most small files are, needs no seat:
it is answered as fast as any page. The counts live in this process; each web process has its own.
"""

import threading
from collections import Counter
from uuid import UUID

from flask import Flask, current_app, g, request

from webapp.config import Settings
from webapp.serving.capacity import upload_seats
from webapp.serving.inflow import ENVIRON_KEY, Inflow
from webapp.web.access import org_id
from webapp.web.errors import Problem

_RETRY_AFTER_SECONDS = "5"


class UploadSeats:
    """Places for uploads: so many in all, and so many for one org."""

    def __init__(self, seats: int, seats_per_org: int) -> None:
        self.seats = seats
        self.seats_per_org = min(seats, seats_per_org)
        self._lock = threading.Lock()
        self._taken: Counter[UUID] = Counter()

    def take(self, org: UUID) -> str | None:
        """A place for an upload of this org, or the reason why there is none."""
        with self._lock:
            if self._taken[org] >= self.seats_per_org:
                return "uploads_of_org"
            if self._taken.total() >= self.seats:
                return "uploads_of_all"
            self._taken[org] += 1
            return None

    def give_back(self, org: UUID) -> None:
        """The upload has ended."""
        with self._lock:
            self._taken[org] -= 1
            if self._taken[org] <= 0:
                del self._taken[org]


def init_upload_seats(app: Flask, settings: Settings) -> None:
    """The seats are the application's: each web process builds one."""
    seats = upload_seats(settings.web_threads)
    app.extensions["docmill_upload_seats"] = UploadSeats(seats, settings.access.uploads_per_org)
    app.teardown_request(_leave)


def admit_upload() -> None:
    """Take a seat before the first byte of a file is read. Its sender is authorised, so the deadline ends."""
    org = org_id()
    inflow: Inflow | None = request.environ.get(ENVIRON_KEY)
    if inflow is None or inflow.is_whole:
        return
    reason = _seats().take(org)
    if reason is not None:
        status = 429 if reason == "uploads_of_org" else 503
        raise Problem(status, reason, headers={"Retry-After": _RETRY_AFTER_SECONDS})
    g.upload_seat = org
    inflow.lift_deadline()


def _leave(error: BaseException | None) -> None:
    org = g.pop("upload_seat", None)
    if org is not None:
        _seats().give_back(org)


def _seats() -> UploadSeats:
    found: UploadSeats = current_app.extensions["docmill_upload_seats"]
    return found
