"""How many uploads and large downloads may be on their way at once, so that some threads are always free for pages.

An upload holds a thread while its bytes come, and a large download while its reader takes it in. An upload that is
here already, as most small files are, needs no seat: it is answered as fast as any page. A seat is a thread of this
process, so each web process counts its own.
"""

import threading
from collections import Counter
from dataclasses import dataclass
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


_SEATS_PER_LINK = 2


@dataclass(frozen=True)
class Holder:
    """Who has a place: an org, or everybody who has one share link."""

    id: UUID
    is_link: bool = False


class UploadSeats:
    """Places for uploads and large downloads: so many in all, and so many for one org.

    Whoever reads by share links takes no place of the org's own, and all of them together take a quarter at most: a
    link may be in anybody's hands.
    """

    def __init__(self, seats: int, seats_per_org: int) -> None:
        self.seats = seats
        self.seats_per_org = min(seats, seats_per_org)
        self._lock = threading.Lock()
        self.seats_of_links = max(1, seats // 4)
        self.taken: Counter[UUID] = Counter()
        self.taken_by_links: Counter[UUID] = Counter()

    def take(self, holder: Holder) -> str | None:
        """A place, or the reason why there is none."""
        with self._lock:
            taken = self._taken(holder)
            if holder.is_link:
                if taken[holder.id] >= _SEATS_PER_LINK or taken.total() >= self.seats_of_links:
                    return "of_links"
            elif taken[holder.id] >= self.seats_per_org:
                return "of_org"
            if self.taken.total() + self.taken_by_links.total() >= self.seats:
                return "of_all"
            taken[holder.id] += 1
            return None

    def give_back(self, holder: Holder) -> None:
        """The upload or download has ended."""
        with self._lock:
            taken = self._taken(holder)
            taken[holder.id] -= 1
            if taken[holder.id] <= 0:
                del taken[holder.id]

    def _taken(self, holder: Holder) -> Counter[UUID]:
        return self.taken_by_links if holder.is_link else self.taken


def init_upload_seats(app: Flask, settings: Settings) -> None:
    """The seats are the application's: each web process builds one."""
    seats = upload_seats(settings.server.web_threads)
    app.extensions["docmill_upload_seats"] = UploadSeats(seats, settings.access.uploads_per_org)
    app.teardown_request(_leave)
    app.after_request(_admit_large_answer)


def admit_upload() -> None:
    """Take a seat before the first byte of a file is read. Its sender is authorised, so the deadline ends."""
    holder = Holder(org_id())
    inflow: Inflow | None = request.environ.get(ENVIRON_KEY)
    if inflow is None or inflow.is_whole:
        return
    _take(holder, "uploads")
    g.upload_seat = holder
    inflow.lift_deadline()


def admit_download(stream: BinaryIO, size_bytes: int) -> BinaryIO:
    """The stream of an answer, which has a seat until it is closed where its reader may keep a thread."""
    if size_bytes <= _SEATLESS_BYTES:
        return stream
    holder = _holder() or Holder(org_id())
    try:
        _take(holder, "downloads")
    except Problem:
        stream.close()
        raise
    return cast(BinaryIO, _Seated(stream, _seats(), holder))


def _admit_large_answer(response: Response) -> Response:
    """Give a large page or JSON answer a seat until it is sent, too; downloads have theirs already."""
    holder = _holder()
    # An answer to HEAD has no body, and is sent without ever being closed.
    has_body = request.method != "HEAD" and not response.is_streamed
    if holder is None or not has_body or len(response.get_data()) <= _SEATLESS_BYTES:
        return response
    try:
        _take(holder, "downloads")
    except Problem as problem:
        # What is raised here would be taken for a fault of ours.
        return current_app.make_response(current_app.handle_user_exception(problem))
    response.call_on_close(partial(_seats().give_back, holder))
    return response


class _Seated:
    """A stream that gives back its seat when it is closed."""

    def __init__(self, stream: BinaryIO, seats: UploadSeats, holder: Holder) -> None:
        self._stream, self._seats, self._holder = stream, seats, holder
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
                self._seats.give_back(self._holder)


def _holder() -> Holder | None:
    """Who holds the place of this answer: a guest has no principal, but a link."""
    link: UUID | None = g.get("share_link")
    if link is not None:
        return Holder(link, is_link=True)
    who: Principal | None = g.get("principal")
    return Holder(who.org_id) if who else None


def _take(holder: Holder, what: str) -> None:
    reason = _seats().take(holder)
    if reason is not None:
        status = 503 if reason == "of_all" else 429
        raise Problem(status, f"{what}_{reason}", headers={"Retry-After": _RETRY_AFTER_SECONDS})


def _leave(error: BaseException | None) -> None:
    holder = g.pop("upload_seat", None)
    if holder is not None:
        _seats().give_back(holder)


def _seats() -> UploadSeats:
    found: UploadSeats = current_app.extensions["docmill_upload_seats"]
    return found
