"""One item of a source goes into the library: its document and its line in the ledger are one commit."""

import errno
import io
import logging
import traceback
from typing import Any, BinaryIO

from webapp.db.errors import trouble_of
from webapp.jobs.states import Priority
from webapp.library.intake import Ingested, RefusalCode, Refused, Terms, receive, take_in
from webapp.library.sources import ledger
from webapp.library.sources.lease import SourceLease, SourceLeaseLost, held
from webapp.library.sources.places import Opened, SourcePlace
from webapp.library.sources.trouble import ItemFailed, ItemReason, SourceFailed, SourceTrouble
from webapp.provider_errors import FailureCode, ProviderError
from webapp.services import Services

_log = logging.getLogger(__name__)

_TRIES_MAX = 12
_NO_SPACE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
# What is wrong with the whole installation or organisation, not with the one item: no other is tried now.
_ENDS_POLL = {
    ItemReason.STORAGE_FULL: SourceTrouble.STORAGE_FULL,
    ItemReason.STORAGE_AWAY: SourceTrouble.STORAGE_AWAY,
    ItemReason.ORG_FULL: SourceTrouble.ORG_FULL,
}
_REFUSALS = {
    RefusalCode.EMPTY: ItemReason.EMPTY,
    RefusalCode.TOO_LARGE: ItemReason.TOO_LARGE,
    RefusalCode.MISMATCH: ItemReason.MISMATCH,
}


def take(services: Services, lease: SourceLease, place: SourcePlace, item: Any) -> None:
    """Take an item, or note why not. SourceFailed where no other one could be taken now either; SourceLeaseLost."""
    try:
        _take(services, lease, place, item)
    except ItemFailed as failure:
        if failure.is_final:
            ledger.skip(lease, item.id, failure.reason)
            return
        trouble = _ENDS_POLL.get(failure.reason)
        ledger.wait(lease, item, failure.reason, None if trouble else _TRIES_MAX)
        if trouble:
            raise SourceFailed(trouble) from failure
    except SourceFailed:
        # The server went away. One that always does so at the same message must not keep all others from being taken.
        reason = ItemReason.SERVER_LOST if lease.source.kind == "imap" else ItemReason.UNREADABLE
        ledger.wait(lease, item, reason, _TRIES_MAX)
        raise
    except SourceLeaseLost:
        raise
    # Whatever is wrong with one item, the others are taken.
    except Exception as error:  # noqa: BLE001 - note_unexpected logs it
        note_unexpected(lease, error)
        ledger.wait(lease, item, ItemReason.UNEXPECTED, _TRIES_MAX)


def note_unexpected(lease: SourceLease, error: Exception) -> None:
    """Log an error that nobody foresaw. One of a database that is away now is raised again: it is no fault."""
    if trouble_of(error) is not None:
        raise error
    # Without the error's text, in which names and words of a file may be.
    where = traceback.extract_tb(error.__traceback__)[-1]
    kind = type(error).__name__
    _log.error("source %s: unexpected %s at %s:%s", lease.source.id, kind, where.filename, where.lineno)


def _take(services: Services, lease: SourceLease, place: SourcePlace, item: Any) -> None:
    if (item.size_bytes or 0) > services.settings.limits.upload_bytes_max:
        raise ItemFailed(ItemReason.TOO_LARGE, is_final=True)
    try:
        services.providers.blobs.check_space(item.size_bytes or 0)
        with place.open(item) as opened:
            ingested = _ingest(services, lease, opened, item)
    except Refused as refused:
        if refused.code is RefusalCode.ORG_FULL:
            raise ItemFailed(ItemReason.ORG_FULL) from refused
        raise ItemFailed(_REFUSALS[refused.code], is_final=True) from refused
    except ProviderError as error:
        is_full = error.code is FailureCode.STORAGE_FULL
        raise ItemFailed(ItemReason.STORAGE_FULL if is_full else ItemReason.STORAGE_AWAY) from error
    if ingested.duplicate_of is not None:
        with held(lease):
            known = ItemReason.RESTORED if ingested.is_restored else ItemReason.KNOWN
            ledger.take(lease, item.id, ingested.document.id, known)


def _ingest(services: Services, lease: SourceLease, opened: Opened, item: Any) -> Ingested:
    try:
        incoming = receive(
            services.providers.blobs.incoming(),
            _Watched(opened.stream, lease),
            services.settings.limits.upload_bytes_max,
        )
    except OSError as error:
        raise ItemFailed(ItemReason.STORAGE_FULL if error.errno in _NO_SPACE else ItemReason.STORAGE_AWAY) from error
    try:
        opened.check()
        lease.keep()
    except BaseException:
        incoming.discard()
        raise
    terms = Terms(
        priority=Priority.BULK,
        folder=opened.folder,
        beside=lambda document_id: ledger.take(lease, item.id, document_id),
    )
    return take_in(services, lease.org_id, incoming, opened.filename, terms)


class _Watched(io.RawIOBase):
    """A stream on its way in: the lease is kept while it is read, and what goes wrong is the item's fault."""

    def __init__(self, stream: BinaryIO, lease: SourceLease) -> None:
        super().__init__()
        self._stream, self._lease = stream, lease

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        self._lease.keep()
        try:
            return self._stream.read(size)
        except OSError as error:
            raise ItemFailed(ItemReason.UNREADABLE) from error
