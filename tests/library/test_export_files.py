"""The ZIP of an export: read by others, of any size, with names that harm nobody."""

import io
import struct
import zipfile
from datetime import UTC, datetime
from pathlib import PurePosixPath, PureWindowsPath

import pytest

from webapp.library.exports.member_names import MemberNames, safe_path
from webapp.library.exports.parts import lines_of_members
from webapp.library.exports.zip_writer import SizeChanged, ZipMember, ZipWriter, write_directory

AT = datetime(2026, 3, 4, 5, 6, 8, tzinfo=UTC)


def test_members_in_several_parts_are_one_zip() -> None:
    whole, listed = io.BytesIO(), io.BytesIO()
    for number in range(3):
        part, members = io.BytesIO(), io.BytesIO()
        writer = ZipWriter(part, members, offset=whole.tell())
        writer.add_bytes(f"Grüße {number}.txt", b"wheat " * 1000, AT)
        writer.add_file(f"raw {number}.bin", io.BytesIO(b"\0" * 70_000), 70_000, AT, is_packed=False)
        whole.write(part.getvalue())
        listed.write(members.getvalue())
    offset = whole.tell()
    write_directory(whole, lines_of_members(listed), offset)
    opened = zipfile.ZipFile(whole)
    assert opened.testzip() is None
    assert opened.namelist() == [name for n in range(3) for name in (f"Grüße {n}.txt", f"raw {n}.bin")]
    assert opened.read("Grüße 2.txt") == b"wheat " * 1000
    assert opened.getinfo("raw 1.bin").date_time == (2026, 3, 4, 5, 6, 8)


def test_a_file_that_changed_meanwhile_leaves_no_trace() -> None:
    part, members = io.BytesIO(), io.BytesIO()
    writer = ZipWriter(part, members)
    writer.add_bytes("a.txt", b"a", AT)
    with pytest.raises(SizeChanged):
        writer.add_file("b.txt", io.BytesIO(b"shorter"), 100, AT, is_packed=True)
    writer.add_bytes("c.txt", b"c", AT)
    write_directory(part, lines_of_members(members), writer.size_bytes)
    assert zipfile.ZipFile(part).namelist() == ["a.txt", "c.txt"]


def test_what_is_larger_than_four_gigabytes_is_found_again() -> None:
    far = 5 << 30
    members = [
        ZipMember("large.bin", 0, far, far - 1, 7, 0, 0, 0x21, ""),
        ZipMember("behind.txt", far + 60, 1, 1, 8, 0, 0, 0x21, ""),
    ]
    written = io.BytesIO()
    write_directory(written, members, far + 100)
    data = written.getvalue()
    assert data.count(b"PK\6\6") == data.count(b"PK\6\7") == 1
    # Python's reader, which looks for the directory where the file says it is: its beginning is not written here.
    place = data.index(b"PK\6\6")
    size, start = struct.unpack_from("<2Q", data, place + 40)
    assert (size, start) == (place, far + 100)
    infos = [zipfile.ZipInfo("x")] * 2
    assert len(infos) == data.count(b"PK\1\2")


def test_more_members_than_sixteen_bits_count() -> None:
    part, members = io.BytesIO(), io.BytesIO()
    writer = ZipWriter(part, members)
    one = writer.add_bytes("a.txt", b"a", AT)
    many = (ZipMember(**{**one.__dict__, "name": f"{number}.txt"}) for number in range(70_000))
    write_directory(part, many, writer.size_bytes)
    assert len(zipfile.ZipFile(part).namelist()) == 70_000


@pytest.mark.parametrize(
    ("folder", "filename"),
    [
        ("../../etc", "passwd"), ("/etc", "passwd"), ("C:\\Windows", "system.ini"), ("..\\..", "a.txt"),
        ("a/./b//c", "..."), (None, "con"), (None, "NUL.txt"), (None, "LPT1.tar.gz"), ("aux", "a:b|c?.txt"),
        (None, "ends with dots..."), (None, " "), (None, "\u202egpj.exe"), ("\0", "a\0b"), (None, "x" * 500 + ".pdf"),
        ("y" * 400, "é" * 200), ("/".join("abcdefghijklmnopqrstuvwxyz"), "deep.txt"), (None, "tab\tname\n.txt"),
    ],
)  # fmt: skip
def test_a_name_stays_inside_and_fits_every_disk(folder: str | None, filename: str) -> None:
    path = safe_path(folder, filename)
    parts = path.split("/")
    assert not PurePosixPath(path).is_absolute()
    assert not PureWindowsPath(path).drive
    assert not any(part in {"", ".", ".."} or part.endswith((".", " ")) for part in parts)
    assert not PureWindowsPath(parts[-1]).is_reserved()
    assert all(len(part.encode()) <= 121 for part in parts)
    assert not set(path) & set('\\<>:"|?*\0\n\t\u202e')


def test_names_are_numbered_and_differ_in_more_than_case() -> None:
    names = MemberNames(["files/Scan.pdf"])
    assert names.take("files/scan.pdf", "mark") == "files/scan (2).pdf"
    assert names.take("files/scan.pdf", "mark") == "files/scan (3).pdf"
    assert names.take("files/other/scan.pdf", "mark") == "files/other/scan.pdf"
    assert names.take("files/other", "mark") == "files/other (2)", "a folder has this name"
    assert names.take("files/Scan.pdf/inside.txt", "mark") == "files/Scan.pdf_/inside.txt"
    assert names.take("files/.profile", "mark") == "files/.profile"
    assert names.take("files/.profile", "mark") == "files/.profile (2)"
    many = {names.take("files/a.txt", f"m{number}") for number in range(150)}
    assert len(many) == 150
    assert "files/a (m120).txt" in many
