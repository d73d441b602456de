"""A client of IMAP on Python's own: connected to a checked address, and bounded in what it reads.

Every failure is a SourceFailed. Neither a password nor what a server says is part of one.
"""

import imaplib
import re
import socket
import ssl
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from webapp.clock import monotonic
from webapp.library.sources.trouble import SourceFailed, SourceTrouble

TIMEOUT_SECONDS = 30.0
COMMAND_SECONDS = 60.0
"""How long a server may take for its greeting, or for one answer. TIMEOUT_SECONDS is for each piece of it."""
SESSION_SECONDS = 600.0
"""How long a connection may last, since other sources wait for their turn."""
PART_BYTES = 1 << 20
# What a server may say in answer to one command.
_ANSWER_BYTES_MAX = 32 << 20
_GOODBYE_SECONDS, _ADDRESSES_MAX = 5.0, 4
# Ids are asked for in windows, since an answer is one line.
_WINDOW, _WINDOWS_MAX = 50_000, 100
_SIZE = re.compile(rb"RFC822\.SIZE (\d+)")
_UID = re.compile(rb"\bUID (\d+)")


@dataclass(frozen=True)
class MailServer:
    """Where a mailbox is, and how to get there: security is tls, starttls or plain."""

    host: str
    port: int
    security: str
    addresses: Sequence[str]


class _Bounded(imaplib.IMAP4):
    """A connection without encryption, or with it after STARTTLS."""

    def __init__(self, server: MailServer, address: str) -> None:
        self._address = address
        self.left_bytes = _ANSWER_BYTES_MAX
        self._ends_at = monotonic() + SESSION_SECONDS
        self._line: socket.socket | None = None
        with self.deadline():
            super().__init__(server.host, server.port, TIMEOUT_SECONDS)

    @contextmanager
    def deadline(self, seconds: float | None = None) -> Iterator[None]:
        """End the connection unless this is done in time: a server that sends byte after byte never times out."""
        timer = threading.Timer(max(0.0, min(seconds or COMMAND_SECONDS, self._ends_at - monotonic())), self._cut)
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()

    def _cut(self) -> None:
        with suppress(OSError):
            if self._line is not None:
                self._line.shutdown(socket.SHUT_RDWR)

    def shutdown(self) -> None:
        try:
            super().shutdown()
        finally:
            if self._line is not None:
                self._line.close()

    def _create_socket(self, timeout: float | None) -> socket.socket:
        connection = socket.create_connection((self._address, self.port), timeout)
        # Of its own, since TLS puts another socket in the place of the first one.
        self._line = connection.dup()
        return connection

    def read(self, size: int) -> bytes:
        self._count(size)
        return super().read(size)

    def readline(self) -> bytes:
        line = super().readline()
        self._count(len(line))
        return line

    def _count(self, size: int) -> None:
        self.left_bytes -= size
        if self.left_bytes < 0:
            raise self.abort("the server says too much")


class _BoundedTls(_Bounded):
    """A connection that is encrypted from the beginning."""

    def _create_socket(self, timeout: float | None) -> socket.socket:
        plain = super()._create_socket(timeout)
        try:
            return _context().wrap_socket(plain, server_hostname=self.host)
        except BaseException:
            plain.close()
            if self._line is not None:
                self._line.close()
            raise


def _context() -> ssl.SSLContext:
    return ssl.create_default_context()


class ImapClient:
    """A signed-in connection with one mailbox selected."""

    def __init__(self, server: MailServer, username: str, password: str) -> None:
        self._imap = _connect(server)
        self._next_uid = 0
        self._can: set[bytes] = set()
        try:
            with self._asking():
                if server.security == "starttls":
                    if "STARTTLS" not in self._imap.capabilities:
                        raise SourceFailed(SourceTrouble.TLS_FAILED)
                    self._imap.starttls(_context())
            with self._imap.deadline():
                self._sign_in(username, password)
            with self._asking():
                # Servers tell more to those whom they know.
                self._can = {word.upper() for line in self._imap.capability()[1] if line for word in line.split()}
        except BaseException:
            self.close()
            raise

    def _sign_in(self, username: str, password: str) -> None:
        try:
            if "AUTH=PLAIN" in self._imap.capabilities:
                token = f"\0{username}\0{password}".encode()
                self._imap.authenticate("PLAIN", lambda _: token)
            else:
                self._imap.login(username, password)
        except imaplib.IMAP4.abort as error:
            raise SourceFailed(SourceTrouble.SERVER_LOST) from error
        except (imaplib.IMAP4.error, UnicodeError) as error:
            # Its text is the server's own. Without it, no log can hold what was sent.
            raise SourceFailed(SourceTrouble.LOGIN_REFUSED) from None if isinstance(error, UnicodeError) else error
        except OSError as error:
            raise SourceFailed(SourceTrouble.SERVER_LOST) from error

    def select(self, mailbox: str, *, is_readonly: bool) -> int:
        """Open a mailbox; returns its UIDVALIDITY: if it is another one, so are all ids of messages."""
        with self._asking():
            status, _ = self._imap.select(_quoted(mailbox), is_readonly)
            _, found = self._imap.response("UIDVALIDITY")
            _, following = self._imap.response("UIDNEXT")
        if status != "OK" or not found or found[0] is None:
            raise SourceFailed(SourceTrouble.MAILBOX_MISSING)
        # Every server that people use says which id the next message will have; ids have 32 bits.
        self._next_uid = int(following[0]) if following and following[0] else 1 << 32
        return int(found[0])

    def uids_after(self, uid: int, most: int) -> tuple[list[int], int]:
        """The ids of the messages behind this one, in their order, and up to which id was looked."""
        found: list[int] = []
        for _ in range(_WINDOWS_MAX):
            if uid >= self._next_uid - 1 or len(found) >= most:
                break
            last = min(uid + _WINDOW, self._next_uid - 1)
            for part in self._ask("SEARCH", f"UID {uid + 1}:{last}"):
                found += [number for number in map(int, (part or b"").split()) if uid < number <= last]
            uid = last
        found = sorted(set(found))
        return (found[:most], found[most - 1]) if len(found) > most else (found, uid)

    def sizes_and_subjects(self, uids: Sequence[int]) -> dict[int, tuple[int | None, bytes]]:
        """The size and the line with the subject of each message."""
        what = "(UID RFC822.SIZE BODY.PEEK[HEADER.FIELDS (SUBJECT)])"
        found: dict[int, tuple[int | None, bytes]] = {}
        for part in self._ask("FETCH", ",".join(map(str, uids)), what):
            if not isinstance(part, tuple) or not (uid := _UID.search(part[0])):
                continue
            size = _SIZE.search(part[0])
            found[int(uid[1])] = (int(size[1]) if size else None, part[1])
        return found

    def part(self, uid: int, start: int) -> bytes | None:
        """PART_BYTES of a message; None where there is no such message."""
        found = self._ask("FETCH", str(uid), f"(BODY.PEEK[]<{start}.{PART_BYTES}>)")
        parts = [part[1] for part in found if isinstance(part, tuple)]
        if parts:
            return bytes(parts[0])
        return b"" if any(part and b"BODY[]" in part for part in found) else None

    def mark_seen(self, uid: int) -> None:
        """Mark a message as read."""
        self._ask("STORE", str(uid), "+FLAGS.SILENT", r"(\Seen)")

    def move(self, uid: int, mailbox: str) -> bool:
        """Move a message, to a mailbox that is made where it is missing; whether that could be done."""
        if self._move(uid, mailbox):
            return True
        with self._asking():
            self._imap.create(_quoted(mailbox))
        return self._move(uid, mailbox)

    def _move(self, uid: int, mailbox: str) -> bool:
        number, there = str(uid), _quoted(mailbox)
        with self._asking():
            if b"MOVE" in self._can:
                return self._imap.uid("MOVE", number, there)[0] == "OK"
            if self._imap.uid("COPY", number, there)[0] != "OK":
                return False
            is_marked = self._imap.uid("STORE", number, "+FLAGS.SILENT", r"(\Deleted)")[0] == "OK"
            if b"UIDPLUS" in self._can:
                self._imap.uid("EXPUNGE", number)
            return is_marked

    def close(self) -> None:
        """End the connection."""
        with suppress(OSError, imaplib.IMAP4.error), self._imap.deadline(_GOODBYE_SECONDS):
            self._imap.logout()
        with suppress(OSError, imaplib.IMAP4.error):
            self._imap.shutdown()

    def _ask(self, command: str, *arguments: str) -> list[Any]:
        with self._asking():
            status, found = self._imap.uid(command, *arguments)
        if status != "OK":
            raise SourceFailed(SourceTrouble.SERVER_REFUSED)
        return list(found)

    @contextmanager
    def _asking(self) -> Iterator[None]:
        self._imap.left_bytes = _ANSWER_BYTES_MAX
        with self._imap.deadline(), _translated():
            yield


def _connect(server: MailServer) -> _Bounded:
    kind = _BoundedTls if server.security == "tls" else _Bounded
    failure: SourceFailed | None = None
    for address in server.addresses[:_ADDRESSES_MAX]:
        try:
            with _translated(SourceTrouble.SERVER_UNREACHABLE):
                return kind(server, address)
        except SourceFailed as error:
            failure = error
    raise failure or SourceFailed(SourceTrouble.SERVER_UNREACHABLE)


@contextmanager
def _translated(otherwise: SourceTrouble = SourceTrouble.SERVER_LOST) -> Iterator[None]:
    """What goes wrong on the way, as the trouble that it is."""
    try:
        yield
    except ssl.SSLCertVerificationError as error:
        raise SourceFailed(SourceTrouble.CERTIFICATE) from error
    except ssl.SSLError as error:
        raise SourceFailed(SourceTrouble.TLS_FAILED) from error
    except (OSError, imaplib.IMAP4.abort) as error:
        raise SourceFailed(otherwise) from error
    except (imaplib.IMAP4.error, ValueError) as error:
        raise SourceFailed(SourceTrouble.SERVER_REFUSED) from error


def _quoted(mailbox: str) -> str:
    """The name of a mailbox as IMAP spells it: in its own form of UTF-7, between quotes."""
    escaped = _as_utf7(mailbox).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _as_utf7(text: str) -> str:
    def encoded(run: "re.Match[str]") -> str:
        if run[0] == "&":
            return "&-"
        coded = run[0].encode("utf-7").decode("ascii")
        return "&" + coded.removeprefix("+").rstrip("-").replace("/", ",") + "-"

    return re.sub(r"&|[^\x20-\x7e]+", encoded, text)
