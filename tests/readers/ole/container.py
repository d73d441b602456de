"""Containers of old Office files, written here stream by stream: only what a test needs."""

from datetime import UTC, datetime
from struct import pack

SECTOR = 512
HUGE = 0x7FFFFFFF
_END, _FAT, _FREE = 0xFFFFFFFE, 0xFFFFFFFD, 0xFFFFFFFF
_STREAM, _FOLDER, _ROOT = 2, 1, 5
# Shorter streams would lie in a stream of their own.
_LEAST = 4096
# So many sectors of the table are named in the head.
_TABLES_MAX = 109
_EPOCH = datetime(1601, 1, 1, tzinfo=UTC)


def container(streams: dict[str, bytes]) -> bytes:
    """A container with these streams, by their paths; each that is not empty is filled up to 4 kB with zeros."""
    names = _with_folders(streams)
    data = [content.ljust(_LEAST, b"\0") if (content := streams.get(name)) else b"" for name in names]
    sectors, fat, starts = bytearray(), list[int](), list[int]()
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
    assert fat_sectors <= _TABLES_MAX, "a container of more than 7 MB"
    fat_at = len(fat)
    fat += [_FAT] * fat_sectors
    table = pack(f"<{len(fat)}I", *fat).ljust(fat_sectors * SECTOR, b"\xff")
    head = bytes.fromhex("d0cf11e0a1b11ae1") + bytes(16) + pack("<HHHHH", 0x3E, 3, 0xFFFE, 9, 6) + bytes(6)
    head += pack("<IIIIIIIIII", 0, fat_sectors, directory_at, 0, _LEAST, _END, 0, _END, 0, fat_at)
    places = [fat_at + number for number in range(1, fat_sectors)]
    head += pack(f"<{len(places)}I", *places)
    return head.ljust(SECTOR, b"\xff") + bytes(sectors) + directory + table


def _with_folders(streams: dict[str, bytes]) -> list[str]:
    folders = {
        "/".join(parts[:depth]) for path in streams if (parts := path.split("/")) for depth in range(1, len(parts))
    }
    return sorted({*streams, *folders})


def _directory(names: list[str], streams: dict[str, bytes], starts: list[int], data: list[bytes]) -> bytes:
    """The entries; those of one folder hang on each other, each to the right of the one before it."""
    inside: dict[str, list[int]] = {}
    right: dict[int, int] = {}
    for number, name in enumerate(names, 1):
        beside = inside.setdefault(name.rpartition("/")[0], [])
        if beside:
            right[beside[-1]] = number
        beside.append(number)

    def entry(name: str, kind: int, number: int, child: int, start: int, size: int) -> bytes:
        written = name.encode("utf-16-le")[:62]
        head = written.ljust(64, b"\0") + pack("<HBB", len(written) + 2, kind, 1)
        return head + pack("<III", _FREE, right.get(number, _FREE), child) + bytes(36) + pack("<IQ", start, size)

    entries = [entry("Root Entry", _ROOT, 0, inside.get("", [_FREE])[0], _END, 0)]
    for number, (name, start, content) in enumerate(zip(names, starts, data, strict=True), 1):
        kind, child = (_STREAM, _FREE) if name in streams else (_FOLDER, inside.get(name, [_FREE])[0])
        entries.append(entry(name.rpartition("/")[2], kind, number, child, start, len(content)))
    whole = b"".join(entries)
    return whole.ljust(-(-len(whole) // SECTOR) * SECTOR, b"\0")


def message(
    body: str = "", *, attachment: tuple[str, bytes] | None = None, html: bytes = b"", rtf: bytes = b""
) -> bytes:
    """A message of Outlook."""
    streams = message_streams(body)
    if attachment is not None:
        folder = "__attach_version1.0_#00000000/"
        streams |= _texts(folder, {"3707": attachment[0], "370E": "application/pdf"})
        streams[f"{folder}__substg1.0_37010102"] = attachment[1]
    streams |= {f"__substg1.0_{name}0102": data for name, data in (("1013", html), ("1009", rtf)) if data}
    return container(streams)


def nested_message(body: str, depth: int) -> bytes:
    """A message that is attached to a message, and so on."""
    streams, folder = message_streams(body), ""
    for _ in range(depth):
        folder += "__attach_version1.0_#00000000/__substg1.0_3701000D/"
        streams |= message_streams(body, folder, 24)
    return container(streams)


def plainly_packed(rtf: bytes) -> bytes:
    """The body of a message in RTF, as one that is not packed is written."""
    return pack("<III", len(rtf) + 12, len(rtf), 0x414C454D) + bytes(4) + rtf


def packed(pieces: bytes, times: int) -> bytes:
    """A body that says that it has 2 GB, and is packed in pieces that come again and again."""
    return pack("<III", HUGE, HUGE, 0x75465A4C) + bytes(4) + pieces * times


def message_streams(body: str, folder: str = "", head: int = 32) -> dict[str, bytes]:
    """The streams of a message, in the folder of the message that it is attached to."""
    sent = int((datetime(2026, 3, 4, 15, 7, tzinfo=UTC) - _EPOCH).total_seconds()) * 10_000_000
    texts = {"0037": "Die Lampe für Ann", "0C1A": "Bo Keeper", "5D01": "bo@example.org", "1000": body}
    recipient = f"{folder}__recip_version1.0_#00000000/"
    return {
        f"{folder}__properties_version1.0": bytes(head) + pack("<HHIQ", 0x0040, 0x0039, 0, sent),
        **_texts(folder, {name: text for name, text in texts.items() if text}),
        f"{recipient}__properties_version1.0": bytes(8) + pack("<HHIQ", 3, 0x0C15, 0, 1),
        **_texts(recipient, {"3001": "Ann Writer", "39FE": "ann@example.org"}),
    }


def _texts(folder: str, texts: dict[str, str]) -> dict[str, bytes]:
    return {f"{folder}__substg1.0_{name}001F": text.encode("utf-16-le") for name, text in texts.items()}
