"""The files in a winmail.dat, in which Outlook packs a message for receivers who have Outlook, too (TNEF)."""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import EndsEarly, Member, Obstacle, UnpackLimits, member
from webapp.readers.encoding import codec_named
from webapp.readers.mail.message import text_of
from webapp.readers.ole.packed_rtf import text_of_packed_rtf

SIGNATURE = b"\x78\x9f\x3e\x22"
FILE_BYTES_MAX = 128 << 20
_HEAD_BYTES, _SUM_BYTES = 6, 2
_OF_ATTACHMENT = 2
_CODE_PAGE, _PROPERTIES, _TEXT = 0x9007, 0x9003, 0x800C
_BEGINS, _NAME, _DATA, _MORE = 0x9002, 0x8010, 0x800F, 0x9005
# Of the properties: the text as HTML and as packed RTF; a file's names and its bytes.
_HTML, _RTF, _LONG_NAME, _SHORT_NAME, _SHOWN_NAME, _OBJECT = 0x1013, 0x1009, 0x3707, 0x3704, 0x3001, 0x3701
_FIXED = {2: 4, 3: 4, 4: 4, 5: 8, 6: 8, 7: 8, 10: 4, 11: 4, 20: 8, 0x40: 8, 0x48: 16}
_IN_BYTES, _IN_UTF16, _IN_OBJECT, _IN_BINARY = 0x1E, 0x1F, 0x0D, 0x102
_MANY, _NAMED, _GUID_BYTES = 0x1000, 0x8000, 16
_NAMELESS = "without a name"


@dataclass
class _File:
    """What was found of a file so far."""

    title: bytes = b""
    data: bytes = b""
    properties: dict[int, tuple[int, bytes]] = field(default_factory=dict)


def tnef_members(source: Path, _: UnpackLimits) -> Iterator[Member]:
    """The files, then the message's text; EndsEarly where the rest is damaged."""
    if source.stat().st_size > FILE_BYTES_MAX:
        raise BadInput(f"more than {FILE_BYTES_MAX} bytes in one message", code=FailureCode.TOO_LARGE)
    data = source.read_bytes()
    if not data.startswith(SIGNATURE):
        raise BadInput("no TNEF", code=FailureCode.CORRUPT)
    found: _File | None = None
    message, codec = _File(), "cp1252"
    for level, number, value in _attributes(data):
        if number == _BEGINS:
            if found:
                yield _member(found, codec)
            found = _File()
        elif level == _OF_ATTACHMENT:
            found = found or _File()
            _note(found, number, value)
        elif number == _CODE_PAGE:
            codec = codec_named(f"cp{int.from_bytes(value[:4], 'little')}") or codec
        else:
            _note(message, number, value)
    if found:
        yield _member(found, codec)
    yield from _texts(message, codec)


def _attributes(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    at = _HEAD_BYTES
    while at < len(data):
        if at + 9 > len(data):
            raise EndsEarly(Obstacle.DAMAGED)
        level, number, _, size = struct.unpack_from("<BHHL", data, at)
        at += 9
        if at + size + _SUM_BYTES > len(data):
            raise EndsEarly(Obstacle.DAMAGED)
        yield level, number, data[at : at + size]
        at += size + _SUM_BYTES


def _note(found: _File, number: int, value: bytes) -> None:
    if number in {_NAME, _TEXT}:
        found.title = value
    elif number == _DATA:
        found.data = value
    elif number in {_PROPERTIES, _MORE}:
        # What follows the damage can't be read; what came before it is kept.
        for id_, kind, content in _properties(value):
            found.properties.setdefault(id_, (kind, content))


def _properties(data: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Each with its number, its type and its first value, until one can't be read."""
    at = 4
    while at + 4 <= len(data):
        kind, id_ = struct.unpack_from("<2H", data, at)
        at += 4
        if id_ >= _NAMED:
            at = _after_name(data, at)
        count, one = 1, kind & ~_MANY
        if kind & _MANY or one not in _FIXED:
            count, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        values = _values(data, at, one, count)
        if values is None:
            return
        at, first = values
        yield id_, one, first


def _after_name(data: bytes, at: int) -> int:
    is_text = int.from_bytes(data[at + _GUID_BYTES : at + _GUID_BYTES + 4], "little")
    at += _GUID_BYTES + 4
    return at + 4 + (_padded(int.from_bytes(data[at : at + 4], "little")) if is_text else 0)


def _values(data: bytes, at: int, kind: int, count: int) -> tuple[int, bytes] | None:
    """Where the next property begins, and the first value of this one; None where that can't be."""
    first: bytes | None = None
    if kind not in {*_FIXED, _IN_BYTES, _IN_UTF16, _IN_OBJECT, _IN_BINARY} or count > len(data):
        return None
    for _ in range(count):
        size = _FIXED.get(kind)
        if size is None:
            size, at = int.from_bytes(data[at : at + 4], "little"), at + 4
        if at + size > len(data):
            return None
        first = data[at : at + size] if first is None else first
        at += _padded(size)
    return at, first or b""


def _padded(size: int) -> int:
    return -(-size // 4) * 4


def _member(found: _File, codec: str) -> Member:
    names = (_words(found.properties.get(id_), codec) for id_ in (_LONG_NAME, _SHOWN_NAME, _SHORT_NAME))
    name = next(filter(None, names), "") or _decoded(found.title, codec) or _NAMELESS
    kind, content = found.properties.get(_OBJECT, (0, b""))
    # A message within the message begins with what says what it is.
    data = found.data or (content[_GUID_BYTES:] if kind == _IN_OBJECT else content)
    return member(name, len(data), lambda: [data])


def _texts(message: _File, codec: str) -> Iterator[Member]:
    """What the message says, in the form that tells most."""
    makers: tuple[tuple[str, Callable[[], bytes]], ...] = (
        ("message.html", lambda: _bytes_of(message, _HTML)),
        ("message.txt", lambda: _unpacked_rtf(_bytes_of(message, _RTF))),
        ("message.txt", lambda: _decoded(message.title, codec).encode()),
    )
    for name, make in makers:
        if text := make():
            yield member(name, len(text), lambda text=text: [text])  # type: ignore[misc]  # a text of its own for each
            return


def _bytes_of(message: _File, id_: int) -> bytes:
    return message.properties.get(id_, (0, b""))[1]


def _unpacked_rtf(data: bytes) -> bytes:
    try:
        return text_of_packed_rtf(data).encode() if data else b""
    except (BadInput, ValueError, IndexError):
        return b""


def _words(found: tuple[int, bytes] | None, codec: str) -> str:
    if found is None:
        return ""
    kind, data = found
    return data.decode("utf-16-le", "replace").rstrip("\0") if kind == _IN_UTF16 else _decoded(data, codec)


def _decoded(data: bytes, codec: str) -> str:
    data = data.rstrip(b"\0")
    try:
        return data.decode(codec)
    except (UnicodeDecodeError, LookupError):
        return text_of(data, None)
