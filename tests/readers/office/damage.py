"""What makes an Office document hostile: bombs, lies about sizes, parts that are exchanged."""

import io
import zipfile

from tests.readers.office import files


def bomb(name: str, rest: files.Parts, megabytes: int, filler: bytes = b" ") -> bytes:
    """A member of so many megabytes in a few kilobytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for other, data in rest.items():
            archive.writestr(other, data)
        with archive.open(name, "w") as member:
            for _ in range(megabytes):
                member.write(filler * ((1 << 20) // len(filler)))
    return out.getvalue()


def swapped(data: bytes, name: str, content: str | bytes) -> bytes:
    """The same document with another part of this name."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return files.zipped({each: archive.read(each) for each in archive.namelist()} | {name: content})


def with_false_sizes(data: bytes) -> bytes:
    """What the directory says of each member's size is a lie."""
    changed = bytearray(data)
    place = data.find(b"PK\x01\x02")
    while place >= 0:
        changed[place + 24 : place + 28] = (3).to_bytes(4, "little")
        place = data.find(b"PK\x01\x02", place + 4)
    return bytes(changed)


def locked_member(data: bytes) -> bytes:
    """Each member says that it is encrypted."""
    changed = bytearray(data)
    for mark, offset in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        place = data.find(mark)
        while place >= 0:
            changed[place + offset] |= 1
            place = data.find(mark, place + 4)
    return bytes(changed)


def many_members(data: bytes, count: int) -> bytes:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts: dict[str, str | bytes] = {each: archive.read(each) for each in archive.namelist()}
    return files.zipped(parts | {f"x/{number}": b"" for number in range(count)}, level=0)


def nested(opening: str, closing: str, depth: int, inner: str) -> str:
    return opening * depth + inner + closing * depth
