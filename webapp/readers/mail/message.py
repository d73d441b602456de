"""A message as its bytes say -> headers, text and parts, within limits, whatever it was made of.

`email` of the standard library does the parsing, under a policy of ours: it keeps headers as they came, cuts those that
would take for ever to take apart, and stops a message that has more parts than anybody sends.
"""

from dataclasses import dataclass
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from email.parser import BytesParser
from email.policy import Compat32
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeAlias

from webapp.provider_errors import BadInput
from webapp.readers.cleaning import clean_line
from webapp.readers.encoding import codec_named, decode

HEADER_CHARACTERS_MAX = 100_000
# How much is split up: nobody writes more recipients than this, and each takes its time.
SHOWN_CHARACTERS_MAX = 10_000
STRUCTURED_CHARACTERS_MAX = 4_000
PARTS_MAX = 2_000
_STRUCTURED = {"content-type", "content-disposition", "content-transfer-encoding"}

Part: TypeAlias = "Message[str, str]"


class _TooManyParts(Exception):
    """More parts than are read."""


class _Policy(Compat32):
    """Headers as they came, and not longer than can be read in time."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        most = STRUCTURED_CHARACTERS_MAX if name.lower() in _STRUCTURED else HEADER_CHARACTERS_MAX
        return name[:most], value[:most]

    def header_fetch_parse(self, name: str, value: str) -> str:
        return value


@dataclass(frozen=True)
class Parsed:
    """A message, and whether all of it was read."""

    message: Part
    is_whole: bool


class Attachment(NamedTuple):
    """A part that is no text of the message itself; without `part` it lies too deep to be looked at."""

    name: str
    content_type: str
    size: int
    part: "Part | None" = None


def parse(data: bytes) -> Parsed:
    """Parse a message. Of one that has too many parts, or too deep ones, those before that."""
    made: list[Part] = []

    def part(policy: Any = None) -> Part:
        if len(made) > PARTS_MAX:
            raise _TooManyParts
        made.append(Message(policy))
        return made[-1]

    policy = _Policy(message_factory=part)
    try:
        # The root is the first that is made; what hangs on it already stays when the rest is given up.
        return Parsed(BytesParser(policy=policy).parsebytes(data), is_whole=True)
    except (_TooManyParts, RecursionError):
        return Parsed(made[0], is_whole=False)


def header(message: Part, name: str) -> str | None:
    """A header as people read it, on one line; all of them where it is there more than once."""
    values = [shown for value in message.get_all(name, ()) if (shown := _shown(value[:SHOWN_CHARACTERS_MAX]))]
    return ", ".join(values) or None


def date(message: Part) -> str | None:
    """When it was sent, in the form that sorts; unchanged where it has another form."""
    said = header(message, "Date")
    if said is None or len(said) > 100:
        return said and said[:100]
    try:
        return parsedate_to_datetime(said).isoformat(" ", "minutes")
    except (ValueError, TypeError, IndexError, OverflowError):
        return said


def _shown(value: str) -> str | None:
    """The characters that encoded words mean; bytes that name no encoding are guessed."""
    try:
        pieces = decode_header(value) if "=?" in value else [(value, None)]
    except (HeaderParseError, ValueError):
        pieces = [(value, None)]
    return clean_line("".join(_characters(piece, charset) for piece, charset in pieces), SHOWN_CHARACTERS_MAX)


def _characters(piece: str | bytes, charset: str | None) -> str:
    if isinstance(piece, str):
        piece = piece.encode("utf-8", "surrogateescape")
    codec = codec_named(charset)
    if codec:
        return piece.decode(codec, "replace")
    return text_of(piece, None)


def text_of(data: bytes, charset: str | None) -> str:
    """The characters of a part of text, whatever it holds."""
    try:
        return decode(data, charset).text
    except BadInput:
        # It is text because it says so; what makes it look otherwise is cleaned away later.
        return data.decode(codec_named(charset) or "latin-1", "replace")


def is_text(part: Part) -> bool:
    """Whether a part is what the message says, and not something that hangs on it."""
    return (
        part.get_content_type() in {"text/plain", "text/html"}
        and part.get_content_disposition() != "attachment"
        and not _filename(part)
    )


def content(part: Part) -> bytes:
    """The bytes of a part."""
    try:
        data = part.get_payload(decode=True)
    except (ValueError, LookupError, AssertionError):
        data = None
    return data if isinstance(data, bytes) else b""


def attachment(part: Part) -> Attachment:
    """What is told of a part that is not read."""
    kind = part.get_content_type()
    name = _filename(part) or "without a name"
    return Attachment(name, clean_line(kind, 100) or "unknown", len(content(part)), part)


def _filename(part: Part) -> str | None:
    try:
        name = part.get_filename()
    except (ValueError, LookupError, TypeError):
        return None
    return clean_line(_shown(name), 200) if name else None
