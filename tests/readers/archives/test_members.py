"""What lies in archives, as the readers see it: names, obstacles, floods."""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from tests import archives
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import Obstacle, Unpacked, UnpackLimits, clean_path, unpacked
from webapp.readers.archives.tar import tar_members
from webapp.readers.archives.zip import zip_members

LIMITS = UnpackLimits(members=20, member_bytes=8 << 20, total_bytes=16 << 20, ratio=200)
FILES = {"a.txt": b"first", "folder/b.txt": b"second"}


def fetch(data: bytes, folder: Path, *, first: int = 0, most: int = 100, most_bytes: int = 1 << 30) -> Unpacked:
    """What is unpacked of an archive; its bytes are checked against the places that are told."""
    source, out = folder / "archive", io.BytesIO()
    source.write_bytes(data)
    members = zip_members if data.startswith(b"PK") else tar_members
    found = unpacked(members(source, LIMITS), out.write, LIMITS, first=first, most=most, most_bytes=most_bytes)
    assert all(entry.offset + entry.size <= len(out.getvalue()) for entry in found.entries)
    return found


@pytest.mark.parametrize(
    "data",
    [
        archives.zipped(FILES),
        archives.tarred(FILES),
        archives.tarred(FILES, "w:gz"),
        archives.tarred(FILES, "w:bz2"),
        archives.tarred(FILES, "w:xz"),
    ],
    ids=["zip", "tar", "gz", "bz2", "xz"],
)
def test_the_files_come_in_their_order(data: bytes, tmp_path: Path) -> None:
    found = fetch(data, tmp_path)
    assert [(entry.path, entry.size, entry.obstacle) for entry in found.entries] == [
        ("a.txt", 5, None),
        ("folder/b.txt", 6, None),
    ]
    assert (found.is_last, found.cut) == (True, None)


@pytest.mark.parametrize("pack", [archives.zipped, archives.tarred])
def test_it_goes_on_from_any_place(pack: object, tmp_path: Path) -> None:
    data = pack({f"{number}.txt": b"x" * 10 for number in range(5)})  # type: ignore[operator]
    begun = fetch(data, tmp_path, most=2)
    assert ([entry.number for entry in begun.entries], begun.is_last) == ([0, 1], False)
    assert [entry.number for entry in fetch(data, tmp_path, first=2, most_bytes=15).entries] == [2, 3]
    assert fetch(data, tmp_path, first=5) == Unpacked((), is_last=True)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"])
def test_a_file_that_is_packed_alone(pack: object, tmp_path: Path) -> None:
    (entry,) = fetch(pack(b"number;date\n" * 100), tmp_path).entries  # type: ignore[operator]
    assert (entry.path, entry.size, entry.obstacle) == ("", 1200, None)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("/etc/passwd", "etc/passwd"),
        ("C:\\Users\\a.txt", "Users/a.txt"),
        ("a/./b//c.txt", "a/b/c.txt"),
        ("in\u202evoice.txt", "invoice.txt"),
        ("..", "untitled"),
        ("x/" * 2_000 + "a.txt", "x/" * 497 + "a.txt"),
    ],
)
def test_a_path_is_only_a_name(name: str, shown: str) -> None:
    assert clean_path(name) == shown


def test_what_is_no_file_is_told(tmp_path: Path) -> None:
    data = archives.tarred({"a.txt": b"x", "empty": b"", "__MACOSX/._a.txt": b"y"}, links={"link": "/etc/passwd"})
    assert [entry.obstacle for entry in fetch(data, tmp_path).entries] == [
        None,
        Obstacle.EMPTY,
        Obstacle.SYSTEM,
        Obstacle.LINK,
    ]


def test_names_without_an_encoding_are_guessed_together(tmp_path: Path) -> None:
    names = ["Отчёт за март.txt", "Договор аренды.txt", "Счёт на оплату.txt"]
    data = archives.zipped({f"{'x' * len(name.encode('cp866'))}{number}": b"x" for number, name in enumerate(names)})
    for number, name in enumerate(names):
        data = data.replace(b"x" * len(name.encode("cp866")) + str(number).encode(), name.encode("cp866") + b"0")
    assert [entry.path for entry in fetch(data, tmp_path).entries] == [f"{name}0" for name in names]


@pytest.mark.parametrize(
    ("data", "cut"),
    [
        (archives.tarred({"zeros": bytes(9 << 20)}, "w:gz"), Obstacle.FLOOD),
        (archives.tarred({str(number): b"x" for number in range(25)}), Obstacle.TOO_LARGE),
        (archives.tarred({"a": bytes(600), "b": b"y" * 600})[:2300], Obstacle.DAMAGED),
        (archives.zipped({str(number): b"x" for number in range(25)}), Obstacle.TOO_LARGE),
    ],
    ids=["packed flood", "many in tar", "cut", "many in zip"],
)
def test_what_ends_early_says_why(data: bytes, cut: Obstacle, tmp_path: Path) -> None:
    assert fetch(data, tmp_path).cut is cut


@pytest.mark.parametrize(
    ("files", "obstacle"),
    [
        ({"zeros": bytes(6 << 20)}, Obstacle.FLOOD),
        ({"large": bytes(9 << 20)}, Obstacle.TOO_LARGE),
    ],
)
def test_a_member_that_is_too_much_is_passed_over(files: dict[str, bytes], obstacle: Obstacle, tmp_path: Path) -> None:
    found = fetch(archives.zipped({**files, "after.txt": b"still there"}), tmp_path)
    assert [entry.obstacle for entry in found.entries] == [obstacle, None]


def test_a_damaged_member_is_passed_over(tmp_path: Path) -> None:
    data = bytearray(archives.zipped({"a.txt": b"first", "b.txt": b"second"}, compression=zipfile.ZIP_STORED))
    data[data.index(b"first")] ^= 1
    found = fetch(bytes(data), tmp_path)
    assert [(entry.path, entry.obstacle) for entry in found.entries] == [("a.txt", Obstacle.DAMAGED), ("b.txt", None)]


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x03\x04" + bytes(100),
        archives.zipped(FILES)[:60],
        b"\x1f\x8b" + bytes(50),
        archives.zipped(FILES).replace(b"PK\x05\x06" + bytes(8), b"PK\x05\x06" + bytes(8) + b"", 1)[:-10],
    ],
)
def test_what_is_no_archive_is_refused(data: bytes, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        fetch(data, tmp_path)
    assert refused.value.code is FailureCode.CORRUPT


def test_members_that_share_their_bytes_are_refused(tmp_path: Path) -> None:
    """As in a flood that is made of one kernel: the second name leads to the first one's bytes."""
    data = bytearray(archives.zipped({"a": b"x" * 100, "b": b"y" * 100}, compression=zipfile.ZIP_STORED))
    second = data.rindex(b"PK\x01\x02")
    data[second + 42 : second + 46] = (1).to_bytes(4, "little")
    with pytest.raises(BadInput) as refused:
        fetch(bytes(data), tmp_path)
    assert refused.value.code is FailureCode.CORRUPT


def test_the_holes_of_a_sparse_file_count_as_packed_to_nothing(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "sparse.tar", "w", format=tarfile.GNU_FORMAT) as archive:
        info = tarfile.TarInfo("hole")
        info.type, info.size = tarfile.GNUTYPE_SPARSE, 512
        archive.addfile(info, io.BytesIO(b"x" * 512))
    data = bytearray((tmp_path / "sparse.tar").read_bytes())
    # One piece of 512 bytes at 7 MB, and the size of the file with its hole: in a GNU header behind the names.
    data[386:410] = b"%011o\0%011o\0" % ((7 << 20) - 512, 512)
    data[483:495] = b"%011o\0" % (7 << 20)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    limits = replace(LIMITS, ratio=2)
    source, out = tmp_path / "archive", io.BytesIO()
    source.write_bytes(data)
    found = unpacked(tar_members(source, limits), out.write, limits, first=0, most=100, most_bytes=1 << 30)
    assert [entry.obstacle for entry in found.entries] == [Obstacle.FLOOD]


@pytest.mark.parametrize("kind", [b"L", b"x"])
def test_thousands_of_headers_for_one_file_are_damage(tmp_path: Path, kind: bytes) -> None:
    info = tarfile.TarInfo("name")
    info.type = kind
    header = info.tobuf(tarfile.GNU_FORMAT)
    with pytest.raises(BadInput) as caught:
        fetch(header * 3_000 + archives.tarred({"a.txt": b"text"}), tmp_path)
    assert caught.value.code is FailureCode.CORRUPT
