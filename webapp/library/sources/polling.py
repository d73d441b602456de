"""One poll of a source: what is there is written down, what is still is taken, and what was taken is settled."""

import logging
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from webapp.clock import monotonic
from webapp.documents.source_model import Source
from webapp.library.sources import lease as leases
from webapp.library.sources import ledger
from webapp.library.sources.folder import FolderPlace
from webapp.library.sources.lease import SourceLease, SourceLeaseLost
from webapp.library.sources.ledger import Sighting
from webapp.library.sources.mailbox import MailboxPlace
from webapp.library.sources.maildir import MaildirPlace
from webapp.library.sources.places import SourcePlace, may_poll
from webapp.library.sources.taking import note_unexpected, take
from webapp.library.sources.trouble import ItemFailed, ItemReason, SourceFailed, SourceTrouble
from webapp.services import Services

_log = logging.getLogger(__name__)

ITEMS_MAX = 500
"""What one poll takes at most; the next one, which follows at once, takes more."""
TAKING_SECONDS = 60.0
_AT_ONCE_SECONDS = 1.0
_REFUSED_SECONDS = 900.0
_TRIED_MAX = 1_000
_EXAMPLES = 10
_UNSETTLED = {ItemReason.CANT_MOVE: SourceTrouble.CANT_MOVE, ItemReason.CANT_DELETE: SourceTrouble.CANT_DELETE}
# It was changed or removed since it was taken.
_NOTHING_TO_SETTLE = (ItemReason.CHANGED, ItemReason.GONE)

Stop = Callable[[], bool]


@dataclass
class SourceTrial:
    """What a poll would see: the numbers are those of the first `_TRIED_MAX` items; or why it could see nothing."""

    taken: int = 0
    skipped: int = 0
    more: bool = False
    examples: list[Sighting] = field(default_factory=list)
    trouble: SourceTrouble | None = None


def poll_due(services: Services, should_stop: Stop = lambda: False) -> int:
    """Poll the sources that are due, one after the other; returns how many."""
    polled = 0
    while not should_stop() and (lease := leases.claim(partial(may_poll, services.settings))):
        poll(services, lease, should_stop)
        polled += 1
    return polled


def poll(services: Services, lease: SourceLease, should_stop: Stop = lambda: False) -> None:
    """Poll a source under its lease. Another process may be quicker, and then nothing more is written here."""
    place, trouble, is_done, is_unexpected = None, None, True, False
    try:
        try:
            place = open_place(services, lease.source)
            is_done = _poll(services, lease, place, should_stop)
            trouble = place.trouble
        except SourceLeaseLost:
            raise
        except SourceFailed as failure:
            trouble = failure.trouble
            # Once, and not at each poll for as long as it lasts.
            if trouble != lease.source.last_error:
                _log.warning("source %s was not polled: %s", lease.source.id, trouble)
        # Shown at the source. If it were not, the source would look well and never be polled to its end.
        except Exception as error:  # noqa: BLE001 - one item or one source must not stop the others
            note_unexpected(lease, error)
            trouble, is_unexpected = SourceTrouble.UNEXPECTED, True
        seconds = float(lease.source.interval_seconds) if is_done else _AT_ONCE_SECONDS
        if trouble is SourceTrouble.LOGIN_REFUSED:
            # Servers lock out who gives a wrong password again and again.
            seconds = max(seconds, _REFUSED_SECONDS)
        # Up to a new mark not all may have been written down.
        mark = place.mark if place is not None and not is_unexpected else None
        leases.release(lease, trouble, mark, seconds)
    except SourceLeaseLost:
        _log.warning("source %s is polled by another process, or was paused or deleted", lease.source.id)
    finally:
        if place is not None:
            place.close()


def _poll(services: Services, lease: SourceLease, place: SourcePlace, should_stop: Stop) -> bool:
    """Whether all was done that is due."""
    deadline = monotonic() + TAKING_SECONDS
    ledger.record(lease, place.look(), place.still_seconds)
    if place.is_whole:
        ledger.forget_gone(lease, place.is_there)
    # What an earlier poll has taken comes first: it may lie in the way.
    trouble = _settle(lease, place)
    due = ledger.due(lease, ITEMS_MAX)
    for item in due:
        if should_stop() or monotonic() > deadline:
            return False
        take(services, lease, place, item)
    trouble = _settle(lease, place) or trouble
    place.trouble = trouble or place.trouble
    return len(due) < ITEMS_MAX


def _settle(lease: SourceLease, place: SourcePlace) -> SourceTrouble | None:
    """Move or delete what was taken; what can't be is tried again later."""
    trouble = None
    for item in ledger.unsettled(lease, ITEMS_MAX):
        try:
            is_unneeded = place.settle(item)
        except ItemFailed as failure:
            if failure.reason in _UNSETTLED:
                trouble = _UNSETTLED[failure.reason]
                ledger.wait(lease, item, failure.reason)
            elif failure.reason in _NOTHING_TO_SETTLE:
                ledger.settle(lease, item.id, is_unneeded=failure.is_final)
            else:
                ledger.wait(lease, item, failure.reason)
        except (SourceFailed, SourceLeaseLost):
            raise
        except Exception as error:  # noqa: BLE001 - one item or one source must not stop the others
            note_unexpected(lease, error)
            trouble = SourceTrouble.UNEXPECTED
            ledger.wait(lease, item, ItemReason.UNEXPECTED)
        else:
            ledger.settle(lease, item.id, is_unneeded=is_unneeded)
    return trouble


def try_out(services: Services, source: Source) -> SourceTrial:
    """What a poll would see now. Nothing is written, nothing taken."""
    trial = SourceTrial()
    try:
        with closing(open_place(services, source)) as place:
            for each in islice(place.look(), _TRIED_MAX + 1):
                if trial.taken + trial.skipped == _TRIED_MAX:
                    trial.more = True
                    break
                trial.taken += each.skip is None
                trial.skipped += each.skip is not None
                if len(trial.examples) < _EXAMPLES:
                    trial.examples.append(each)
    except SourceFailed as failure:
        trial.trouble = failure.trouble
    return trial


def open_place(services: Services, source: Source) -> SourcePlace:
    """The folder or the mailbox of a source; SourceFailed."""
    return _PLACES[source.kind](services, source)


_PLACES: dict[str, Callable[[Services, Source], SourcePlace]] = {
    "folder": FolderPlace,
    "maildir": MaildirPlace,
    "imap": MailboxPlace,
}
