"""What lies in a winmail.dat: files, texts, messages within messages, and damage."""

import struct
from pathlib import Path

import pytest

from tests.readers.archives.test_members import LIMITS
from tests.tnefs import attribute, properties, property_, tnef
from webapp.readers.archives.members import Obstacle, Unpacked, unpacked
from webapp.readers.archives.tnef import tnef_members
from webapp.readers.filetypes import TNEF
from webapp.readers.sniff import sniff

FILES = {"Отчёт за май.pdf": b"%PDF-1.4 ...", "a.txt": b"Words."}


def fetch(data: bytes, folder: Path) -> tuple[Unpacked, dict[str, bytes]]:
    source, out = folder / "winmail.dat", bytearray()
    source.write_bytes(data)
    found = unpacked(tnef_members(source, LIMITS), out.extend, LIMITS, first=0, most=100, most_bytes=1 << 30)
    whole = [each for each in found.entries if each.obstacle is None]
    return found, {each.path: bytes(out[each.offset : each.offset + each.size]) for each in whole}


def test_files_and_the_text_come_with_their_names(tmp_path: Path) -> None:
    data = tnef(FILES, text=b"<p>See the report.</p>")
    assert sniff(data, "winmail.dat").content_type == TNEF
    found, files = fetch(data, tmp_path)
    assert files == {**FILES, "message.html": b"<p>See the report.</p>"}
    assert found.cut is None


def test_a_short_name_is_in_the_alphabet_that_the_file_names(tmp_path: Path) -> None:
    attached = [attribute(2, 0x9002, b""), attribute(2, 0x8010, "Отчёт.txt".encode("cp1251") + b"\0")]
    attached.append(attribute(2, 0x800F, b"Words."))
    assert fetch(tnef({}, more=attached), tmp_path)[1] == {"Отчёт.txt": b"Words."}


def test_a_message_within_is_a_file_of_the_same_kind(tmp_path: Path) -> None:
    inner = tnef({"a.txt": b"Words."})
    attached = [attribute(2, 0x9002, b""), attribute(2, 0x8010, b"Inner\0")]
    attached.append(attribute(2, 0x9005, properties(property_(0x3701, 0x0D, bytes(16) + inner))))
    assert fetch(tnef({}, more=attached), tmp_path)[1] == {"Inner": inner}


def test_plain_text_is_taken_where_nothing_tells_more(tmp_path: Path) -> None:
    assert fetch(tnef({}, more=[attribute(1, 0x800C, b"Hello.\0")]), tmp_path)[1] == {"message.txt": b"Hello."}


@pytest.mark.parametrize("cut", [3, 12, 60])
def test_what_came_before_damage_stays(cut: int, tmp_path: Path) -> None:
    found, files = fetch(tnef(FILES)[:-cut], tmp_path)
    assert (found.is_last, found.cut) == (True, Obstacle.DAMAGED)
    assert files == {"Отчёт за май.pdf": FILES["Отчёт за май.pdf"]}


@pytest.mark.parametrize(
    "data",
    [
        struct.pack("<LHHL", 1 << 31, 0x101E, 0x3707, 1 << 31),
        struct.pack("<LHHL", 1, 0x1003, 0x0E08, 0xFFFFFFFF),
        struct.pack("<LHH", 9, 0x1E, 0x9000) + bytes(16) + b"\xff" * 8,
        struct.pack("<LHH", 9, 0x77, 0x3707),
    ],
    ids=["count", "numbers", "name", "type"],
)
def test_properties_that_lie_are_passed_over(data: bytes, tmp_path: Path) -> None:
    attached = [attribute(2, 0x9002, b""), attribute(2, 0x8010, b"a\0"), attribute(2, 0x800F, b"x")]
    assert fetch(tnef({}, more=[*attached, attribute(2, 0x9005, data)]), tmp_path)[1] == {"a": b"x"}
