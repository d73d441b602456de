"""The two ways in which ZIP archives lock a file: ZipCrypto, of 1989, and WinZip's AES."""

import hashlib
import hmac
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from cryptography.hazmat.primitives.ciphers import Cipher, modes
from cryptography.hazmat.primitives.ciphers.algorithms import AES

BLOCK_BYTES = 1 << 18
METHOD_OF_AES, EXTRA_OF_AES = 99, 0x9901
_HEADER_BYTES, _HAS_DESCRIPTOR, _IS_STRONG = 12, 0x8, 0x40
_SALT_BYTES = {1: 8, 2: 12, 3: 16}
_AES_BLOCK, _VERIFIER_BYTES, _CODE_BYTES, _ROUNDS = 16, 2, 10, 1000
_KEYS = (0x12345678, 0x23456789, 0x34567890)
_FACTOR, _MASK = 134775813, 0xFFFFFFFF


class NotOpened(Exception):
    """The password is not that of this file."""


class UnknownLock(NotOpened):
    """The file is locked in another way."""


def extra_fields(extra: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields that follow a file's name, by their numbers; what is cut off at the end is left out."""
    while len(extra) >= 4:
        number, size = int.from_bytes(extra[:2], "little"), int.from_bytes(extra[2:4], "little")
        if len(extra) < 4 + size:
            return
        yield number, extra[4 : 4 + size]
        extra = extra[4 + size :]


def method_of(info: zipfile.ZipInfo) -> int:
    """How the file is packed below its lock."""
    if info.compress_type != METHOD_OF_AES:
        return info.compress_type
    return int.from_bytes(_aes_field(info)[5:7], "little")


def has_checksum(info: zipfile.ZipInfo) -> bool:
    """Whether the directory tells the checksum of the file; WinZip leaves it out in its second version."""
    return info.compress_type != METHOD_OF_AES or _aes_field(info)[:2] != b"\x02\x00"


def unlocked(info: zipfile.ZipInfo, file: BinaryIO, password: bytes) -> Iterator[bytes]:
    """What lies behind the lock, still packed. `file` is at the beginning of the file's data.

    NotOpened where the password does not fit, for AES perhaps only at the end.
    """
    if info.flag_bits & _IS_STRONG:
        raise UnknownLock
    if info.compress_type == METHOD_OF_AES:
        return _by_aes(info, file, password)
    return _by_zipcrypto(info, file, password)


def _blocks(file: BinaryIO, size: int) -> Iterator[bytes]:
    while size > 0 and (block := file.read(min(size, BLOCK_BYTES))):
        size -= len(block)
        yield block
    if size > 0:
        raise NotOpened


def _aes_field(info: zipfile.ZipInfo) -> bytes:
    for number, data in extra_fields(info.extra):
        if number == EXTRA_OF_AES and len(data) >= 7 and data[4] in _SALT_BYTES:
            return data
    raise UnknownLock


def _by_aes(info: zipfile.ZipInfo, file: BinaryIO, password: bytes) -> Iterator[bytes]:
    salt_bytes = _SALT_BYTES[_aes_field(info)[4]]
    left = info.compress_size - salt_bytes - _VERIFIER_BYTES - _CODE_BYTES
    salt, verifier = file.read(salt_bytes), file.read(_VERIFIER_BYTES)
    if left < 0 or len(verifier) < _VERIFIER_BYTES:
        raise NotOpened
    key_bytes = 2 * salt_bytes
    keys = hashlib.pbkdf2_hmac("sha1", password, salt, _ROUNDS, 2 * key_bytes + _VERIFIER_BYTES)
    if keys[2 * key_bytes :] != verifier:
        raise NotOpened
    code = hmac.new(keys[key_bytes : 2 * key_bytes], digestmod="sha1")
    # WinZip counts from 1, with the lowest byte first, as no mode of a cipher does.
    encrypt = Cipher(AES(keys[:key_bytes]), modes.ECB()).encryptor()  # noqa: S305 - it only makes the key stream
    counter = 1
    for block in _blocks(file, left):
        code.update(block)
        needed = -(-len(block) // _AES_BLOCK)
        stream = encrypt.update(b"".join(n.to_bytes(_AES_BLOCK, "little") for n in range(counter, counter + needed)))
        counter += needed
        size = len(block)
        yield (int.from_bytes(block, "little") ^ int.from_bytes(stream[:size], "little")).to_bytes(size, "little")
    if not hmac.compare_digest(code.digest()[:_CODE_BYTES], file.read(_CODE_BYTES)):
        raise NotOpened


def _by_zipcrypto(info: zipfile.ZipInfo, file: BinaryIO, password: bytes) -> Iterator[bytes]:
    blocks = decrypted(_blocks(file, info.compress_size), password)
    first = next(blocks, b"")
    hour, minute = info.date_time[3:5]
    expected = (hour << 3 | minute >> 3) if info.flag_bits & _HAS_DESCRIPTOR else info.CRC >> 24
    if len(first) < _HEADER_BYTES or first[_HEADER_BYTES - 1] != expected:
        raise NotOpened
    yield first[_HEADER_BYTES:]
    yield from blocks


_TABLE = tuple(zlib.crc32(bytes([number]), _MASK) ^ _MASK for number in range(256))
# What the third key says that a byte is mixed with, by its bits 2 to 15.
_MIXED = bytes((number | 2) * ((number | 2) ^ 1) >> 8 & 0xFF for number in range(0, 1 << 16, 4))


def decrypted(blocks: Iterable[bytes], password: bytes) -> Iterator[bytes]:
    """ZipCrypto's decryption, byte after byte: each depends on all before it."""
    one, two, three = _KEYS
    table, mixed = _TABLE, _MIXED
    for byte in password:
        one = one >> 8 ^ table[(one ^ byte) & 0xFF]
        two = ((two + (one & 0xFF)) * _FACTOR + 1) & _MASK
        three = three >> 8 ^ table[(three ^ two >> 24) & 0xFF]
    for block in blocks:
        clear = bytearray(block)
        for place, byte in enumerate(block):
            byte ^= mixed[three >> 2 & 0x3FFF]  # noqa: PLW2901 - a name of its own would cost a tenth of the time
            clear[place] = byte
            one = one >> 8 ^ table[(one ^ byte) & 0xFF]
            two = ((two + (one & 0xFF)) * _FACTOR + 1) & _MASK
            three = three >> 8 ^ table[(three ^ two >> 24) & 0xFF]
        yield bytes(clear)
