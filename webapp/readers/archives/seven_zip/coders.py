"""What packs files in 7z archives, undone by Python's own libraries: block after block, in bounded memory."""

import bz2
import lzma
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from webapp.readers.archives.members import BLOCK_BYTES, Damaged
from webapp.readers.archives.seven_zip.directory import AES, COPY, Coder, Folder

# Programs offer up to 1.5 GB and take 64 MB at most by themselves.
DICTIONARY_BYTES_MAX = 256 << 20
LZMA, LZMA2, DELTA, DEFLATE, BZIP2 = b"\x03\x01\x01", b"\x21", b"\x03", b"\x04\x01\x08", b"\x04\x02\x02"
PACKERS = frozenset({LZMA, LZMA2, DEFLATE, BZIP2})
# Each has its name of the first versions, and a short one.
_BRANCHES = {
    lzma.FILTER_X86: (b"\x03\x03\x01\x03", b"\x04"),
    lzma.FILTER_POWERPC: (b"\x03\x03\x02\x05", b"\x05"),
    lzma.FILTER_IA64: (b"\x03\x03\x04\x01", b"\x06"),
    lzma.FILTER_ARM: (b"\x03\x03\x05\x01", b"\x07"),
    lzma.FILTER_ARMTHUMB: (b"\x03\x03\x07\x01", b"\x08"),
    lzma.FILTER_SPARC: (b"\x03\x03\x08\x05", b"\x09"),
}
_FILTERS = {id_: filter_ for filter_, ids in _BRANCHES.items() for id_ in ids}
BROKEN = (lzma.LZMAError, zlib.error, OSError, EOFError, ValueError)
_CHUNK_BYTES = 1 << 16
_PROPERTIES_BYTES = 5

Blocks = Iterable[bytes]
Decrypt = Callable[[Coder, Blocks], Blocks]


class UnknownMethod(Exception):
    """A folder is packed in a way that is not known here."""


def check_known(folder: Folder) -> None:
    """UnknownMethod where this folder can't be unpacked; it may be encrypted as well."""
    chain = folder.chain()
    if not chain:
        raise UnknownMethod
    for number in chain:
        coder = folder.coders[number]
        if coder.id != AES:
            _unfolder(coder)


def unfolded(folder: Folder, packed: Blocks, decrypt: Decrypt | None = None) -> Iterator[bytes]:
    """The folder's content, of its packed bytes. `decrypt` undoes the lock, where there is one.

    UnknownMethod, and Damaged.
    """
    blocks = packed
    for number in folder.chain():
        coder, size = folder.coders[number], folder.sizes[number]
        if coder.id == AES:
            if decrypt is None:
                raise UnknownMethod
            blocks = _cut(decrypt(coder, blocks), size)
        else:
            blocks = _cut(_unfolder(coder)(blocks), size)
    try:
        yield from blocks
    except BROKEN as error:
        raise Damaged from error


def _cut(blocks: Blocks, size: int) -> Iterator[bytes]:
    """So many bytes; what follows them is padding."""
    for block in blocks:
        yield block[:size]
        size -= len(block)
        if size <= 0:
            return
    raise Damaged


def _unfolder(coder: Coder) -> Callable[[Blocks], Blocks]:
    """What undoes the work of a coder; UnknownMethod."""
    id_, properties = coder.id, coder.properties
    if id_ in _PLAIN:
        return _PLAIN[id_]
    if id_ in _FILTERS:
        return partial(_by_filter, filter_={"id": _FILTERS[id_]})
    if id_ == DELTA and len(properties) == 1:
        return partial(_by_filter, filter_={"id": lzma.FILTER_DELTA, "dist": properties[0] + 1})
    try:
        if id_ == LZMA:
            return partial(_by_lzma, filters=[lzma_filter(properties)])
        if id_ == LZMA2 and len(properties) == 1:
            return partial(_by_lzma, filters=[_checked({"id": lzma.FILTER_LZMA2, "dict_size": _size_of(properties)})])
    except ValueError as error:
        raise UnknownMethod from error
    raise UnknownMethod


def lzma_filter(properties: bytes) -> dict[str, int]:
    """LZMA's five bytes of properties as Python's lzma wants them; ValueError."""
    if len(properties) != _PROPERTIES_BYTES or properties[0] >= 9 * 5 * 5:
        raise ValueError("no properties of LZMA")
    rest, lc = divmod(properties[0], 9)
    pb, lp = divmod(rest, 5)
    size = int.from_bytes(properties[1:], "little")
    return _checked({"id": lzma.FILTER_LZMA1, "dict_size": max(size, 4096), "lc": lc, "lp": lp, "pb": pb})


def _checked(filter_: dict[str, int]) -> dict[str, int]:
    if filter_["dict_size"] > DICTIONARY_BYTES_MAX:
        raise ValueError("more memory is needed than one file may take")
    return filter_


def _size_of(properties: bytes) -> int:
    exponent = properties[0] & 0x3F
    return min((2 | exponent & 1) << exponent // 2 + 11, 0xFFFFFFFF)


def _by_lzma(blocks: Blocks, filters: list[dict[str, int]]) -> Iterator[bytes]:
    unfold = lzma.LZMADecompressor(lzma.FORMAT_RAW, filters=filters)
    for block in blocks:
        yield from _drained(unfold, block)
        if unfold.eof:
            return


def _by_bzip2(blocks: Blocks) -> Iterator[bytes]:
    """One stream, or several that several processors packed."""
    unfold = bz2.BZ2Decompressor()
    for block in blocks:
        rest = block
        while rest:
            if unfold.eof:
                unfold = bz2.BZ2Decompressor()
            yield from _drained(unfold, rest)
            rest = unfold.unused_data


def _drained(unfold: Any, block: bytes) -> Iterator[bytes]:
    """All that a block unfolds to, some at a time: a small block may become gigabytes."""
    while True:
        found = unfold.decompress(block, BLOCK_BYTES)
        if found:
            yield found
        block = b""
        if unfold.eof or (unfold.needs_input and not found) or (not found and not unfold.needs_input):
            return


def _by_deflate(blocks: Blocks) -> Iterator[bytes]:
    unfold = zlib.decompressobj(-zlib.MAX_WBITS)
    for block in blocks:
        rest = block
        while rest:
            yield unfold.decompress(rest, BLOCK_BYTES)
            rest = unfold.unconsumed_tail
    yield unfold.flush()


def _by_filter(blocks: Blocks, filter_: dict[str, int]) -> Iterator[bytes]:
    """A filter, which the library knows in front of LZMA2 alone: so the bytes are put into LZMA2 as they are."""
    filters = [filter_, {"id": lzma.FILTER_LZMA2, "dict_size": _CHUNK_BYTES}]
    return _by_lzma(_in_lzma2(blocks), filters)


def _in_lzma2(blocks: Blocks) -> Iterator[bytes]:
    mark = 1
    for block in blocks:
        for start in range(0, len(block), _CHUNK_BYTES):
            chunk = block[start : start + _CHUNK_BYTES]
            # The first one begins a dictionary.
            yield bytes([mark]) + (len(chunk) - 1).to_bytes(2, "big") + chunk
            mark = 2
    yield b"\0"


_PLAIN: dict[bytes, Callable[[Blocks], Blocks]] = {COPY: iter, DEFLATE: _by_deflate, BZIP2: _by_bzip2}
