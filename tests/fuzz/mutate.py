"""Changes a good file into one that nobody would write, knowing its form: also within members and streams."""

import io
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from random import Random

import olefile

from tests.fuzz import noise, spans
from tests.fuzz.noise import GROWN_BYTES_MAX
from tests.readers.office.damage import bomb, locked_member, many_members, with_false_sizes
from tests.readers.ole.container import container

CHANGES = (1, 1, 1, 2, 2, 3, 5)
Mutate = Callable[[bytes, Sequence[bytes], Random], bytes]


@dataclass(frozen=True)
class Form:
    """What is known of a kind of file: where its parts are, and whether it is written in letters."""

    find: spans.Find
    is_text: bool
    repair: Callable[[bytes], bytes] = bytes
    also: Sequence[noise.Change] = ()
    """Changes that only this form knows."""
    share: float = 0.12
    """How many of all changes are those."""

    def __call__(self, data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
        """Apply a few changes."""
        for _ in range(chance.choice(CHANGES)):
            if not data:
                break
            data = self._once(data, others, chance)[: 2 * GROWN_BYTES_MAX]
        return self.repair(data) if chance.random() < 0.9 else data

    def _once(self, data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
        draw = chance.random()
        if self.also and draw < self.share:
            return chance.choice(self.also)(data, chance)
        draw = chance.random()
        if others and draw < 0.05:
            return noise.spliced(data, chance.choice(others), chance)
        found = self.find(data) if draw < 0.6 else []
        if found:
            change = chance.choice(spans.IN_TEXTS if self.is_text else spans.IN_BYTES)
            return change(data, chance.choice(found), chance.choice(found), chance)
        return chance.choice(noise.TEXTS if self.is_text else noise.BYTES)(data, chance)


def with_another_value(data: bytes, chance: Random) -> bytes:
    """An attribute has another value, and the file is as well formed as before."""
    return _exchanged(data, _ATTRIBUTE, chance)


def with_another_text(data: bytes, chance: Random) -> bytes:
    """What an element says is something else."""
    return _exchanged(data, _TEXT, chance)


def _exchanged(data: bytes, pattern: re.Pattern[bytes], chance: Random) -> bytes:
    found = list(pattern.finditer(data))[:2_000]
    if not found:
        return data
    place, other = chance.choice(found), chance.choice(found)[1]
    hostile = escape(chance.choice(noise.WORDS).decode("latin-1").replace("\0", "\1"), quote=True).encode()
    value = chance.choice((chance.choice(noise.NUMBERS), chance.choice(noise.NUMBERS), other, hostile))
    return data[: place.start(1)] + value + data[place.end(1) :]


def with_another_name(data: bytes, chance: Random) -> bytes:
    """Elements of one name have that of others, or an attribute has another's."""
    names = re.findall(rb"</([\w:.-]{1,60})>", data)[:2_000]
    if not names:
        return data
    old, new = chance.choice(names), chance.choice(names)
    return re.sub(rb"(</?)%s(?=[\s/>])" % re.escape(old), rb"\1" + new, data, count=chance.choice((0, 0, 2)))


def with_declarations(data: bytes, chance: Random) -> bytes:
    """Entities that unfold, that name files and addresses, or that name themselves."""
    inner = chance.choice(
        (
            b"<!ENTITY a 'ha'>" + b"".join(b"<!ENTITY a%d '%s'>" % (n, b"&a;" * 10) for n in range(10)),
            b"<!ENTITY a '%s'>" % (b"A" * 50_000),
            b"<!ENTITY a SYSTEM 'file:///etc/passwd'>",
            b"<!ENTITY % a SYSTEM 'http://127.0.0.1:9/a'>%a;",
            b"<!ENTITY a '&b;'><!ENTITY b '&a;'>",
        )
    )
    start, end = re.search(rb"\A(?:<\?xml[^>]*\?>)?", data).span()  # type: ignore[union-attr] # matches everywhere
    used = data[end:].replace(b"</", b"&a;</", chance.choice((1, 50, 1_000)))
    return data[start:end] + b"<!DOCTYPE x [" + inner + b"]>" + used


def with_declared_encoding(data: bytes, chance: Random) -> bytes:
    """A text that names its encoding, rightly or not."""
    said = chance.choice(
        ("utf-16", "utf-7", "punycode", "ebcdic-cp-us", "utf-32", "koi8-r", "iso-2022-jp", "x" * 5_000)
    )
    return b"<?xml version='1.0' encoding='" + said.encode() + b"'?>" + re.sub(rb"\A<\?xml[^>]*\?>", b"", data)


def within_messages(data: bytes, chance: Random) -> bytes:
    """A message that is attached to a message, and so on; or a part in parts."""
    times = chance.choice((1, 10, 300))
    if chance.random() < 0.5:
        return b"Subject: x\nContent-Type: message/rfc822\n\n" * times + data
    heads = (b'Content-Type: multipart/mixed; boundary="b%d"\n\n--b%d\n' % (n, n) for n in range(times))
    return b"Subject: x\n" + b"".join(heads) + data


def with_right_ogg_sums(data: bytes) -> bytes:
    """An Ogg file whose pages have the right checksums again."""
    if not data.startswith(b"OggS"):
        return data
    changed = bytearray(data)
    for span in spans.pages_of_sound(data):
        if span.end - span.start >= span.head:
            changed[span.start + 22 : span.start + 26] = bytes(4)
            total = _ogg_sum(bytes(changed[span.start : span.end]))
            struct.pack_into("<I", changed, span.start + 22, total)
    return bytes(changed)


def _ogg_sum(page: bytes) -> int:
    total = 0
    for byte in page:
        total = (total << 8 & 0xFFFFFFFF) ^ _OGG_SUMS[total >> 24 ^ byte]
    return total


def _ogg_table(byte: int) -> int:
    total = byte << 24
    for _ in range(8):
        total = (total << 1) ^ 0x04C11DB7 if total & 1 << 31 else total << 1
    return total & 0xFFFFFFFF


_OGG_SUMS = [_ogg_table(byte) for byte in range(256)]
_ATTRIBUTE = re.compile(rb"[\w:.-]=[\"']([^\"'<>]{0,300})[\"']")
_TEXT = re.compile(rb">([^<>]{1,300})<")
_WELL_FORMED = (with_another_value, with_another_value, with_another_value, with_another_text, with_another_name)


def with_right_7z_sums(data: bytes) -> bytes:
    """The checksums that a reader asks for before it looks at anything."""
    if len(data) < 32:
        return data
    at, size = struct.unpack_from("<QQ", data, 12)
    start = data[12:28] + struct.pack("<L", zlib.crc32(data[32 + at : 32 + at + size]))
    return data[:8] + struct.pack("<L", zlib.crc32(start)) + start + data[32:]


XML = Form(spans.elements, is_text=True, also=(*_WELL_FORMED * 3, with_declarations, with_declared_encoding), share=0.6)
HTML = Form(spans.elements, is_text=True, also=(*_WELL_FORMED, with_declared_encoding), share=0.4)
RTF = Form(spans.groups, is_text=True)
LINES = Form(spans.lines, is_text=True)
MAIL = Form(spans.lines, is_text=True, also=(within_messages,))
PNG = Form(spans.png_chunks, is_text=False, repair=spans.with_right_sums)
JPEG = Form(spans.jpeg_segments, is_text=False)
TIFF = Form(spans.tiff_entries, is_text=False)
RIFF = Form(spans.riff_chunks, is_text=False)
BOXES = Form(spans.boxes, is_text=False)
OGG = Form(spans.pages_of_sound, is_text=False, repair=with_right_ogg_sums)
SEVEN_ZIP = Form(spans.nothing, is_text=False, repair=with_right_7z_sums)
BYTES = Form(spans.nothing, is_text=False)
_PDF_TEXT = Form(spans.pdf_parts, is_text=True)
_DRAWING = Form(spans.lines, is_text=True)
_STREAMS: tuple[tuple[str, Form], ...] = (
    ("Workbook", Form(spans.workbook_records, is_text=False)),
    ("PowerPoint Document", Form(spans.slide_records, is_text=False)),
    ("__properties_version1.0", Form(spans.sixteens, is_text=False)),
)
_PDF_STREAM = re.compile(rb"(<<(?:(?!<<).)*?)/Length \d+(.{0,200}?>>\s*stream\r?\n)(.*?)(\r?\nendstream)", re.DOTALL)
_SECTOR = 512


def zipped(data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
    """A zip container: mostly within its members, else the container itself."""
    draw = chance.random()
    if draw < 0.12:
        return chance.choice((with_false_sizes, locked_member))(data) if draw < 0.02 else BYTES(data, others, chance)
    if draw < 0.13:
        return many_members(data, 2_000)
    members = dict(_members(data))
    name = chance.choice(list(members))
    if draw < 0.135:
        return bomb(name, {each: content for each, content in members.items() if each != name}, 70)
    if draw < 0.2:
        _moved(members, name, others, chance)
    else:
        for each in {name, chance.choice(list(members))}:
            beside = [content for other in others if (content := dict(_members(other)).get(each))]
            form = XML if members[each].lstrip()[:1] == b"<" else BYTES
            members[each] = form(members[each], beside, chance) if members[each] else members[each]
    return _packed(members)


def _moved(members: dict[str, bytes], name: str, others: Sequence[bytes], chance: Random) -> None:
    """A member is missing, is another one, has another name, or comes out of another file."""
    other = chance.choice(list(members))
    match chance.randrange(4):
        case 0:
            del members[name]
        case 1:
            members[name] = members[other]
        case 2:
            members[chance.choice(("../../x", "/etc/passwd", "x\0y", name.upper(), "é" * 300))] = members.pop(name)
        case _:
            members |= dict(_members(chance.choice(others))) if others else {}


@lru_cache(maxsize=256)
def _members(data: bytes) -> tuple[tuple[str, bytes], ...]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return tuple((name, archive.read(name)) for name in archive.namelist())


def _packed(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def pdf(data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
    """A PDF: within its streams, in its objects, and as bytes."""
    draw = chance.random()
    if draw < 0.12:
        return BYTES(data, others, chance)
    if draw < 0.55 and (streams := list(_PDF_STREAM.finditer(data))):
        return _with_stream(data, chance.choice(streams), chance)
    return _PDF_TEXT(data, others, chance)


def _with_stream(data: bytes, found: re.Match[bytes], chance: Random) -> bytes:
    is_packed = b"/FlateDecode" in found[1] + found[2]
    content = found[3]
    try:
        plain = zlib.decompressobj().decompress(content, GROWN_BYTES_MAX) if is_packed else content
    except zlib.error:
        plain, is_packed = content, False
    content = (_DRAWING if plain else BYTES)(plain or b"x", (), chance)
    content = zlib.compress(content, 1) if is_packed else content
    length = chance.choice((len(content),) * 6 + (0, 2**31, len(content) // 2))
    head = found[1] + b"/Length %d" % length + found[2]
    return data[: found.start()] + head + content + found[4] + data[found.end() :]


def ole(data: bytes, others: Sequence[bytes], chance: Random) -> bytes:
    """A container of streams: mostly within them, else its chains of sectors, its directory and its head."""
    draw = chance.random()
    if draw < 0.1:
        return BYTES(data, others, chance)
    if draw < 0.35:
        return _with_false_chains(data, chance)
    streams = dict(_streams(data))
    name = chance.choice(list(streams))
    if draw < 0.45:
        _moved(streams, name, (), chance)
    elif streams[name]:
        form = next((form for end, form in _STREAMS if name.endswith(end)), BYTES)
        beside = [content for other in others if (content := dict(_streams(other)).get(name))]
        streams[name] = form(streams[name], beside, chance)
    return container({each.strip("/") or "x": content for each, content in streams.items()})


def _with_false_chains(data: bytes, chance: Random) -> bytes:
    """Entries of the table of sectors, of the directory or of the head that lead elsewhere, or round in circles."""
    changed = bytearray(data)
    table_at = (struct.unpack_from("<I", data, 76)[0] + 1) * _SECTOR
    directory_at = (struct.unpack_from("<I", data, 48)[0] + 1) * _SECTOR
    for _ in range(chance.randint(1, 5)):
        start, length = chance.choice(((0, 128), (table_at, _SECTOR), (directory_at, 1024), (directory_at, 4096)))
        place = min(start + 4 * chance.randrange(length // 4), len(data) - 4)
        number = chance.choice((*noise.EDGES[:-2], *range(12), chance.randrange(len(data) // _SECTOR + 2)))
        struct.pack_into("<I", changed, place, number)
    return bytes(changed)


@lru_cache(maxsize=256)
def _streams(data: bytes) -> tuple[tuple[str, bytes], ...]:
    with olefile.OleFileIO(io.BytesIO(data)) as file:
        return tuple(("/".join(path), file.openstream(path).read()) for path in file.listdir())
