"""How many uploads and large downloads may be on their way at once, so that some threads are always free for pages.

An upload holds a thread while its bytes come, and a large download while its reader takes it in. An upload that is
here already, as most small files are, needs no seat: it is answered as fast as any page. A seat is a thread of this
process, so each web process counts its own.
"""

import threading
from collections import Counter
from functools import partial
from typing import Any, BinaryIO, cast
from uuid import UUID

from flask import Flask, Response, current_app, g, request

from webapp.accounts.roles import Principal
from webapp.config import Settings
from webapp.serving.capacity import SMALL_ANSWER_BYTES, upload_seats
from webapp.serving.inflow import ENVIRON_KEY, Inflow
from webapp.web.access import org_id
from webapp.web.errors import Problem

_RETRY_AFTER_SECONDS = "5"
# The head of an answer needs space, too.
_SEATLESS_BYTES = SMALL_ANSWER_BYTES // 2


class UploadSeats:
    """Places for uploads and large downloads: so many in all, and so many for one org."""

    def __init__(self, seats: int, seats_per_org: int) -> None:
        self.seats = seats
        self.seats_per_org = min(seats, seats_per_org)
        self._lock = threading.Lock()
        self.taken: Counter[UUID] = Counter()

    def take(self, org: UUID) -> str | None:
        """A place for this org, or the reason why there is none."""
        with self._lock:
            if self.taken[org] >= self.seats_per_org:
                return "of_org"
            if self.taken.total() >= self.seats:
                return "of_all"
            self.taken[org] += 1
            return None

    def give_back(self, org: UUID) -> None:
        """The upload or download has ended."""
        with self._lock:
            self.taken[org] -= 1
            if self.taken[org] <= 0:
                del self.taken[org]


def init_upload_seats(app: Flask, settings: Settings) -> None:
    """The seats are the application's: each web process builds one."""
    seats = upload_seats(settings.server.web_threads)
    app.extensions["docmill_upload_seats"] = UploadSeats(seats, settings.access.uploads_per_org)
    app.teardown_request(_leave)
    app.after_request(_admit_large_answer)


def admit_upload() -> None:
    """Take a seat before the first byte of a file is read. Its sender is authorised, so the deadline ends."""
    org = org_id()
    inflow: Inflow | None = request.environ.get(ENVIRON_KEY)
    if inflow is None or inflow.is_whole:
        return
    _take(org, "uploads")
    g.upload_seat = org
    inflow.lift_deadline()


def admit_download(stream: BinaryIO, size_bytes: int) -> BinaryIO:
    """The stream of an answer, which has a seat until it is closed where its reader may keep a thread."""
    if size_bytes <= _SEATLESS_BYTES:
        return stream
    org = org_id()
    try:
        _take(org, "downloads")
    except Problem:
        stream.close()
        raise
    return cast(BinaryIO, _Seated(stream, _seats(), org))


def _admit_large_answer(response: Response) -> Response:
    """Give a large page or JSON answer a seat until it is sent, too; downloads have theirs already."""
    who: Principal | None = g.get("principal")
    # An answer to HEAD has no body, and is sent without ever being closed.
    has_body = request.method != "HEAD" and not response.is_streamed
    if who is None or not has_body or len(response.get_data()) <= _SEATLESS_BYTES:
        return response
    try:
        _take(who.org_id, "downloads")
    except Problem as problem:
        # What is raised here would be taken for a fault of ours.
        return current_app.make_response(current_app.handle_user_exception(problem))
    response.call_on_close(partial(_seats().give_back, who.org_id))
    return response


class _Seated:
    """A stream that gives back its seat when it is closed."""

    def __init__(self, stream: BinaryIO, seats: UploadSeats, org: UUID) -> None:
        self._stream, self._seats, self._org = stream, seats, org
        self._has_seat = True

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def close(self) -> None:
        """Doing so twice is no error."""
        try:
            self._stream.close()
        finally:
            if self._has_seat:
                self._has_seat = False
                self._seats.give_back(self._org)


def _take(org: UUID, what: str) -> None:
    reason = _seats().take(org)
    if reason is not None:
        status = 429 if reason == "of_org" else 503
        raise Problem(status, f"{what}_{reason}", headers={"Retry-After": _RETRY_AFTER_SECONDS})


def _leave(error: BaseException | None) -> None:
    org = g.pop("upload_seat", None)
    if org is not None:
        _seats().give_back(org)


def _seats() -> UploadSeats:
    found: UploadSeats = current_app.extensions["docmill_upload_seats"]
    return found
