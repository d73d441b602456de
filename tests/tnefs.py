"""Files as Outlook attaches them for receivers who have Outlook, too."""

import struct
from collections.abc import Mapping, Sequence

HTML = 0x1013


def attribute(level: int, number: int, data: bytes) -> bytes:
    """One of the parts that such a file consists of."""
    return struct.pack("<BHHL", level, number, 6, len(data)) + data + struct.pack("<H", sum(data) & 0xFFFF)


def property_(id_: int, kind: int, data: bytes) -> bytes:
    """A property of variable length."""
    named = bytes(16) + struct.pack("<LL", 1, 6) + "Abc".encode("utf-16-le") + b"\0\0" if id_ >= 0x8000 else b""
    return struct.pack("<HH", kind, id_) + named + struct.pack("<LL", 1, len(data)) + data + bytes(-len(data) % 4)


def properties(*given: bytes) -> bytes:
    return struct.pack("<L", len(given) + 1) + struct.pack("<HHL", 3, 0x0E08, 7) + b"".join(given)


def tnef(files: Mapping[str, bytes], *, text: bytes = b"", more: Sequence[bytes] = ()) -> bytes:
    """A winmail.dat with these files; short names in the file's own alphabet, the long ones as properties."""
    found = [struct.pack("<LH", 0x223E9F78, 1), attribute(1, 0x9007, struct.pack("<LL", 1251, 0))]
    if text:
        # A named property comes first, which has to be passed over.
        found.append(attribute(1, 0x9003, properties(property_(0x8001, 0x1E, b"x\0"), property_(HTML, 0x102, text))))
    for name, data in files.items():
        found += [attribute(2, 0x9002, bytes(14)), attribute(2, 0x8010, name[:8].encode("cp1251", "replace") + b"\0")]
        found += [attribute(2, 0x800F, data)]
        found += [attribute(2, 0x9005, properties(property_(0x3707, 0x1F, f"{name}\0".encode("utf-16-le"))))]
    return b"".join([*found, *more])
