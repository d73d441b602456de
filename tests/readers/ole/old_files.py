"""Files of old Office versions, written here record by record: only what their readers ask for."""

from collections.abc import Sequence
from struct import pack

from tests.readers.ole.container import container

_COMPRESSED = 1 << 30
_TEXT_AT, _CLX_AT = 2048, 64
_GLOBALS, _SHEET = 0x0005, 0x0010


def doc(text: str) -> bytes:
    """A Word document; its paragraphs end with a carriage return."""
    return container(doc_streams(text))


def doc_streams(text: str) -> dict[str, bytes]:
    """The head with the place of the table of pieces, that table, and the text as its one piece."""
    written = text.encode("cp1252", "replace")
    head = bytearray(_TEXT_AT)
    head[:12] = pack("<HHHHHH", 0xA5EC, 0x00C1, 0, 0x0409, 0, 0x0200)
    head[0x20:0x22], head[0x3E:0x40] = pack("<H", 14), pack("<H", 22)
    head[0x4C:0x50], head[0x98:0x9A] = pack("<I", len(written)), pack("<H", 93)
    pieces = pack("<II", 0, len(written)) + pack("<HIH", 0, _COMPRESSED | 2 * _TEXT_AT, 0)
    clx = b"\2" + pack("<I", len(pieces)) + pieces
    head[0x1A2:0x1AA] = pack("<II", _CLX_AT, len(clx))
    return {"WordDocument": bytes(head) + written, "1Table": bytes(_CLX_AT) + clx}


def xls(rows: Sequence[Sequence[str | float]], name: str = "Prices") -> bytes:
    """A workbook of one sheet."""
    return container(xls_streams(rows, name))


def xls_streams(rows: Sequence[Sequence[str | float]], name: str = "Prices") -> dict[str, bytes]:
    """The records of the workbook: its texts once, and a record for each cell."""
    texts = [cell for row in rows for cell in row if isinstance(cell, str)]
    shared = b"".join(pack("<HB", len(text), 0) + text.encode("latin-1") for text in texts)
    strings = record(0x00FC, pack("<II", len(texts), len(texts)) + shared)
    bound = record(0x0085, pack("<IBBBB", 0, 0, 0, len(name), 0) + name.encode("latin-1"))
    before = _begin(_GLOBALS) + record(0x0042, pack("<H", 1200)) + record(0x00E0, bytes(20))
    sheet_at = len(before) + len(bound) + len(strings) + 4
    bound = record(0x0085, pack("<IBBBB", sheet_at, 0, 0, len(name), 0) + name.encode("latin-1"))
    cells = b"".join(
        record(0x00FD, pack("<HHHI", at, column, 0, texts.index(cell)))
        if isinstance(cell, str)
        else record(0x0203, pack("<HHHd", at, column, 0, cell))
        for at, row in enumerate(rows)
        for column, cell in enumerate(row)
    )
    sheet = _begin(_SHEET) + record(0x0200, pack("<IIHHH", 0, len(rows), 0, len(rows[0]), 0)) + cells + record(0x000A)
    return {"Workbook": before + bound + strings + record(0x000A) + sheet}


def ppt(slides: Sequence[Sequence[str]]) -> bytes:
    """A presentation; the first text of each slide is its title."""
    return container(ppt_streams(slides))


def ppt_streams(slides: Sequence[Sequence[str]]) -> dict[str, bytes]:
    """The document with the texts of its slides, where each record lies, and who edited it last."""
    listed = b"".join(
        _atom(0x03F3, pack("<IIIII", number + 1, 0, 0, 255 + number, 0))
        + b"".join(_text(text, 0 if place == 0 else 1) for place, text in enumerate(texts))
        for number, texts in enumerate(slides, 1)
    )
    document = _folder(0x03E8, _atom(0x03E9, bytes(40)) + _folder(0x0FF0, listed) + _atom(0x03EA))
    shown = [_folder(0x03EE, _atom(0x03EF, bytes(24))) for _ in slides]
    places = [0, *(len(document) + sum(map(len, shown[:number])) for number in range(len(slides)))]
    body = document + b"".join(shown)
    directory = _atom(0x1772, pack("<I", 1 | (len(places) & 0xFFF) << 20) + pack(f"<{len(places)}I", *places))
    edit = _atom(0x0FF5, pack("<IHBBIIIIHH", 256, 0, 0, 3, 0, len(body), 1, len(places), 1, 0))
    user = pack("<IIIHHBBH", 0x14, 0xE391C05F, len(body) + len(directory), 4, 0x03F4, 3, 0, 0) + b"Anna" + pack("<I", 8)
    return {"PowerPoint Document": body + directory + edit, "Current User": _atom(0x0FF6, user)}


def record(kind: int, data: bytes = b"") -> bytes:
    """A record of a workbook."""
    return pack("<HH", kind, len(data)) + data


def _begin(kind: int) -> bytes:
    return record(0x0809, pack("<HHHHII", 0x0600, kind, 0x0DBB, 0x07CC, 0, 6))


def _atom(kind: int, data: bytes = b"", version: int = 0) -> bytes:
    return pack("<HHI", version, kind, len(data)) + data


def _folder(kind: int, data: bytes) -> bytes:
    return _atom(kind, data, version=0xF)


def _text(text: str, kind: int) -> bytes:
    return _atom(0x0F9F, pack("<I", kind)) + _atom(0x0FA0, text.encode("utf-16-le"))
