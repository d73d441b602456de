"""Changes to bytes and to texts that know nothing of a file's form."""

import re
import struct
from collections.abc import Callable, Sequence
from random import Random

Change = Callable[[bytes, Random], bytes]

# A file that a change makes longer than this is cut: what takes long with a megabyte is what is looked for.
GROWN_BYTES_MAX = 1 << 20
EDGES = (0, 1, 2, 7, 8, 63, 127, 128, 255, 256, 4095, 4096, 32767, 32768, 65535, 65536, 2**24, 2**31 - 1, 2**31,
         2**32 - 2, 2**32 - 1, 2**63 - 1, 2**64 - 1)  # fmt: skip
NUMBERS = (
    b"0", b"-0", b"1", b"-1", b"2", b"9", b"99", b"255", b"256", b"1001", b"32768", b"65535", b"65536", b"16777216",
    b"1048577", b"2147483647", b"2147483648", b"-2147483648", b"4294967295", b"9223372036854775807", b"9" * 40,
    b"9" * 5_000, b"1e308", b"1e999", b"-1e999", b"nan", b"inf", b"0x41", b"1.5", b"0.00000001", b"-32768.75", b"1/0",
    b"\xd9\xa1\xd9\xa2", b"",
)  # fmt: skip
WORDS = (
    b"\0", b"\0\0\0\0", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xef\xbf\xbe", b"\xe2\x80\xae", b"\xef\xbb\xbf",
    b"\xff\xfe", b"\xff", b"\x1a", b"\x85", b"\xe2\x80\xa8", b"\xcc\x81" * 300, b"&#0;", b"&#xD800;", b"&#xFFFE;",
    b"&#x110000;", b"&undefined;", b"\\ud800", b"\\u-10179?", b"\\'", b"<!-- page 9 -->", b"]]>", b"<![CDATA[", b"--",
    b"%00", b"|", b"`" * 50, b"[](", b"../../../../etc/passwd", b"file:///etc/passwd", b"\\\\host\\share",
    b"=?utf-7?q?", b"=?x?b?", b"\r", b"\n\n", b"\t", b'"', b"'", b"<", b">", b"(", b")", b"\\", b"{", b"}",
    b" " * 1_000, b"x" * 20_000,
)  # fmt: skip
_NUMBER = re.compile(rb"-?\d{1,20}(?:\.\d{1,20})?")
_WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_:.-]{0,60}")
_ENCODINGS = ("utf-16", "utf-16-be", "utf-32", "cp1251", "koi8-r", "cp437", "utf-8-sig", "utf-7", "shift_jis")
_INTEGERS = ("<B", "<H", ">H", "<I", ">I", "<Q", ">Q")


def flipped(data: bytes, chance: Random) -> bytes:
    """A few bits are others."""
    changed = bytearray(data)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
    return bytes(changed)


def overwritten(data: bytes, chance: Random) -> bytes:
    """A few bytes are anything."""
    changed, length = bytearray(data), chance.choice((1, 2, 4, 16))
    place = chance.randrange(len(changed))
    changed[place : place + length] = chance.randbytes(length)
    return bytes(changed)


def with_edge(data: bytes, chance: Random) -> bytes:
    """A number of one to eight bytes, in either order, is one at the edge of what fits."""
    form = chance.choice(_INTEGERS)
    size = struct.calcsize(form)
    if len(data) < size:
        return data
    place = chance.randrange(len(data) - size + 1)
    number = chance.choice(EDGES) & ((1 << 8 * size) - 1)
    return data[:place] + struct.pack(form, number) + data[place + size :]


def truncated(data: bytes, chance: Random) -> bytes:
    """The end is missing, or the beginning."""
    place = chance.randrange(len(data))
    return data[:place] if chance.random() < 0.85 else data[place:]


def without_a_piece(data: bytes, chance: Random) -> bytes:
    """A piece is missing."""
    start = chance.randrange(len(data))
    return data[:start] + data[start + chance.choice((1, 2, 4, 16, 64, 512, 4096)) :]


def with_a_piece_again(data: bytes, chance: Random) -> bytes:
    """A piece is there again, elsewhere or many times."""
    start, length = chance.randrange(len(data)), chance.choice((1, 2, 4, 16, 64, 512))
    times = repeats(length, chance)
    place = start if times > 2 else chance.randrange(len(data))
    return data[:place] + data[start : start + length] * times + data[place:]


def repeats(length: int, chance: Random) -> int:
    """How often a piece is repeated: mostly a few times, now and then as often as a file may grow."""
    most = max(1, GROWN_BYTES_MAX // max(1, length))
    return min(most, chance.choices((1, 3, 50, 2_000, most), weights=(50, 25, 15, 7, 3))[0])


def with_another_number(data: bytes, chance: Random) -> bytes:
    """A number that is written in figures is another one."""
    return _replaced(data, _NUMBER, chance, NUMBERS)


def with_another_word(data: bytes, chance: Random) -> bytes:
    """A word is another one of the same file, or something that no word is."""
    found = _WORD.findall(data)
    return _replaced(data, _WORD, chance, found if found and chance.random() < 0.6 else WORDS)


def with_a_word_inside(data: bytes, chance: Random) -> bytes:
    """Something that parsers trip over, anywhere."""
    place = chance.randrange(len(data))
    return data[:place] + chance.choice(WORDS) + data[place:]


def in_another_encoding(data: bytes, chance: Random) -> bytes:
    """A text in letters of another encoding than it says."""
    text = data.decode("utf-8", "replace")
    return text.encode(chance.choice(_ENCODINGS), "replace")


def spliced(data: bytes, other: bytes, chance: Random) -> bytes:
    """The beginning of one file and the end of another, or a piece of the other in the middle."""
    place, start = chance.randrange(len(data)), chance.randrange(len(other))
    if chance.random() < 0.5:
        return data[:place] + other[start:]
    return data[:place] + other[start : start + chance.choice((16, 256, 4096))] + data[place:]


BYTES: Sequence[Change] = (
    flipped, overwritten, with_edge, with_edge, truncated, without_a_piece, with_a_piece_again,
)  # fmt: skip
TEXTS: Sequence[Change] = (
    with_another_number, with_another_number, with_another_word, with_another_word, with_a_word_inside,
    with_a_word_inside, without_a_piece, with_a_piece_again, flipped, truncated, in_another_encoding,
)  # fmt: skip


def _replaced(data: bytes, pattern: re.Pattern[bytes], chance: Random, choices: Sequence[bytes]) -> bytes:
    # From a random place on, so that not all of a long file is searched.
    start = chance.randrange(len(data))
    found = pattern.search(data, start) or pattern.search(data)
    return data if found is None else data[: found.start()] + chance.choice(choices) + data[found.end() :]
