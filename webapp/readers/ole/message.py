"""Messages of Outlook (MSG): their properties become the message that the reader of e-mail knows."""

import base64
import sys
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.utils import format_datetime
from struct import unpack_from

from webapp.readers.encoding import codec_named
from webapp.readers.extraction import Extraction
from webapp.readers.fields.find import OF_MAIL
from webapp.readers.fields.markdown import with_fields
from webapp.readers.mail.body import read_mail
from webapp.readers.mail.message import PARTS_MAX, Attachment, Part
from webapp.readers.mail.read import extraction_of
from webapp.readers.markup.parse import RECURSION
from webapp.readers.ole.container import Container
from webapp.readers.ole.packed_rtf import text_of_packed_rtf
from webapp.sandbox.child import Report

DEPTH_MAX = 5
ADDRESSES_MAX = 500
TEXT_BYTES_MAX = 50 << 20
_SUBJECT, _SENDER, _BODY, _HTML, _RTF = "0037", "0C1A", "1000", "1013", "1009"
_SENDER_ADDRESSES, _ADDRESSES = ("5D01", "0C1F"), ("39FE", "3003")
_NAME, _FILENAMES, _DATA, _KIND, _CONTENT_ID = "3001", ("3707", "3704", "3001"), "3701", "370E", "3712"
_SENT, _RECEIVED, _CODEPAGES, _RECIPIENT_TYPE = 0x0039, 0x0E06, (0x3FDE, 0x3FFD), 0x0C15
_WIDE, _NARROW, _BYTES, _FOLDER = "001F", "001E", "0102", "000D"
_HEADS = {"": 32, "inner": 24, "part": 8}
_RECIPIENTS = {1: "To", 2: "Cc"}
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)
_ENTRY_BYTES = 16


def read_message(container: Container, report: Report) -> Extraction:
    """Read a message, and those attached to it, as if they had come as e-mail."""
    sys.setrecursionlimit(RECURSION)
    outlook = _Outlook(container)
    message = outlook.message("", 0)
    report.progress(0.5)
    return with_fields(extraction_of(message, is_whole=outlook.is_whole), OF_MAIL)


def attachments_of_outlook(container: Container) -> list[Attachment]:
    """What hangs on a message, and on those attached to it, in the order in which it is listed."""
    sys.setrecursionlimit(RECURSION)
    return read_mail(_Outlook(container).message("", 0)).attachments


class _Outlook:
    """The folders of one file as messages and their parts."""

    def __init__(self, container: Container) -> None:
        self._container = container
        self._parts = 0
        self.is_whole = True

    def message(self, folder: str, depth: int) -> Part:
        """The message whose properties lie in this folder."""
        fixed = self._fixed(folder, _HEADS["inner" if folder else ""])
        codec = next((f"cp{fixed[one]}" for one in _CODEPAGES if fixed.get(one)), None)
        words = _Words(self._container, folder, "utf-8" if codec == "cp65001" else codec)
        message: Part = Message()
        message["MIME-Version"] = "1.0"
        sender = _address(words.text(_SENDER), next(filter(None, map(words.text, _SENDER_ADDRESSES)), ""))
        self._name(message, words, {"From": sender, **self._recipients(folder, words)}, fixed)
        message.set_type("multipart/mixed")
        message.set_payload([self._body(words), *self._attachments(folder, words, depth)])
        return message

    def _name(self, message: Part, words: "_Words", people: dict[str, str], fixed: dict[int, int]) -> None:
        """The headers."""
        sent = _moment(fixed.get(_SENT) or fixed.get(_RECEIVED))
        for name, value in {**people, "Date": sent, "Subject": words.text(_SUBJECT)}.items():
            if value:
                message[name] = " ".join(value.split())

    def _recipients(self, folder: str, words: "_Words") -> dict[str, str]:
        found: dict[str, list[str]] = {"To": [], "Cc": []}
        for each in self._container.folders(folder, "__recip_version1.0_#")[:ADDRESSES_MAX]:
            kind = self._fixed(each, _HEADS["part"]).get(_RECIPIENT_TYPE, 1)
            own = _Words(self._container, each, words.codec)
            address = _address(own.text(_NAME), next(filter(None, map(own.text, _ADDRESSES)), ""))
            if address and kind in _RECIPIENTS:
                found[_RECIPIENTS[kind]].append(address)
        # Where nobody is listed, the names that Outlook shows.
        shown = {"To": words.text("0E04"), "Cc": words.text("0E03")}
        return {name: ", ".join(found[name]) or shown[name] for name in found}

    def _body(self, words: "_Words") -> Part:
        """The text: plain and HTML where both are there, as mail has them; else what is in its RTF."""
        plain, html = words.text(_BODY), words.data(_HTML) or words.text(_HTML).encode()
        if not plain.strip() and not html:
            plain = text_of_packed_rtf(words.data(_RTF))
        forms: list[Part | str] = [_text_part("plain", plain.encode(), "utf-8")] if plain.strip() else []
        if html:
            forms.append(_text_part("html", html, None))
        body: Part = Message()
        body.set_type("multipart/alternative")
        body.set_payload(forms or [_text_part("plain", b"", "utf-8")])
        return body

    def _attachments(self, folder: str, words: "_Words", depth: int) -> list[Part]:
        return [
            part
            for each in self._container.folders(folder, "__attach_version1.0_#")
            if (part := self._attachment(each, words, depth)) is not None
        ]

    def _attachment(self, folder: str, words: "_Words", depth: int) -> "Part | None":
        self._parts += 1
        if self._parts > PARTS_MAX:
            self.is_whole = False
            return None
        own = _Words(self._container, folder, words.codec)
        inner = f"{folder}/__substg1.0_{_DATA}{_FOLDER}"
        part: Part = Message()
        if self._container.has(f"{inner}/__properties_version1.0") and depth < DEPTH_MAX:
            part.set_type("message/rfc822")
            part.set_payload([self.message(inner, depth + 1)])
            return part
        part["Content-Type"] = own.text(_KIND).partition(";")[0].strip() or "application/octet-stream"
        name = next(filter(None, map(own.text, _FILENAMES)), "")
        content_id = own.text(_CONTENT_ID)
        if content_id:
            part["Content-ID"] = " ".join(content_id.split())
        kind = "inline" if content_id and name else "attachment"
        part.add_header("Content-Disposition", kind, filename=("utf-8", "", " ".join(name.split())))
        _fill(part, own.data(_DATA))
        return part

    def _fixed(self, folder: str, head: int) -> dict[int, int]:
        """The numbers and times among the properties."""
        data = self._container.read(
            f"{folder}/__properties_version1.0" if folder else "__properties_version1.0", 1 << 20
        )
        entries = range(head, len(data) - _ENTRY_BYTES + 1, _ENTRY_BYTES)
        return {unpack_from("<H", data, place + 2)[0]: unpack_from("<Q", data, place + 8)[0] for place in entries}


class _Words:
    """The texts and bytes among the properties of one folder."""

    def __init__(self, container: Container, folder: str, codec: str | None) -> None:
        self._container = container
        self._start = f"{folder}/__substg1.0_" if folder else "__substg1.0_"
        self.codec = codec_named(codec) or "cp1252"

    def text(self, name: str) -> str:
        """A text; empty where there is none."""
        if wide := self._container.read(f"{self._start}{name}{_WIDE}", TEXT_BYTES_MAX):
            return wide.decode("utf-16-le", "replace").rstrip("\0")
        return (
            self._container.read(f"{self._start}{name}{_NARROW}", TEXT_BYTES_MAX)
            .decode(self.codec, "replace")
            .rstrip("\0")
        )

    def data(self, name: str) -> bytes:
        """Bytes; empty where there are none."""
        return self._container.read(f"{self._start}{name}{_BYTES}")


def _text_part(kind: str, data: bytes, charset: str | None) -> Part:
    part: Part = Message()
    part["Content-Type"] = f"text/{kind}" + (f'; charset="{charset}"' if charset else "")
    _fill(part, data)
    return part


def _fill(part: Part, data: bytes) -> None:
    part["Content-Transfer-Encoding"] = "base64"
    part.set_payload(base64.b64encode(data).decode())


def _address(name: str, address: str) -> str:
    """As mail writes it; addresses of Exchange are no addresses of mail."""
    name, address = " ".join(name.split()), " ".join(address.split())
    is_mail = "@" in address and not address.startswith("/")
    if not is_mail:
        return name
    # Not by `formataddr`, which encodes letters: this is read, and never sent.
    return address if name in {"", address, f"'{address}'"} else f"{name} <{address}>"


def _moment(ticks: int | None) -> str:
    """A time as mail writes it; empty where there is none, or one that no calendar has."""
    try:
        return format_datetime(_EPOCH + timedelta(microseconds=ticks // 10)) if ticks else ""
    except (OverflowError, ValueError):
        return ""
