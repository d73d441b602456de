"""Hostile old Office files, messages of Outlook, and containers: each ends in a document or a clear error, in time."""

from collections.abc import Callable
from struct import pack, pack_into

import pytest

from tests.readers.office.conftest import Read, read
from tests.readers.ole.container import (
    SECTOR,
    container,
    message_streams,
    nested_message,
    packed,
    plainly_packed,
)
from tests.readers.ole.old_files import doc_streams, ppt_streams, record, xls_streams
from webapp.clock import monotonic
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import DOC, MSG, PPT, XLS

__all__ = ["read"]

pytestmark = pytest.mark.slow

SECONDS_MAX = 30
HUGE, END, FREE = 0x7FFFFFFF, 0xFFFFFFFE, 0xFFFFFFFF
TEXT = "the lamp is lit.\r" * 400
ROWS: list[list[str | float]] = [["Item", "Price"], ["Bolts", 8.5]]
Make = Callable[[], bytes]


def word(**changed: bytes) -> bytes:
    return container(doc_streams(TEXT) | changed)


def with_number(data: bytes, place: int, number: int, form: str = "<I") -> bytes:
    out = bytearray(data)
    pack_into(form, out, place, number)
    return bytes(out)


def table_at(data: bytes) -> int:
    return (int.from_bytes(data[76:80], "little") + 1) * SECTOR


def directory_at(data: bytes) -> int:
    return (int.from_bytes(data[48:52], "little") + 1) * SECTOR


def in_circles(data: bytes) -> bytes:
    """Each sector is followed by the first one."""
    at = table_at(data)
    return data[:at] + bytes(SECTOR) + data[at + SECTOR :]


def in_the_directory(entry: int, field: int, number: int) -> bytes:
    """A number of an entry: 68 and 72 its neighbours, 76 its first child, 116 its first sector, 120 its size."""
    data = word()
    return with_number(data, directory_at(data) + 128 * entry + field, number)


CONTAINERS: dict[str, Make] = {
    "sectors in circles": lambda: in_circles(word()),
    "a sector that follows itself": lambda: with_number(word(), table_at(word()), 0),
    "sectors beyond the end": lambda: with_number(word(), table_at(word()), 0x00FFFFFF),
    "a table of 2^31 sectors": lambda: with_number(word(), 44, HUGE),
    "a table beyond the end": lambda: with_number(word(), 76, 0x00FFFFFF),
    "a table that is the head": lambda: with_number(word(), 76, END),
    "a list of tables in circles": lambda: with_number(with_number(word(), 68, 0), 72, HUGE),
    "sectors of 2^31 bytes": lambda: with_number(word(), 30, 31, "<H"),
    "sectors of one byte": lambda: with_number(word(), 30, 0, "<H"),
    "small sectors of 2^65535 bytes": lambda: with_number(word(), 32, 65535, "<H"),
    "everything in small sectors": lambda: with_number(word(), 56, HUGE),
    "a directory in the table": lambda: with_number(word(), 48, int.from_bytes(word()[76:80], "little")),
    "a directory beyond the end": lambda: with_number(word(), 48, 0x00FFFFFF),
    "an entry beside itself": lambda: in_the_directory(1, 72, 1),
    "an entry that is its own child": lambda: in_the_directory(1, 76, 1),
    "a root within the root": lambda: in_the_directory(0, 76, 0),
    "neighbours beyond the end": lambda: in_the_directory(1, 68, HUGE),
    "a stream of 2^32 bytes": lambda: in_the_directory(1, 120, FREE),
    "a stream of 2^63 bytes": lambda: in_the_directory(2, 124, HUGE),
    "a stream that begins beyond the end": lambda: in_the_directory(2, 116, 0x00FFFFFF),
    "no entries": lambda: word()[: directory_at(word())],
    "a head alone": lambda: word()[:SECTOR],
    "2,000 folders in each other": lambda: container({"a/" * 2_000 + "x": b"x"}),
    "20,000 streams side by side": lambda: container({f"s{number}": b"" for number in range(20_000)}),
    "names of zeros": lambda: word().replace("Word".encode("utf-16-le"), bytes(8)),
}
WORDS: dict[str, Make] = {
    "a text of 2^31 letters": lambda: word(WordDocument=with_number(doc_streams(TEXT)["WordDocument"], 0x4C, HUGE)),
    "pieces beyond the end": lambda: word(WordDocument=with_number(doc_streams(TEXT)["WordDocument"], 0x1A2, HUGE)),
    "a table of pieces of 2^31 bytes": lambda: word(
        WordDocument=with_number(doc_streams(TEXT)["WordDocument"], 0x1A6, HUGE)
    ),
    "a piece that begins beyond the end": lambda: word(**{"1Table": bytes(64) + pieces([(0, 9, 0x3FFFFFFF)])}),
    "a piece that ends before it begins": lambda: word(**{"1Table": bytes(64) + pieces([(900, 9, 4096)])}),
    "10,000 pieces of the same text": lambda: word(
        **{"1Table": bytes(64) + pieces([(0, 6_000, 1 << 30 | 4096)] * 10_000)}
    ),
    "no table of pieces": lambda: word(**{"1Table": bytes(5_000)}),
    "a million paragraphs": lambda: container(doc_streams("x\r" * 1_000_000)),
    "cells without a table": lambda: container(doc_streams("a\7" * 200_000)),
    "100,000 fields in each other": lambda: container(doc_streams("\x13 LINK \x14" * 100_000)),
    "100,000 fields side by side": lambda: container(doc_streams("\x13 LINK \x14x\x15" * 100_000)),
    "one line of 5 MB": lambda: container(doc_streams("x" * 5_000_000)),
}


def pieces(each: list[tuple[int, int, int]]) -> bytes:
    places = b"".join(pack("<I", start) for start, _, _ in each) + pack("<I", each[-1][1])
    table = places + b"".join(pack("<HIH", 0, at, 0) for _, _, at in each)
    return b"\2" + pack("<I", len(table)) + table


def book(*records: bytes, at: str = "") -> bytes:
    """The workbook with more records: instead of its texts, or before its last one."""
    whole = xls_streams(ROWS)["Workbook"]
    if at == "texts":
        start = whole.index(pack("<H", 0x00FC))
        end = start + 4 + int.from_bytes(whole[start + 2 : start + 4], "little")
        return container({"Workbook": whole[:start] + b"".join(records) + whole[end:]})
    return container({"Workbook": whole[:-4] + b"".join(records) + whole[-4:]})


def cell(row: int, column: int) -> bytes:
    return record(0x0203, pack("<HHHd", row, column, 0, 1.0))


BOOKS: dict[str, Make] = {
    "one far cell": lambda: book(cell(65_535, 255)),
    "one cell that is farther": lambda: book(cell(65_535, 65_535)),
    "sectors in circles": lambda: in_circles(book()),
    "a false size": lambda: book(record(0x0200, pack("<IIHHH", 0, 0xEA8532C9, 0, 3, 0))),
    "a record without its content": lambda: book(record(0x00FD)),
    "a column of far cells": lambda: book(*(cell(row, 255) for row in range(65_536))),
    "two billion texts": lambda: book(record(0x00FC, pack("<II", HUGE, HUGE)), at="texts"),
    "a text of 65,535 letters that are not there": lambda: book(
        record(0x00FC, pack("<IIHB", 1, 1, 65_535, 0)), at="texts"
    ),
    "a text with 65,535 formats": lambda: book(record(0x00FC, pack("<IIHBH", 1, 1, 3, 8, 65_535) + b"abc"), at="texts"),
    "a text with 4 GB beside it": lambda: book(record(0x00FC, pack("<IIHBI", 1, 1, 3, 4, FREE) + b"abc"), at="texts"),
    "50,000 continuations": lambda: book(
        record(0x00FC, pack("<IIHB", 1, 1, 65_535, 0)), *[record(0x003C, b"\0x")] * 50_000, at="texts"
    ),
    "a text that nobody has": lambda: book(record(0x00FD, pack("<HHHI", 5, 0, 0, FREE))),
    "a record that is longer than the file": lambda: book(pack("<HH", 0x0203, 65_535) + b"x"),
    "50,000 beginnings": lambda: book(*[record(0x0809, pack("<HHHHII", 0x0600, 16, 0, 0, 0, 6))] * 50_000),
    "cells merged without end": lambda: book(record(0x00E5, pack("<HHHHH", 65_535, 0, 65_535, 0, 255))),
    "a formula that is cut": lambda: book(record(0x0006, pack("<HHHQHIH", 3, 0, 0, 0, 0, 0, 65_535))),
    "20,000 sheets at the same place": lambda: container(
        {"Workbook": sheets(20_000) + xls_streams(ROWS)["Workbook"][20:]}
    ),
}


def sheets(count: int) -> bytes:
    whole = xls_streams(ROWS)["Workbook"]
    return whole[:20] + record(0x0085, pack("<IBBBB", 0, 0, 0, 1, 0) + b"S") * count


def slides(body: bytes) -> bytes:
    streams = ppt_streams([["The lamp", "lit"]])
    return container(streams | {"PowerPoint Document": body + streams["PowerPoint Document"]})


SHOWS: dict[str, Make] = {
    "a record of 4 GB": lambda: slides(pack("<HHI", 0xF, 0x03E8, FREE)),
    "20,000 records in each other": lambda: slides(
        b"".join(pack("<HHI", 0xF, 0x03E8, 8 * (20_000 - depth)) for depth in range(20_000))
    ),
    "a million empty records": lambda: slides(pack("<HHI", 0, 0x0FA0, 0) * 500_000),
    "10,000 slides": lambda: container(ppt_streams([["x"]] * 10_000)),
    "a text of 5 MB": lambda: container(ppt_streams([["x" * 2_500_000]])),
    "a directory beyond the end": lambda: container(
        ppt_streams([["x"]])
        | {"Current User": pack("<HHIIIIHHBBH", 0, 0x0FF6, 28, 20, 0xE391C05F, HUGE, 4, 0x3F4, 3, 0, 0)}
    ),
}


def outlook(**streams: bytes) -> bytes:
    return container(
        message_streams("the lamp is lit") | {f"__substg1.0_{name}": data for name, data in streams.items()}
    )


def attached(count: int, name: str = "plan.pdf") -> bytes:
    streams = message_streams("the lamp is lit")
    for number in range(count):
        folder = f"__attach_version1.0_#{number:08X}/__substg1.0_"
        streams[folder + "3707001F"] = name.encode("utf-16-le") if number == 0 else b""
    return container(streams)


MESSAGES: dict[str, Make] = {
    "50 messages in each other": lambda: nested_message("the lamp is lit", 50),
    "200 messages in each other": lambda: nested_message("x", 200),
    "3,000 attachments": lambda: attached(3_000),
    "an attachment that leads out": lambda: attached(1, "../../../../etc/passwd\0\r\nX: y"),
    "an attachment with a name of 1 MB": lambda: attached(1, "n" * 500_000),
    "5,000 recipients": lambda: container(
        message_streams("x")
        | {f"__recip_version1.0_#{number:08X}/__substg1.0_3001001F": b"" for number in range(5_000)}
    ),
    "a subject with headers in it": lambda: outlook(**{"0037001F": "a\r\nBcc: b@c\r\n\r\nx".encode("utf-16-le")}),
    "a subject of 1 MB": lambda: outlook(**{"0037001F": "subject ".encode("utf-16-le") * 60_000}),
    "half of a surrogate pair": lambda: outlook(**{"0037001F": b"\x3d\xd8" * 30, "1000001F": b"a\0\x3d\xd8b\0"}),
    "a time in no calendar": lambda: container(
        message_streams("x") | {"__properties_version1.0": bytes(32) + pack("<HHIQ", 0x40, 0x39, 0, 2**64 - 1)}
    ),
    "a code page that is none": lambda: container(
        message_streams("")
        | {
            "__properties_version1.0": bytes(32) + pack("<HHIQ", 3, 0x3FDE, 0, FREE),
            "__substg1.0_1000001E": b"the lamp \xe9",
        }
    ),
    "65,000 properties": lambda: container(
        message_streams("x") | {"__properties_version1.0": bytes(32) + pack("<HHIQ", 3, 1, 0, 1) * 65_000}
    ),
    "packed RTF that unfolds without end": lambda: outlook(**{"10090102": packed(b"\xff" + b"\0\x0f" * 8, 20_000)}),
    "packed RTF of groups alone": lambda: outlook(**{"10090102": plainly_packed(b"{\\rtf1" + b"{" * 1_000_000)}),
    "packed RTF of 2^31 bytes that are not there": lambda: outlook(**{"10090102": packed(b"\0abcdefgh", 1)}),
    "HTML 100,000 deep": lambda: outlook(**{"10130102": b"<div>" * 100_000 + b"the lamp"}),
    "a text of 1 MB": lambda: outlook(**{"1000001F": "the lamp\r\n".encode("utf-16-le") * 50_000}),
    "a million quotes": lambda: outlook(**{"1000001F": "> x\r\n".encode("utf-16-le") * 250_000}),
    "folders that are streams": lambda: outlook(**{"0037001F/x": b"x", "1000001F/y": b"y"}),
}
CASES = {
    f"{kind} {name}": (make, content_type)
    for kind, content_type, cases in (
        ("container:", DOC, CONTAINERS), ("DOC:", DOC, WORDS), ("XLS:", XLS, BOOKS), ("PPT:", PPT, SHOWS),
        ("MSG:", MSG, MESSAGES),
    )
    for name, make in cases.items()
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_it_is_an_error_or_a_document_within_the_limits(read: Read, name: str) -> None:
    make, content_type = CASES[name]
    data = make()
    started = monotonic()
    found: Extraction | BadInput
    try:
        found = read(data, content_type)
    except BadInput as error:
        found = error
    assert monotonic() - started < SECONDS_MAX
    if isinstance(found, Extraction):
        assert found.markdown.strip()
        assert "root:" not in found.markdown
        assert len(found.markdown) < 20_000_000
    else:
        assert found.message


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("container: sectors of 2^31 bytes", FailureCode.CORRUPT),
        ("DOC: a million paragraphs", FailureCode.TOO_LARGE),
        ("DOC: 100,000 fields in each other", FailureCode.TOO_LARGE),
        ("XLS: one far cell", FailureCode.TOO_LARGE),
        ("XLS: sectors in circles", FailureCode.CORRUPT),
        ("XLS: a false size", FailureCode.CORRUPT),
        ("XLS: 20,000 sheets at the same place", FailureCode.TOO_LARGE),
        ("XLS: a formula that is cut", FailureCode.CORRUPT),
    ],
)
def test_what_the_libraries_would_not_survive_is_refused(read: Read, name: str, code: FailureCode) -> None:
    make, content_type = CASES[name]
    with pytest.raises(BadInput) as refused:
        read(make(), content_type)
    assert refused.value.code is code


def test_a_title_is_one_line_and_an_attachment_stays_a_name(read: Read) -> None:
    found = read(MESSAGES["a subject with headers in it"](), MSG)
    assert [field.name for field in found.fields].count("Bcc") == 0
    assert "\n" not in (found.title or "")
    assert "etc/passwd" in read(MESSAGES["an attachment that leads out"](), MSG).markdown
