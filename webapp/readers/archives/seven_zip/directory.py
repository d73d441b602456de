"""The directory of a 7z archive: which folders it has, how each is packed, and which files lie in them.

A folder is what was packed as a whole: one file, or many behind each other. No number in the file can be trusted, so
none is used before it is known to fit into the bytes that are there.
"""

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from webapp.provider_errors import BadInput, FailureCode

SIGNATURE = b"7z\xbc\xaf\x27\x1c"
COPY, AES = b"\x00", b"\x06\xf1\x07\x01"
_END, _HEADER, _PROPERTIES, _MAIN, _FILES, _PACKED, _FOLDERS, _STREAMS = 0, 1, 2, 4, 5, 6, 7, 8
_SIZE, _CRC, _FOLDER, _UNFOLDED_SIZE, _STREAM_COUNT, _NO_STREAM, _EMPTY_FILE = 9, 10, 11, 12, 13, 14, 15
_ANTI, _NAMES, _ATTRIBUTES, ENCODED = 16, 17, 21, 23
_CODERS_MAX, _STREAMS_MAX = 32, 32
# All of them are held in memory.
_COUNT_MAX = 1_000_000
_NO_NAME = "\0"


def damaged(message: str = "the list of the archive's files is damaged") -> BadInput:
    """The error for a directory that can't be one."""
    return BadInput(message, code=FailureCode.CORRUPT)


def refuse_more(count: int) -> int:
    """The number of something, where it is not too large to be held."""
    if count > _COUNT_MAX:
        raise BadInput("the list of the archive's files is too long", code=FailureCode.TOO_LARGE)
    return count


@dataclass(frozen=True, slots=True)
class Coder:
    """One of the programs that packed a folder, with what it needs to unpack it."""

    id: bytes
    properties: bytes = b""
    inputs: int = 1
    outputs: int = 1


@dataclass(frozen=True, slots=True)
class Folder:
    """How some files were packed together. `binds` are pairs of a coder's input and the output that it reads."""

    coders: tuple[Coder, ...]
    binds: tuple[tuple[int, int], ...]
    packed: tuple[int, ...]
    """The inputs that read the archive's own bytes."""
    sizes: tuple[int, ...] = ()
    """Of what each coder writes."""
    crc: int | None = None

    @property
    def is_locked(self) -> bool:
        """Whether a password is needed."""
        return any(coder.id == AES for coder in self.coders)

    def chain(self) -> list[int]:
        """The coders in the order in which they unpack; empty where they are more than a chain."""
        if any((coder.inputs, coder.outputs) != (1, 1) for coder in self.coders):
            return []
        reads = dict(self.binds)
        at = next((number for number in range(len(self.coders)) if number not in reads.values()), None)
        found: list[int] = []
        while at is not None and at not in found:
            found.append(at)
            at = reads.get(at)
        return found[::-1] if len(found) == len(self.coders) else []

    @property
    def size(self) -> int:
        """How many bytes its files have together."""
        outputs = {output for _, output in self.binds}
        return next((size for number, size in enumerate(self.sizes) if number not in outputs), 0)


@dataclass(frozen=True, slots=True)
class Stream:
    """The place of a file's content: its folder, and where it begins in what that unfolds to."""

    folder: int
    begins: int
    size: int
    crc: int | None


@dataclass(frozen=True, slots=True)
class Item:
    """A file of the archive; without a stream it is empty."""

    name: str
    stream: Stream | None
    attributes: int


@dataclass(frozen=True, slots=True)
class Directory:
    """All that a header says. `streams_part` and `files_part` are its own bytes about streams and files."""

    packed_at: int = 0
    packed_sizes: tuple[int, ...] = ()
    folders: tuple[Folder, ...] = ()
    streams: tuple[Stream, ...] = ()
    items: tuple[Item, ...] = ()
    streams_part: bytes = b""
    files_part: bytes = b""

    def packed_places(self) -> list[list[tuple[int, int]]]:
        """For each folder, where its packed bytes begin in the file, behind the first header, and how many they are."""
        found, at, number = [], self.packed_at, 0
        for folder in self.folders:
            own = []
            for size in self.packed_sizes[number : number + len(folder.packed)]:
                own.append((at, size))
                at += size
            number += len(folder.packed)
            found.append(own)
        return found


class Bytes:
    """The bytes of a header, read from the beginning to the end."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    @property
    def left(self) -> int:
        """How many bytes have not been read."""
        return len(self.data) - self.at

    def take(self, size: int) -> bytes:
        """The next bytes."""
        if not 0 <= size <= self.left:
            raise damaged()
        self.at += size
        return self.data[self.at - size : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def number(self) -> int:
        """A number of 1 to 9 bytes: as many ones as its first byte begins with, so many bytes follow."""
        first = self.byte()
        value, mask = 0, 0x80
        for place in range(8):
            if not first & mask:
                return value + ((first & (mask - 1)) << 8 * place)
            value |= self.byte() << 8 * place
            mask >>= 1
        return value

    def count(self) -> int:
        """How many of something follow, each of which takes up a byte at least, but for the last."""
        found = self.number()
        if found > self.left + 1:
            raise damaged()
        return refuse_more(found)

    def bits(self, count: int) -> list[bool]:
        """So many truths, the highest bit first."""
        packed = self.take((count + 7) // 8)
        return [bool(packed[number // 8] & 0x80 >> number % 8) for number in range(count)]

    def some(self, count: int) -> list[bool]:
        """Which ones are told: all, or some by their bits."""
        return [True] * count if self.byte() else self.bits(count)

    def checksums(self, count: int) -> list[int | None]:
        return [int.from_bytes(self.take(4), "little") if is_told else None for is_told in self.some(count)]

    def expect(self, kind: int) -> None:
        if self.byte() != kind:
            raise damaged()


def parse(data: bytes) -> Directory:
    """Read a header, or what tells where the packed header lies."""
    reader = Bytes(data)
    kind = reader.byte()
    if kind == ENCODED:
        return _streams_info(reader)
    if kind != _HEADER:
        raise damaged()
    found, kind = Directory(), reader.byte()
    if kind == _PROPERTIES:
        while reader.byte() != _END:
            reader.take(reader.number())
        kind = reader.byte()
    if kind == _MAIN:
        found, kind = _streams_info(reader), reader.byte()
    if kind == _END:
        return found
    if kind != _FILES:
        raise damaged()
    begins = reader.at - 1
    items = _items(reader, found.streams)
    return replace(found, items=items, files_part=data[begins : reader.at])


def _streams_info(reader: Bytes) -> Directory:
    packed_at = 0
    packed: tuple[int, ...] = ()
    folders: tuple[Folder, ...] = ()
    kind = reader.byte()
    if kind == _PACKED:
        packed_at, packed = _packed_info(reader)
        kind = reader.byte()
    if kind == _FOLDERS:
        folders = _folders(reader)
        kind = reader.byte()
    if sum(len(folder.packed) for folder in folders) > len(packed):
        raise damaged()
    begins = reader.at - 1
    streams, kind = _streams(reader, folders, kind)
    part = reader.data[begins : reader.at - 1]
    if kind != _END:
        raise damaged()
    return Directory(packed_at, packed, folders, streams, streams_part=part)


def _packed_info(reader: Bytes) -> tuple[int, tuple[int, ...]]:
    at, count = reader.number(), reader.count()
    reader.expect(_SIZE)
    sizes = tuple(reader.number() for _ in range(count))
    kind = reader.byte()
    if kind == _CRC:
        reader.checksums(count)
        kind = reader.byte()
    if kind != _END:
        raise damaged()
    return at, sizes


def _folders(reader: Bytes) -> tuple[Folder, ...]:
    reader.expect(_FOLDER)
    count = reader.count()
    # Another value means that they are described elsewhere, which no program does.
    reader.expect(0)
    plain = [_folder(reader) for _ in range(count)]
    reader.expect(_UNFOLDED_SIZE)
    sizes = [tuple(reader.number() for _ in range(_outputs(folder))) for folder in plain]
    kind, crcs = reader.byte(), [None] * count
    if kind == _CRC:
        crcs, kind = reader.checksums(count), reader.byte()  # type: ignore[assignment]  # some are told now
    if kind != _END:
        raise damaged()
    found = zip(plain, sizes, crcs, strict=True)
    return tuple(replace(each, sizes=size, crc=crc) for each, size, crc in found)


def _outputs(folder: Folder) -> int:
    return sum(coder.outputs for coder in folder.coders)


def _folder(reader: Bytes) -> Folder:
    count = reader.number()
    if not 1 <= count <= _CODERS_MAX:
        raise damaged()
    coders = tuple(_coder(reader) for _ in range(count))
    inputs, outputs = sum(coder.inputs for coder in coders), sum(coder.outputs for coder in coders)
    if inputs > _STREAMS_MAX or outputs > _STREAMS_MAX or inputs < outputs - 1 or outputs < 1:
        raise damaged()
    binds = tuple((reader.number(), reader.number()) for _ in range(outputs - 1))
    if any(read >= inputs or written >= outputs for read, written in binds):
        raise damaged()
    bound = {read for read, _ in binds}
    missing = inputs - len(binds)
    free = [number for number in range(inputs) if number not in bound]
    packed = tuple(free) if missing == 1 else tuple(reader.number() for _ in range(missing))
    if len(packed) != missing or any(number >= inputs for number in packed):
        raise damaged()
    return Folder(coders, binds, packed)


def _coder(reader: Bytes) -> Coder:
    flags = reader.byte()
    id_, inputs, outputs = reader.take(flags & 0x0F), 1, 1
    if flags & 0x10:
        inputs, outputs = reader.number(), reader.number()
    properties = reader.take(reader.number()) if flags & 0x20 else b""
    if flags & 0xC0 or max(inputs, outputs) > _STREAMS_MAX:
        raise damaged()
    return Coder(id_, properties, inputs, outputs)


def _streams(reader: Bytes, folders: Sequence[Folder], kind: int) -> tuple[tuple[Stream, ...], int]:
    """The files' places in the folders; without a word on them, each folder holds one."""
    if kind != _STREAMS:
        return tuple(Stream(number, 0, each.size, each.crc) for number, each in enumerate(folders)), kind
    kind, counts = reader.byte(), [1] * len(folders)
    if kind == _STREAM_COUNT:
        counts = [reader.count() for _ in folders]
        kind = reader.byte()
        if refuse_more(sum(counts)) > reader.left + len(folders):
            raise damaged()
    has_sizes = kind == _SIZE
    # A folder's only file has the folder's size, which is not repeated.
    sizes = [list(_sizes(reader, folder, count)) for folder, count in zip(folders, counts, strict=True)]
    if has_sizes:
        kind = reader.byte()
    elif any(count > 1 for count in counts):
        raise damaged()
    unknown = [not (count == 1 and folder.crc is not None) for folder, count in zip(folders, counts, strict=True)]
    told: Iterator[int | None] = iter(())
    if kind == _CRC:
        told = iter(reader.checksums(sum(count for count, is_so in zip(counts, unknown, strict=True) if is_so)))
        kind = reader.byte()
    if kind != _END:
        raise damaged()
    found = []
    for number, folder in enumerate(folders):
        begins = 0
        for size in sizes[number]:
            found.append(Stream(number, begins, size, next(told, None) if unknown[number] else folder.crc))
            begins += size
    return tuple(found), reader.byte()


def _sizes(reader: Bytes, folder: Folder, count: int) -> Iterator[int]:
    left = folder.size
    for _ in range(count - 1):
        size = reader.number()
        left -= size
        yield size
    if left < 0:
        raise damaged()
    if count:
        yield left


def _items(reader: Bytes, streams: Sequence[Stream]) -> tuple[Item, ...]:
    count = reader.count()
    is_empty, is_file, is_anti = [False] * count, [False] * count, [False] * count
    names, attributes = [""] * count, [0] * count
    while (kind := reader.number()) != _END:
        own = Bytes(reader.take(reader.number()))
        if kind == _NO_STREAM:
            is_empty = own.bits(count)
        elif kind in {_EMPTY_FILE, _ANTI}:
            bits = iter(own.bits(sum(is_empty)))
            told = [next(bits) if empty else False for empty in is_empty]
            is_file, is_anti = (told, is_anti) if kind == _EMPTY_FILE else (is_file, told)
        elif kind == _NAMES:
            names = _names(own, count)
        elif kind == _ATTRIBUTES:
            is_told = own.some(count)
            own.expect(0)
            attributes = [int.from_bytes(own.take(4), "little") if each else 0 for each in is_told]
    if count - sum(is_empty) > len(streams):
        raise damaged()
    contents = iter(streams)
    found = (
        (Item(names[number], None if is_empty[number] else next(contents), attributes[number]), number)
        for number in range(count)
    )
    # What has no stream and is no empty file is a folder, or says that a file was deleted.
    return tuple(item for item, at in found if item.stream or (is_file[at] and not is_anti[at]))


def _names(reader: Bytes, count: int) -> list[str]:
    reader.expect(0)
    text = reader.take(reader.left).decode("utf-16-le", "replace")
    names = text.split(_NO_NAME)
    if len(names) < count:
        raise damaged()
    return names[:count]


def first_header(head: bytes) -> tuple[int, int, int]:
    """Where the directory lies behind the first 32 bytes, how long it is, and its checksum."""
    if len(head) < 32 or not head.startswith(SIGNATURE):
        raise damaged("no 7z archive")
    at, size, crc = struct.unpack_from("<QQL", head, 12)
    return at, size, crc
