"""Bytes of a text file -> its characters: by its mark, by what it says of itself, or by a guess that is told."""

import codecs
from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.cleaning import BOMS, looks_binary, unmarked_utf16

GUESSED = "We guessed the encoding ({encoding}). If letters look wrong, save the file as UTF-8 and upload it again."
SAMPLE_BYTES = 100_000
# A few letters in an otherwise plain text may be anything; then western Europe is the best guess.
CONFIDENCE_MIN = 0.05
WESTERN = "cp1252"
# What texts are written in. Others, such as the code pages of DOS for Arabic, are only ever found by mistake.
_LIKELY = (
    "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be", *(f"cp125{number}" for number in range(9)),
    "iso-8859-2", "iso-8859-5", "iso-8859-7", "iso-8859-9", "iso-8859-15", "koi8-r", "koi8-u", "cp866", "cp850",
    "cp852", "mac-roman", "mac-cyrillic", "gb18030", "big5", "cp932", "euc-jp", "iso-2022-jp", "cp949", "cp874",
)  # fmt: skip
# What browsers and mail programs mean by these names, and one that isn't known to Python.
_MEANT = {"iso8859-1": WESTERN, "ascii": WESTERN, "latin-1": WESTERN, "gb2312": "gb18030", "gbk": "gb18030"}
# Codecs that are no encodings of texts, or that take more than linear time.
_NOT_FOR_TEXT = {"idna", "punycode", "unicode-escape", "raw-unicode-escape", "utf-7", "undefined", "mbcs", "oem"}


class Decoded(NamedTuple):
    """A text, the encoding that it was read in, and whether that was a guess."""

    text: str
    encoding: str
    is_guess: bool = False

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a reader should know of it."""
        return (GUESSED.format(encoding=self.encoding),) if self.is_guess else ()


def decode(data: bytes, declared: str | None = None) -> Decoded:
    """Decode a text; BadInput for what is none.

    A byte order mark decides; then UTF-8, which hardly any other text happens to be; then what the text says of
    itself (`declared`), where it can be read so; then the likeliest of the encodings in use.
    """
    for mark, encoding in BOMS:
        if data.startswith(mark):
            return Decoded(data[len(mark) :].decode(encoding, "replace"), encoding)
    if unmarked := unmarked_utf16(data[:SAMPLE_BYTES]):
        return Decoded(data.decode(unmarked, "replace"), unmarked)
    if looks_binary(data):
        raise BadInput("the content is not text", code=FailureCode.UNSUPPORTED)
    codec = codec_named(declared)
    # Its texts are made of ASCII, and so of UTF-8.
    encodings = ("utf-8", codec) if codec and not codec.startswith("iso2022") else (codec, "utf-8")
    for known in filter(None, encodings):
        with suppress(UnicodeDecodeError):
            return Decoded(data.decode(known), known)
    return _guessed(data)


def codec_named(name: str | None) -> str | None:
    """The codec that a text means by the name of an encoding; None where that is none."""
    name = (name or "").strip().strip("'\"").lower().replace("windows-9", "cp9")
    try:
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return None if codec.replace("_", "-") in _NOT_FOR_TEXT or not _makes_text(codec) else _MEANT.get(codec, codec)


def _makes_text(codec: str) -> bool:
    try:
        b"a".decode(codec, "replace")
    except LookupError:
        return False
    return True


def _guessed(data: bytes) -> Decoded:
    for encoding in _guesses(data):
        with suppress(UnicodeDecodeError):
            return Decoded(data.decode(encoding), encoding, is_guess=True)
    return Decoded(data.decode("latin-1"), "latin-1", is_guess=True)


def _guesses(data: bytes) -> Iterator[str]:
    import chardet  # noqa: PLC0415 - 40 MB that a text in UTF-8 does without

    found = chardet.detect(
        _telling(data), include_encodings=_LIKELY, prefer_superset=True, compat_names=False, max_bytes=SAMPLE_BYTES
    )
    encoding, confidence = found["encoding"], found["confidence"]
    if encoding and confidence >= CONFIDENCE_MIN:
        yield encoding
    yield WESTERN
    if encoding:
        yield encoding


def _telling(data: bytes) -> bytes:
    """The part of a text that begins shortly before its first letter beyond ASCII."""
    if len(data) <= SAMPLE_BYTES:
        return data
    try:
        data.decode("ascii")
    except UnicodeDecodeError as error:
        start = max(0, error.start - 1000)
        return data[start : start + SAMPLE_BYTES]
    return data[:SAMPLE_BYTES]
