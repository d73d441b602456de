"""Containers of old Office files, written here stream by stream: only what a test needs."""

from datetime import UTC, datetime
from struct import pack

SECTOR = 512
_END, _FAT, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_STREAM, _FOLDER, _ROOT = 2, 1, 5
# Shorter streams would lie in a stream of their own.
_LEAST = 4096
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def container(streams: dict[str, bytes]) -> bytes:
    """A container with these streams, by their paths; each is filled up to 4 kB with zeros."""
    names = _with_folders(streams)
    data = [streams[name].ljust(_LEAST, b"\0") if name in streams else b"" for name in names]
    sectors, fat, starts = b"", list[int](), list[int]()
    for each in data:
        count = -(-len(each) // SECTOR)
        starts.append(len(fat) if count else _END)
        fat += [*range(len(fat) + 1, len(fat) + count), _END] if count else []
        sectors += each.ljust(count * SECTOR, b"\0")
    directory = _directory(names, streams, starts, data)
    directory_at, count = len(fat), len(directory) // SECTOR
    fat += [*range(directory_at + 1, directory_at + count), _END]
    fat_sectors = 1
    while (len(fat) + fat_sectors) * 4 > fat_sectors * SECTOR:
        fat_sectors += 1
    fat_at = len(fat)
    fat += [_FAT] * fat_sectors
    table = pack(f"<{len(fat)}I", *fat).ljust(fat_sectors * SECTOR, b"\xff")
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += pack("<IIIIIIIIII", 0, fat_sectors, directory_at, 0, _LEAST, _END, 0, _END, 0, fat_at)
    places = [fat_at + number for number in range(1, fat_sectors)]
    head += pack(f"<{len(places)}I", *places)
    return head.ljust(SECTOR, b"\xff") + sectors + directory + table


def _with_folders(streams: dict[str, bytes]) -> list[str]:
    folders = {path.rpartition("/")[0] for path in streams} - {""}
    return sorted({*streams, *folders})


def _directory(names: list[str], streams: dict[str, bytes], starts: list[int], data: list[bytes]) -> bytes:
    """The entries; those of one folder hang on each other, each to the right of the one before it."""

    def inside(folder: str) -> list[int]:
        return [number for number, name in enumerate(names, 1) if name.rpartition("/")[0] == folder]

    def entry(name: str, kind: int, right: int, child: int, start: int, size: int) -> bytes:
        written = name.encode("utf-16-le")
        head = written.ljust(64, b"\0") + pack("<HBB", len(written) + 2, kind, 1)
        return head + pack("<III", _FREE, right, child) + bytes(36) + pack("<IQ", start, size)

    entries = [entry("Root Entry", _ROOT, _FREE, (inside("") or [_FREE])[0], _END, 0)]
    for name, start, content in zip(names, starts, data, strict=True):
        beside = inside(name.rpartition("/")[0])
        place = beside.index(names.index(name) + 1)
        right = beside[place + 1] if place + 1 < len(beside) else _FREE
        child = _FREE if name in streams else (inside(name) or [_FREE])[0]
        kind = _STREAM if name in streams else _FOLDER
        entries.append(entry(name.rpartition("/")[2], kind, right, child, start, len(content)))
    whole = b"".join(entries)
    return whole.ljust(-(-len(whole) // SECTOR) * SECTOR, b"\0")


def message(body: str, *, attachment: tuple[str, bytes] | None = None) -> bytes:
    """A message of Outlook."""
    sent = int((datetime(2026, 3, 4, 15, 7, tzinfo=UTC) - _EPOCH).total_seconds()) * 10_000_000
    streams = {
        "__properties_version1.0": bytes(32) + pack("<HHIQ", 0x0040, 0x0039, 0, sent),
        **_texts("", {"0037": "Die Lampe für Ann", "0C1A": "Bo Keeper", "5D01": "bo@example.org", "1000": body}),
        "__recip_version1.0_#00000000/__properties_version1.0": bytes(8) + pack("<HHIQ", 3, 0x0C15, 0, 1),
        **_texts("__recip_version1.0_#00000000/", {"3001": "Ann Writer", "39FE": "ann@example.org"}),
    }
    if attachment is not None:
        folder = "__attach_version1.0_#00000000/"
        streams |= _texts(folder, {"3707": attachment[0], "370E": "application/pdf"})
        streams[f"{folder}__substg1.0_37010102"] = attachment[1]
    return container(streams)


def _texts(folder: str, texts: dict[str, str]) -> dict[str, bytes]:
    return {f"{folder}__substg1.0_{name}001F": text.encode("utf-16-le") for name, text in texts.items()}
