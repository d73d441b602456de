"""Where the parts of a file are (elements, groups, objects, records, chunks), and changes to one of them."""

import re
import struct
import zlib
from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from tests.fuzz.noise import EDGES, repeats

# More of them are not needed to choose one.
SPANS_MAX = 4_000
DEPTHS = (2, 20, 200, 1_000, 5_000, 50_000)


class Span(NamedTuple):
    """A part: where it begins and ends, and how long what opens it and what closes it is."""

    start: int
    end: int
    head: int = 0
    tail: int = 0


Find = Callable[[bytes], list[Span]]
_TAG = re.compile(rb"<(/?)([A-Za-z_][\w:.-]{0,80})[^<>]{0,4000}?(/?)>")
_PDF_OBJECT = re.compile(rb"\d+ \d+ obj\b.*?\bendobj", re.DOTALL)
_PDF_SIGN = re.compile(rb"<<|>>|\[|\]")
_LINE = re.compile(rb"[^\n]*\n")


def elements(data: bytes) -> list[Span]:
    """The elements of XML or HTML, with their tags."""
    found, opened = [], list[tuple[bytes, int, int]]()
    for tag in _TAG.finditer(data):
        if tag[3]:
            found.append(Span(tag.start(), tag.end()))
        elif not tag[1]:
            opened.append((tag[2], tag.start(), tag.end()))
        elif opened and opened[-1][0] == tag[2]:
            _, start, head_end = opened.pop()
            found.append(Span(start, tag.end(), head_end - start, tag.end() - tag.start()))
        if len(found) >= SPANS_MAX:
            break
    return found


def groups(data: bytes) -> list[Span]:
    """What braces enclose, as in RTF."""
    return _enclosed(re.finditer(rb"[{}]", data), {b"{": b"}"})


def pdf_parts(data: bytes) -> list[Span]:
    """The objects of a PDF, and the dictionaries and arrays within them."""
    objects = [Span(each.start(), each.end()) for each in _PDF_OBJECT.finditer(data)]
    return objects + _enclosed(_PDF_SIGN.finditer(data), {b"<<": b">>", b"[": b"]"})


def lines(data: bytes) -> list[Span]:
    """The lines of a text."""
    return [Span(each.start(), each.end()) for each in _LINE.finditer(data)][:SPANS_MAX]


def _enclosed(signs: Iterator[re.Match[bytes]], pairs: dict[bytes, bytes]) -> list[Span]:
    found, opened = [], list[tuple[bytes, int]]()
    for sign in signs:
        if sign[0] in pairs:
            opened.append((pairs[sign[0]], sign.start()))
        elif opened and opened[-1][0] == sign[0]:
            found.append(Span(opened.pop()[1], sign.end(), len(sign[0]), len(sign[0])))
        if len(found) >= SPANS_MAX:
            break
    return found


def png_chunks(data: bytes) -> list[Span]:
    """The chunks of a PNG file."""
    return list(_walk(data, 8, lambda at: 12 + _number(data, at, ">I"), 8))


def with_right_sums(data: bytes) -> bytes:
    """A PNG file whose chunks have the right checksums again, so that what is wrong in them is looked at."""
    changed = bytearray(data)
    for span in png_chunks(data):
        changed[span.end - 4 : span.end] = struct.pack(">I", zlib.crc32(data[span.start + 4 : span.end - 4]))
    return bytes(changed)


def jpeg_segments(data: bytes) -> list[Span]:
    """The segments before a JPEG's pixels."""
    return list(_walk(data, 2, lambda at: 2 + _number(data, at + 2, ">H") if data[at] == 0xFF else 0, 4))


def riff_chunks(data: bytes) -> list[Span]:
    """The chunks of WAV, AVI and WebP; those of AIFF, whose numbers have the other order."""
    form = ">I" if data[:4] == b"FORM" else "<I"
    return list(_walk(data, 12, lambda at: 8 + (_number(data, at + 4, form) + 1 & ~1), 8))


def boxes(data: bytes) -> list[Span]:
    """The boxes of MP4 and HEIC, and those within them."""
    found = list(_walk(data, 0, lambda at: _number(data, at, ">I"), 8))
    inner = [box for span in found for box in _inside(data, span, 0)]
    return (found + inner)[:SPANS_MAX]


def _inside(data: bytes, span: Span, depth: int) -> list[Span]:
    kind = data[span.start + 4 : span.start + 8]
    if depth > 8 or kind not in {
        b"moov",
        b"trak",
        b"mdia",
        b"minf",
        b"stbl",
        b"meta",
        b"iprp",
        b"ipco",
        b"udta",
        b"edts",
    }:
        return []
    start = span.start + (12 if kind == b"meta" else 8)
    found = list(_walk(data[: span.end], start, lambda at: _number(data, at, ">I"), 8))
    return found + [box for each in found for box in _inside(data, each, depth + 1)]


def tiff_entries(data: bytes) -> list[Span]:
    """The entries of a TIFF's directories."""
    order, found, seen = "<" if data[:2] == b"II" else ">", list[Span](), set[int]()
    at = _number(data, 4, order + "I")
    while at and at not in seen and at + 2 <= len(data) and len(found) < SPANS_MAX:
        seen.add(at)
        count = _number(data, at, order + "H")
        found += [Span(place, place + 12, 8) for place in range(at + 2, min(at + 2 + 12 * count, len(data) - 12), 12)]
        at = _number(data, at + 2 + 12 * count, order + "I")
    return found


def workbook_records(data: bytes) -> list[Span]:
    """The records of an old workbook."""
    return list(_walk(data, 0, lambda at: 4 + _number(data, at + 2, "<H"), 4))


def slide_records(data: bytes) -> list[Span]:
    """The records of an old presentation, and those within them."""
    found, left = list[Span](), [(0, len(data))]
    while left and len(found) < SPANS_MAX:
        start, end = left.pop()
        here = list(_walk(data[:end], start, lambda at: 8 + _number(data, at + 4, "<I"), 8))
        found += here
        left += [(each.start + 8, each.end) for each in here if data[each.start] & 0xF == 0xF]
    return found


def sixteens(data: bytes) -> list[Span]:
    """Entries of sixteen bytes, such as the properties of an Outlook message."""
    return [Span(at, at + 16, 8) for at in range(8, len(data) - 15, 8)][:SPANS_MAX]


def pages_of_sound(data: bytes) -> list[Span]:
    """The pages of an Ogg file; the frames of others that begin with set bits."""
    mark = b"OggS" if data.startswith(b"OggS") else data[:2]
    places = [each.start() for each in re.finditer(re.escape(mark), data)][:SPANS_MAX]
    return [Span(start, end, 27) for start, end in zip(places, [*places[1:], len(data)], strict=False)]


def nothing(_: bytes) -> list[Span]:
    """No part is known."""
    return []


def _walk(data: bytes, start: int, length: Callable[[int], int], head: int) -> Iterator[Span]:
    for _ in range(SPANS_MAX):
        if start + head > len(data):
            return
        size = length(start)
        if size < head or start + size > len(data):
            return
        yield Span(start, start + size, head)
        start += size


def _number(data: bytes, at: int, form: str) -> int:
    size = struct.calcsize(form)
    return int(struct.unpack(form, data[at : at + size].ljust(size, b"\0"))[0])


def removed(data: bytes, span: Span, _: Span, __: Random) -> bytes:
    """The part is missing."""
    return data[: span.start] + data[span.end :]


def repeated(data: bytes, span: Span, _: Span, chance: Random) -> bytes:
    """The part is there several times."""
    part = data[span.start : span.end]
    return data[: span.end] + part * repeats(len(part), chance) + data[span.end :]


def put_elsewhere(data: bytes, span: Span, other: Span, _: Random) -> bytes:
    """A copy of the part takes another one's place, which may be within it."""
    return data[: other.start] + data[span.start : span.end] + data[other.end :]


def wrapped(data: bytes, span: Span, _: Span, chance: Random) -> bytes:
    """The part lies within itself, again and again."""
    head = data[span.start : span.start + span.head] or b"<x>"
    tail = data[span.end - span.tail : span.end] if span.tail else b""
    depth = min(chance.choice(DEPTHS), (1 << 20) // (len(head) + len(tail)))
    closing = tail * depth if chance.random() < 0.7 else b""
    return data[: span.start] + head * depth + data[span.start : span.end] + closing + data[span.end :]


def opened_only(data: bytes, span: Span, _: Span, chance: Random) -> bytes:
    """What closes the part is missing, or what opens it."""
    if chance.random() < 0.5:
        return data[: span.end - span.tail] + data[span.end :]
    return data[: span.start] + data[span.start + span.head :]


def with_false_head(data: bytes, span: Span, _: Span, chance: Random) -> bytes:
    """The head of the part, with its length or kind, says something else."""
    form = chance.choice(("<H", ">H", "<I", ">I"))
    size = struct.calcsize(form)
    place = span.start + chance.randrange(max(1, (span.head or span.end - span.start) - size + 1))
    number = chance.choice((*EDGES, chance.randrange(4096))) & ((1 << 8 * size) - 1)
    return data[:place] + struct.pack(form, number) + data[place + size :]


PARTS = (removed, repeated, repeated, put_elsewhere, put_elsewhere, wrapped)
IN_TEXTS = (*PARTS, wrapped, opened_only)
IN_BYTES = (*PARTS, with_false_head, with_false_head, with_false_head)
