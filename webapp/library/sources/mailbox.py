"""A mailbox on an IMAP server. Each message is taken as one file, with what hangs on it."""

import hashlib
import io
from collections.abc import Iterator
from contextlib import contextmanager
from email.errors import MessageError
from email.header import decode_header, make_header
from email.parser import BytesHeaderParser
from typing import Any, BinaryIO, cast

from webapp.batches import batches
from webapp.documents.source_model import Source
from webapp.jobs.sealed_passwords import CantUnseal
from webapp.library.sources.addresses import checked_addresses
from webapp.library.sources.imap_client import PART_BYTES, ImapClient, MailServer
from webapp.library.sources.ledger import Sighting
from webapp.library.sources.places import Opened
from webapp.library.sources.trouble import ItemFailed, ItemReason, SourceFailed, SourceTrouble
from webapp.services import Services

MESSAGES_MAX = 2_000
"""How many new messages a poll looks at; the next one goes on behind them."""
_AT_ONCE = 100
_SUBJECT_CHARACTERS_MAX = 200


class MailboxPlace:
    """A mailbox, opened for a poll. `mark` says behind which message new ones begin."""

    still_seconds = 0.0
    # What a poll does not see may lie in front of the mark.
    is_whole = False

    def __init__(self, services: Services, source: Source) -> None:
        place = source.place
        self.mark: dict[str, Any] | None = source.mark
        self.trouble: SourceTrouble | None = None
        self._after_taking = source.after_taking
        self._move_to = str(place.get("move_to") or "")
        security, host, port = str(place["security"]), str(place["host"]), int(place["port"])
        addresses = checked_addresses(services.settings.sources, host, port, is_plain=security == "plain")
        server = MailServer(host, port, security, addresses)
        self._client = ImapClient(server, str(place["username"]), _password(services, source))
        try:
            validity = self._client.select(str(place["mailbox"]), is_readonly=self._after_taking == "leave")
        except BaseException:
            self.close()
            raise
        # Ids mean something in this mailbox alone, and as long as the server keeps them.
        whose = "\n".join(str(place[name]) for name in ("host", "port", "username", "mailbox"))
        self._ids = f"{hashlib.sha256(whose.encode()).hexdigest()[:16]}.{validity}"

    def look(self) -> Iterator[Sighting]:
        """See the messages that have come since the last poll."""
        mark = self.mark or {}
        last = int(mark.get("uid", 0)) if mark.get("ids") == self._ids else 0
        uids, seen_up_to = self._client.uids_after(last, MESSAGES_MAX)
        for batch in batches(uids, _AT_ONCE):
            found = self._client.sizes_and_subjects(batch)
            for uid in batch:
                size, header = found.get(uid, (None, b""))
                yield Sighting(f"{self._ids}.{uid}", "1", _subject(header) or f"Message {uid}", size)
        # At the end: all of them have rows when this is stored.
        self.mark = {"ids": self._ids, "uid": seen_up_to}

    def is_there(self, key: str) -> bool:
        """Whether a message of this key can be asked for."""
        return key.startswith(f"{self._ids}.")

    @contextmanager
    def open(self, item: Any) -> Iterator[Opened]:
        """Open a message for reading, a part at a time; looking at it does not mark it as read."""
        stream = io.BufferedReader(_Message(self._client, self._uid(item)), PART_BYTES)
        yield Opened(cast(BinaryIO, stream), f"{item.name}.eml", None, lambda: None)

    def settle(self, item: Any) -> bool:
        """Mark or move a message that was taken."""
        uid = self._uid(item)
        if self._after_taking == "seen":
            self._client.mark_seen(uid)
        elif self._after_taking == "move" and not self._client.move(uid, self._move_to):
            raise ItemFailed(ItemReason.CANT_MOVE)
        return True

    def close(self) -> None:
        """End the connection."""
        self._client.close()

    def _uid(self, item: Any) -> int:
        if not self.is_there(item.key):
            # The server has given all messages new ids, under which they are seen anew.
            raise ItemFailed(ItemReason.GONE, is_final=True)
        return int(item.key.rpartition(".")[2])


class _Message(io.RawIOBase):
    """The bytes of a message, which are fetched a part at a time: it may be larger than memory should hold."""

    def __init__(self, client: ImapClient, uid: int) -> None:
        super().__init__()
        self._client, self._uid = client, uid
        self._start, self._part = 0, b""
        self._is_over = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if not self._part and not self._is_over:
            self._fetch()
        room = memoryview(buffer)
        number = min(len(room), len(self._part))
        room[:number] = self._part[:number]
        self._part = self._part[number:]
        return number

    def _fetch(self) -> None:
        part = self._client.part(self._uid, self._start)
        if part is None:
            raise ItemFailed(ItemReason.GONE, is_final=True)
        self._start += len(part)
        self._part, self._is_over = part, len(part) < PART_BYTES


def _password(services: Services, source: Source) -> str:
    try:
        return services.seal.unseal(source.sealed_secret or b"", source.id)
    except CantUnseal as error:
        raise SourceFailed(SourceTrouble.SECRET_LOST) from error


def _subject(header: bytes) -> str:
    """The subject in a header, decoded as far as that goes."""
    raw = str(BytesHeaderParser().parsebytes(header).get("Subject", ""))
    try:
        text = str(make_header(decode_header(raw)))
    except (ValueError, LookupError, MessageError):
        text = raw
    text = text.encode("utf-8", "replace").decode().replace("\0", "")
    return " ".join(text.split())[:_SUBJECT_CHARACTERS_MAX]
