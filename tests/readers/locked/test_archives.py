"""Archives that a password opens: of four programs, in all the ways in which these lock them, and hostile ones."""

import hashlib
import io
import struct
import zipfile
import zlib
from pathlib import Path

import pytest

from tests import archives
from tests.locked import ARCHIVES, SEVEN_ZIP_PASSWORD, ZIP_PASSWORD, locked_zip
from tests.seven_zips import LZMA2, seven_zip
from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import Obstacle, Unpacked, UnpackLimits, unpacked
from webapp.readers.archives.read import ARCHIVES as READERS
from webapp.readers.filetypes import SEVEN_ZIP, ZIP
from webapp.readers.locked.open import open_file
from webapp.readers.locked.unfolding import Checksum

LIMITS = UnpackLimits(members=20, member_bytes=8 << 20, total_bytes=16 << 20, ratio=200)
LAMP = b"The lamp is lit at dusk by the keeper.\n"
LOG = "b904544a"


def opened(data: bytes, password: str, folder: Path) -> bytes:
    """The copy that needs no password."""
    source, target = folder / "locked", folder / "opened"
    source.write_bytes(data)
    target.write_bytes(b"")
    open_file({"source": str(source), "target": str(target), "password": password}, _Unheard())  # type: ignore[arg-type]  # all that it is asked
    return target.read_bytes()


class _Unheard:
    def progress(self, fraction: float) -> None:
        """Nobody listens."""


def fetch(data: bytes, folder: Path) -> tuple[Unpacked, dict[str, bytes]]:
    """What is unpacked of an archive."""
    source, out = folder / "archive", io.BytesIO()
    source.write_bytes(data)
    members = READERS[ZIP if data.startswith(b"PK") else SEVEN_ZIP](source, LIMITS)
    found = unpacked(members, out.write, LIMITS, first=0, most=100, most_bytes=1 << 30)
    whole = [each for each in found.entries if each.obstacle is None]
    return found, {each.path: out.getvalue()[each.offset : each.offset + each.size] for each in whole}


def password_of(path: Path) -> str:
    return ZIP_PASSWORD if path.suffix == ".zip" else SEVEN_ZIP_PASSWORD


@pytest.mark.parametrize("path", sorted(ARCHIVES.glob("*.[z7]*")), ids=lambda path: path.name)
def test_archives_of_four_programs_are_opened(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    copy = opened(data, password_of(path), tmp_path)
    found, files = fetch(copy, tmp_path)
    assert files["notes/lamp.txt"] == LAMP
    assert hashlib.sha256(files["notes/log.txt"]).hexdigest().startswith(LOG)
    assert {each.obstacle for each in found.entries} <= {None, Obstacle.EMPTY}
    # It is packed as before: what unfolds without end is found where it is unpacked.
    assert len(copy) <= len(data) + 100


@pytest.mark.parametrize("path", sorted(ARCHIVES.glob("*.[z7]*")), ids=lambda path: path.name)
@pytest.mark.parametrize("password", ["lantern-7", "Ключ", "x" * 255])
def test_another_password_opens_nothing(path: Path, password: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        opened(path.read_bytes(), password, tmp_path)
    assert refused.value.code == FailureCode.WRONG_PASSWORD


def test_files_with_other_passwords_stay_locked_and_in_their_places(tmp_path: Path) -> None:
    files = {"a": (b"first", "one"), "b": (b"second", None), "c": (b"third", "two"), "d": (b"fourth", "one")}
    copy = opened(locked_zip(files), "one", tmp_path)
    found, contents = fetch(copy, tmp_path)
    assert contents == {"a": b"first", "b": b"second", "d": b"fourth"}
    assert [(each.path, each.obstacle) for each in found.entries] == [
        ("a", None), ("b", None), ("c", Obstacle.ENCRYPTED), ("d", None),
    ]  # fmt: skip
    # The copy is opened with the next password.
    assert fetch(opened(copy, "two", tmp_path), tmp_path)[1] == {name: data for name, (data, _) in files.items()}


def test_what_stays_locked_by_aes_is_opened_later(tmp_path: Path) -> None:
    """Its salt and its strength are kept."""
    data = (ARCHIVES / "aes_7zip.zip").read_bytes()
    changed = data.replace(b"notes/lamp.txt", b"notes/dusk.txt")
    first = opened(_joined(changed, locked_zip({"other": (b"words", "one")})), "one", tmp_path)
    found, _ = fetch(first, tmp_path)
    assert [each.obstacle for each in found.entries] == [Obstacle.ENCRYPTED, Obstacle.ENCRYPTED, None]
    assert fetch(opened(first, ZIP_PASSWORD, tmp_path), tmp_path)[1]["notes/dusk.txt"] == LAMP


def _joined(one: bytes, two: bytes) -> bytes:
    """Both archives as one: files, then the two directories with new places, then their end."""
    (first, first_size), (second, second_size) = (
        struct.unpack("<LL", each[-6:-2] + each[-10:-6]) for each in (one, two)
    )
    files = one[:first] + two[:second]
    directory = one[first : first + first_size]
    entry = bytearray(two[second : second + second_size])
    entry[42:46] = struct.pack("<L", first)
    count = directory.count(b"PK\1\2") + 1
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(directory) + len(entry), len(files), 0)
    return files + directory + bytes(entry) + end


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp437"])
def test_letters_of_a_password_may_be_written_in_several_ways(encoding: str, tmp_path: Path) -> None:
    typed = "Ärger"
    as_written = typed.encode(encoding).decode("latin-1")
    data = locked_zip({"a": (b"words", as_written)}, encoding="latin-1")
    assert fetch(opened(data, typed, tmp_path), tmp_path)[1] == {"a": b"words"}


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (archives.zipped({"a": b"x"}), FailureCode.LOCK_UNKNOWN),
        (seven_zip({"a": b"x"}), FailureCode.LOCK_UNKNOWN),
        (locked_zip({"a": (b"words", "one")})[:-30], FailureCode.CORRUPT),
        ((ARCHIVES / "locked.7z").read_bytes()[:-30], FailureCode.CORRUPT),
        # Hashing 2 to the power of 40 times, and a salt that is not there.
        (seven_zip({"a": b"x"}, coders=[LZMA2, b"\x24\6\xf1\7\1\2\x28\0"]), FailureCode.LOCK_UNKNOWN),
        (seven_zip({"a": b"x"}, coders=[LZMA2, b"\x24\6\xf1\7\1\2\xd3\xff"]), FailureCode.LOCK_UNKNOWN),
        (b"Rar!\x1a\x07\1\0" + bytes(100), FailureCode.LOCK_UNKNOWN),
    ],
    ids=["zip", "7z", "cut zip", "cut 7z", "cycles", "salt", "rar"],
)
def test_what_no_password_opens_says_so(data: bytes, code: FailureCode, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as refused:
        opened(data, "one", tmp_path)
    assert refused.value.code == code


def test_strong_encryption_of_zip_is_not_known(tmp_path: Path) -> None:
    data = bytearray(locked_zip({"a": (b"words", "one")}))
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + at] |= 0x40
    with pytest.raises(BadInput) as refused:
        opened(bytes(data), "one", tmp_path)
    assert refused.value.code == FailureCode.LOCK_UNKNOWN


def test_changed_bytes_are_not_taken_for_what_was_locked(tmp_path: Path) -> None:
    """WinZip's code tells, and so does the checksum of the others."""
    for name in ("aes_7zip.zip", "zipcrypto_infozip.zip"):
        data = bytearray((ARCHIVES / name).read_bytes())
        with zipfile.ZipFile(ARCHIVES / name) as archive:
            info = archive.getinfo("notes/lamp.txt")
        data[info.header_offset + 60 + len(info.filename)] ^= 1
        found, files = fetch(opened(bytes(data), ZIP_PASSWORD, tmp_path), tmp_path)
        assert [each.path for each in found.entries if each.obstacle is Obstacle.ENCRYPTED] == ["notes/lamp.txt"]
        assert set(files) == {"notes/log.txt"}


def test_floods_are_opened_without_being_unfolded_and_refused_where_they_are_unpacked(tmp_path: Path) -> None:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_BZIP2, compresslevel=9) as archive:
        archive.writestr(zipfile.ZipInfo("zeros"), bytes(64 << 20), compress_type=zipfile.ZIP_BZIP2)
    inner = zipfile.ZipFile(out).infolist()[0]
    packed = out.getvalue()[30 + len("zeros") : 30 + len("zeros") + inner.compress_size]
    data = bytearray(locked_zip({"zeros": (packed, "one")}))
    for mark, at in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        place = data.index(mark)
        data[place + at] = zipfile.ZIP_BZIP2
        data[place + at + 14 : place + at + 18] = struct.pack("<L", 64 << 20)
    copy = opened(bytes(data), "one", tmp_path)
    assert len(copy) < 1000
    assert [each.obstacle for each in fetch(copy, tmp_path)[0].entries] == [Obstacle.TOO_LARGE]


def test_files_that_end_right_behind_a_block_are_compared_as_a_whole() -> None:
    for size in range((1 << 20) - 1, (1 << 20) + 260, 5):
        data, pack = bytes(size), zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
        checksum = Checksum(zipfile.ZIP_DEFLATED)
        checksum.feed(pack.compress(data) + pack.flush())
        assert checksum.value == zlib.crc32(data)
