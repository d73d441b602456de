"""Files that are locked by a password, made anew for each run of the tests."""

import io
import struct
import zipfile
import zlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from random import Random

from msoffcrypto.method.ecma376_agile import ECMA376Agile

from tests import samples
from tests.readers.office.files import docx, p

PASSWORD, WRONG = "Ärger & 3 Leuchttürme", "Leuchtturm"
ARCHIVES = Path(__file__).parent / "readers" / "locked" / "packed"
ZIP_PASSWORD, SEVEN_ZIP_PASSWORD = "Lantern-7", "Lantern-7 ä"
SENTENCE = "The locked ledger names the keeper of the lighthouse."


def locked_pdf(password: str = "lantern") -> bytes:
    """A PDF of two pages that RC4 locks."""
    pages = [[samples.Run(60, 80, SENTENCE)], [samples.Run(60, 80, "The second page of the ledger.")]]
    return samples.pdf(pages, password=password)


@cache
def locked_docx() -> bytes:
    """A document that agile encryption locks by PASSWORD, as Word does."""
    # Word hashes a password 100,000 times; the file says how often.
    locked: bytes = ECMA376Agile.encrypt(PASSWORD, io.BytesIO(plain_docx()), spin_count=1_000)
    return locked


@cache
def plain_docx() -> bytes:
    """The document without its lock."""
    # What locks it here writes nothing that can be read again of less than 4 kB.
    return docx(p(SENTENCE), more={"word/media/noise.bin": Random(1).randbytes(8_000)})


def locked_zip(files: Mapping[str, tuple[bytes, str | None]], encoding: str = "utf-8") -> bytes:
    """A ZIP archive of files, each with the password that ZipCrypto locks it by, or none; without compression."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, (data, password) in files.items():
            # The lock adds twelve bytes in front of the file, of which the last one is checked.
            head = bytes(11) + struct.pack("<L", zlib.crc32(data))[3:]
            archive.writestr(
                zipfile.ZipInfo(name), data if password is None else _mixed(head + data, password.encode(encoding))
            )
    packed = bytearray(out.getvalue())
    for mark, flags_at, sizes_at, name_at in ((b"PK\3\4", 6, 14, 30), (b"PK\1\2", 8, 16, 46)):
        start = 0
        for name, (data, password) in files.items():
            start = packed.index(mark, start)
            assert packed.startswith(name.encode(), start + name_at)
            if password is not None:
                packed[start + flags_at] |= 1
                sizes = struct.pack("<3L", zlib.crc32(data), len(data) + 12, len(data))
                packed[start + sizes_at : start + sizes_at + 12] = sizes
            start += 1
    return bytes(packed)


def _mixed(data: bytes, password: bytes) -> bytes:
    """As ZipCrypto locks bytes."""
    keys = [0x12345678, 0x23456789, 0x34567890]
    for byte in password:
        _turn(keys, byte)
    found = bytearray()
    for byte in data:
        low = keys[2] & 0xFFFF | 2
        found.append(byte ^ (low * (low ^ 1) >> 8 & 0xFF))
        _turn(keys, byte)
    return bytes(found)


def _turn(keys: list[int], byte: int) -> None:
    most = 0xFFFFFFFF
    keys[0] = zlib.crc32(bytes([byte]), keys[0] ^ most) ^ most
    keys[1] = ((keys[1] + (keys[0] & 0xFF)) * 134775813 + 1) & most
    keys[2] = zlib.crc32(bytes([keys[1] >> 24]), keys[2] ^ most) ^ most
