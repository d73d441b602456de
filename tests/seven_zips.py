"""7z archives for tests: honest ones, and such as no program writes."""

import lzma
import struct
import zlib
from collections.abc import Mapping, Sequence

LZMA2 = b"\x21\x21\x01\x18"
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 1}]


def number(value: int) -> bytes:
    """A number as headers have it, always in nine bytes, or in one."""
    return bytes([value]) if value < 0x80 else b"\xff" + value.to_bytes(8, "little")


def seven_zip(
    files: Mapping[str, bytes],
    *,
    coders: Sequence[bytes] = (LZMA2,),
    packed: bytes | None = None,
    crcs: Sequence[int] | None = None,
    sizes: Sequence[int] | None = None,
    count: int | None = None,
    attributes: int = 0x20,
    binds: Sequence[tuple[int, int]] | None = None,
) -> bytes:
    """An archive of one folder. What is not said is as it has to be for these files."""
    content = b"".join(files.values())
    data = lzma.compress(content, lzma.FORMAT_RAW, filters=_FILTERS) if packed is None else packed
    told = list(sizes or [len(each) for each in files.values()])
    # With several coders the last one reads the packed bytes.
    pairs = [(place, place + 1) for place in range(len(coders) - 1)] if binds is None else binds
    folder = number(len(coders)) + b"".join(coders) + b"".join(number(one) + number(two) for one, two in pairs)
    header = b"\1\4\6\0\1\x09" + number(len(data)) + b"\0"
    header += b"\7\x0b\1\0" + folder + b"\x0c" + number(sum(told)) * len(coders) + b"\0"
    header += b"\x08\x0d" + number(len(files)) + b"\x09" + b"".join(map(number, told[:-1]))
    header += b"\x0a\1" + b"".join(struct.pack("<L", crc) for crc in crcs or map(zlib.crc32, files.values())) + b"\0\0"
    names = b"\0" + b"".join(name.encode("utf-16-le") + b"\0\0" for name in files)
    modes = b"\1\0" + struct.pack("<L", attributes) * len(files)
    header += b"\5" + number(len(files) if count is None else count)
    header += b"\x11" + number(len(names)) + names + b"\x15" + number(len(modes)) + modes + b"\0\0"
    return whole(data, header)


def whole(data: bytes, header: bytes) -> bytes:
    """An archive with this header behind its data."""
    start = struct.pack("<QQL", len(data), len(header), zlib.crc32(header))
    return b"7z\xbc\xaf\x27\x1c\0\4" + struct.pack("<L", zlib.crc32(start)) + start + data + header
