"""7z archives of three programs, and hostile ones of none."""

import io
import lzma
from pathlib import Path

import pytest

from tests import seven_zips
from tests.seven_zips import LZMA2, seven_zip
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import Obstacle, Unpacked, UnpackLimits, unpacked
from webapp.readers.archives.seven_zip.read import seven_zip_members

PACKED = Path(__file__).parent / "packed"
LIMITS = UnpackLimits(members=20, member_bytes=8 << 20, total_bytes=16 << 20, ratio=200)
LAMP = b"The lamp is lit at dusk by the keeper.\n"
FILES = {"notes/lamp.txt": LAMP, "log.txt": b"Dusk. " * 50}


def fetch(data: bytes, folder: Path, *, first: int = 0, most: int = 100) -> tuple[Unpacked, dict[str, bytes]]:
    """What is unpacked of an archive."""
    source, out = folder / "archive.7z", io.BytesIO()
    source.write_bytes(data)
    found = unpacked(seven_zip_members(source, LIMITS), out.write, LIMITS, first=first, most=most, most_bytes=1 << 30)
    whole = [each for each in found.entries if each.obstacle is None]
    return found, {each.path: out.getvalue()[each.offset : each.offset + each.size] for each in whole}


@pytest.mark.parametrize(
    "name", ["plain", "not_solid", "lzma", "bzip2", "deflate", "bcj", "delta", "program", "py7zr", "libarchive"]
)
def test_archives_of_three_programs_are_unpacked(name: str, tmp_path: Path) -> None:
    found, files = fetch((PACKED / f"{name}.7z").read_bytes(), tmp_path)
    assert files["notes/lamp.txt"] == LAMP
    assert files["notes/log.txt"].count(b"\n") == 120
    assert set(files) - {"notes/lamp.txt", "notes/log.txt"} == ({"prog.exe"} if name in {"bcj", "program"} else set())
    assert (found.is_last, found.cut) == (True, None)
    assert {each.path: each.obstacle for each in found.entries if each.obstacle} == (
        {"empty.txt": Obstacle.EMPTY} if name in {"plain", "not_solid", "py7zr", "libarchive"} else {}
    )


def test_a_program_comes_out_as_it_was(tmp_path: Path) -> None:
    """Its calls were changed to pack better, and are changed back."""
    programs = [fetch((PACKED / f"{name}.7z").read_bytes(), tmp_path)[1]["prog.exe"] for name in ("bcj", "program")]
    assert programs[0] == programs[1]
    assert programs[0].endswith(b"\xe8\x10\0\0\0" * 100)


def test_what_is_packed_in_an_unknown_way_is_said(tmp_path: Path) -> None:
    found, _ = fetch((PACKED / "ppmd.7z").read_bytes(), tmp_path)
    assert [each.obstacle for each in found.entries] == [Obstacle.UNKNOWN_METHOD] * 2


def test_it_goes_on_from_any_place(tmp_path: Path) -> None:
    begun, first = fetch(seven_zip(FILES), tmp_path, most=1)
    assert (list(first), begun.is_last) == (["notes/lamp.txt"], False)
    assert fetch(seven_zip(FILES), tmp_path, first=1)[1] == {"log.txt": FILES["log.txt"]}


def test_one_damaged_file_costs_only_itself(tmp_path: Path) -> None:
    found, files = fetch(seven_zip(FILES, crcs=[1, 2]), tmp_path)
    assert [each.obstacle for each in found.entries] == [Obstacle.DAMAGED] * 2
    found, files = fetch(seven_zip({"a": LAMP, "b": b"more"}, sizes=[len(LAMP), 4000]), tmp_path)
    assert (files, [each.obstacle for each in found.entries]) == ({"a": LAMP}, [None, Obstacle.DAMAGED])


@pytest.mark.parametrize("attributes", [0o120777 << 16 | 0x8000, 0x400, 0o010644 << 16 | 0x8000])
def test_links_and_devices_are_no_files(attributes: int, tmp_path: Path) -> None:
    found, _ = fetch(seven_zip(FILES, attributes=attributes), tmp_path)
    assert [each.obstacle for each in found.entries] == [Obstacle.LINK] * 2


def test_a_path_is_only_a_name(tmp_path: Path) -> None:
    assert set(fetch(seven_zip({"../../etc/passwd": LAMP}), tmp_path)[1]) == {"etc/passwd"}


@pytest.mark.parametrize(
    ("files", "cut"),
    [
        ({"a": LAMP, "zeros": bytes(7 << 20)}, Obstacle.FLOOD),
        ({str(number): bytes([number]) * (6 << 20) for number in range(3)}, Obstacle.FLOOD),
    ],
    ids=["one", "many"],
)
def test_floods_end_early(files: dict[str, bytes], cut: Obstacle, tmp_path: Path) -> None:
    found, _ = fetch(seven_zip(files), tmp_path)
    assert (found.is_last, found.cut) == (True, cut)
    assert len(found.entries) < len(files)


def test_more_than_is_unpacked_ends_early(tmp_path: Path) -> None:
    # Two bits of each byte are noise, so it packs honestly.
    noise = bytes(number * number % 251 for number in range(1 << 16)) * 96
    files = {str(number): noise[number:] for number in range(5)}
    packed = b"".join(files.values())
    found, _ = fetch(seven_zip(files, coders=[b"\1\0"], packed=packed), tmp_path)
    assert (found.cut, len(found.entries)) == (Obstacle.TOO_LARGE, 4)


def test_no_more_files_are_unpacked_than_may_be(tmp_path: Path) -> None:
    found, files = fetch(seven_zip({f"{number}.txt": b"words" for number in range(21)}), tmp_path)
    assert (found.cut, len(files)) == (Obstacle.TOO_LARGE, LIMITS.members)


@pytest.mark.parametrize(
    "coders",
    [[b"\x21\x21\x01\x28"], [b"\x23\3\1\1\5\x5d\0\0\0\x40"], [b"\x23\3\1\1\5\xff\0\0\1\0"], [b"\x23\3\1\1\1\x5d"]],
    ids=["4 GB", "1 GB", "wrong", "short"],
)
def test_what_would_take_all_memory_is_not_unpacked(coders: list[bytes], tmp_path: Path) -> None:
    found, _ = fetch(seven_zip(FILES, coders=coders), tmp_path)
    assert [each.obstacle for each in found.entries] == [Obstacle.UNKNOWN_METHOD] * 2


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (seven_zip(FILES)[:-1], FailureCode.CORRUPT),
        (seven_zip(FILES)[:31], FailureCode.CORRUPT),
        (seven_zip(FILES, count=1 << 40), FailureCode.CORRUPT),
        (seven_zip(FILES, count=3), FailureCode.CORRUPT),
        (seven_zip(FILES, coders=[LZMA2] * 33), FailureCode.CORRUPT),
        (seven_zips.whole(b"", b"\1"), FailureCode.CORRUPT),
        (seven_zips.whole(b"", b"\x17\6\0\0\0\0"), FailureCode.CORRUPT),
        (seven_zips.whole(b"", b"\1\4\7\x0b" + seven_zips.number(1 << 60)), FailureCode.CORRUPT),
        (seven_zips.whole(b"", bytes((16 << 20) + 1)), FailureCode.TOO_LARGE),
        (seven_zips.whole(b"", b"\1\5" + seven_zips.number(1_100_000) + bytes(1_100_000)), FailureCode.TOO_LARGE),
    ],
    ids=["cut", "beginning", "far", "three", "coders", "end", "nothing", "folders", "long", "million"],
)
def test_a_directory_that_lies_is_refused(data: bytes, code: FailureCode, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        fetch(data, tmp_path)
    assert refused.value.code == code


def test_a_directory_packed_into_itself_is_refused(tmp_path: Path) -> None:
    header = b"\1\5\0\0\0"
    data = b""
    for _ in range(3):
        packed = lzma.compress(header, lzma.FORMAT_RAW, filters=[{"id": lzma.FILTER_LZMA2, "preset": 1}])
        place = seven_zips.number(len(data))
        folder = b"\7\x0b\1\0\1" + LZMA2 + b"\x0c" + seven_zips.number(len(header)) + b"\0\0"
        header = b"\x17\6" + place + b"\1\x09" + seven_zips.number(len(packed)) + b"\0" + folder
        data += packed
    with pytest.raises(BadInput) as refused:
        fetch(seven_zips.whole(data, header), tmp_path)
    assert refused.value.code == FailureCode.CORRUPT


def test_coders_in_a_circle_are_refused(tmp_path: Path) -> None:
    """The first of two reads what it writes itself."""
    found, _ = fetch(seven_zip(FILES, coders=[LZMA2, LZMA2], binds=[(0, 0)]), tmp_path)
    assert [each.obstacle for each in found.entries] == [Obstacle.UNKNOWN_METHOD] * 2
