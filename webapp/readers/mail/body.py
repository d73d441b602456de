"""A parsed message -> Markdown: its headers, its newest text, what it answers, what hangs on it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from webapp.readers.cleaning import clean_text
from webapp.readers.extraction import Field, Table
from webapp.readers.mail.message import Attachment, Part, attachment, content, date, header, is_text, text_of
from webapp.readers.mail.quoted import markdown_of, newest_first
from webapp.readers.markup.writer import paragraph
from webapp.readers.page_markdown import without_marks
from webapp.readers.web.page import read_page

# What the parser lets through is never as deep.
DEPTH_MAX = 500
RAW_CHARACTERS_MAX = 200_000
MESSAGES_WITHIN_MAX = 5
ATTACHMENTS_LISTED_MAX = 200
# A plain part that is so much shorter than the HTML one says "look at this in a browser".
PLAIN_SHARE = 0.3
NO_SUBJECT = "(no subject)"
_SHOWN = ("From", "To", "Cc", "Date")


@dataclass
class Mail:
    """What was read out of one message."""

    subject: str | None
    fields: tuple[Field, ...] = ()
    blocks: list[str] = field(default_factory=list)
    attachments: list[Attachment] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)

    @property
    def markdown(self) -> str:
        return without_marks("\n\n".join(self.blocks))


def read_mail(message: Part, level: int = 1) -> Mail:
    """Read a message; those within it follow it, each under a heading of its own."""
    said = {name: date(message) if name == "Date" else header(message, name) for name in _SHOWN}
    mail = Mail(header(message, "Subject"))
    mail.fields = tuple(Field(name, value) for name, value in said.items() if value)
    if mail.subject:
        mail.fields += (Field("Subject", mail.subject),)
    mail.blocks.append(f"{'#' * min(level, 6)} {paragraph(mail.subject or NO_SUBJECT)}")
    mail.blocks += (
        [text] if (text := paragraph("\n".join(f"{one.name}: {one.value}" for one in mail.fields[:4]))) else []
    )
    reader = _Reader(mail, level)
    reader.read(message, 0)
    reader.list_attachments()
    for within in reader.within:
        _add_within(mail, within, level)
    return mail


def _add_within(mail: Mail, message: Part, level: int) -> None:
    if level > MESSAGES_WITHIN_MAX:
        mail.attachments.append(Attachment("a message within messages", "message/rfc822", 0))
        return
    inner = read_mail(message, level + 1)
    mail.blocks += inner.blocks
    mail.attachments += inner.attachments
    mail.tables += inner.tables


def raw_text(data: bytes) -> list[str]:
    """The content of a message whose parts can't be told apart, without the lines that part them."""
    _, _, body = data.replace(b"\r\n", b"\n").partition(b"\n\n")
    lines = clean_text(text_of(body[:RAW_CHARACTERS_MAX], None)).split("\n")
    return [text] if (text := markdown_of([line for line in lines if not line.startswith(("--", "Content-"))])) else []


class _Reader:
    """Goes through the parts of one message."""

    def __init__(self, mail: Mail, level: int) -> None:
        self.within: list[Part] = []
        self._mail = mail
        self._heading = "#" * min(level + 1, 6)

    def read(self, part: Part, depth: int = 0) -> None:
        """Read a part and those within."""
        kind, payload = part.get_content_type(), _payload(part)
        if kind == "message/rfc822" and payload:
            self.within.append(payload[0])
        elif kind == "message/delivery-status":
            said = "\n\n".join("\n".join(f"{name}: {value}" for name, value in each.items()) for each in payload)
            self._write(markdown_of(clean_text(said).split("\n")))
        elif kind == "multipart/alternative":
            self._read_one_of(payload, depth)
        elif payload and depth < DEPTH_MAX:
            for each in payload:
                self.read(each, depth + 1)
        elif is_text(part):
            self._write(*self._text(part))
        elif not payload:
            self._mail.attachments.append(attachment(part))

    def list_attachments(self) -> None:
        """Name what is not read."""
        if not self._mail.attachments:
            return
        listed = [
            f"- {paragraph(each.name)} ({paragraph(each.content_type)}, {_size(each.size)})"
            for each in self._mail.attachments[:ATTACHMENTS_LISTED_MAX]
        ]
        more = len(self._mail.attachments) - len(listed)
        self._write(f"{self._heading} Attachments", "\n".join([*listed, *([f"- and {more} more"] if more else [])]))

    def _read_one_of(self, parts: list[Part], depth: int) -> None:
        """The same text in several forms: the plain one, unless it is a mere hint at the other."""
        wanted = ("text/plain", "text/html")
        forms = [part for part in parts if is_text(part) and part.get_content_type() in wanted]
        nested = [part for part in parts if part.is_multipart()]
        written = [self._text(part) for part in forms]
        lengths = [len("".join(blocks)) for blocks in written]
        if lengths:
            is_enough = [length >= PLAIN_SHARE * max(lengths) for length in lengths]
            best = is_enough.index(True)
            # HTML together with its pictures comes as one part of several.
            if lengths[best] or not nested:
                self._write(*written[best])
                nested = []
        read = nested[-1:] if depth < DEPTH_MAX else []
        for part in read:
            self.read(part, depth + 1)
        # Some programs hang files on the form that is not read.
        others = chain(parts, *(_leaves(part) for part in parts if part.is_multipart() and part not in read))
        self._mail.attachments += [attachment(part) for part in others if not is_text(part) and not part.is_multipart()]

    def _text(self, part: Part) -> list[str]:
        heading = f"{self._heading} Earlier messages"
        text = clean_text(text_of(content(part), part.get_content_charset()))
        if part.get_content_type() == "text/html":
            page = read_page(text)
            self._mail.tables += page.tables
            return newest_first(page.markdown.split("\n"), heading, _joined)
        lines = _unfolded(text) if str(part.get_param("format")).lower() == "flowed" else text.split("\n")
        return newest_first(lines, heading, markdown_of)

    def _write(self, *blocks: str) -> None:
        self._mail.blocks += [block for block in blocks if block.strip()]


def _leaves(part: Part) -> Iterator[Part]:
    """The parts in a part that have none themselves; messages within it are left alone."""
    waiting = [part]
    while waiting:
        each = waiting.pop()
        if each.get_content_type() == "message/rfc822" or not each.is_multipart():
            yield each
        else:
            waiting += reversed(_payload(each))


def _payload(part: Part) -> list[Any]:
    # Asked for what is no list, it would decode a text by whatever codec that names.
    payload: Any = part.get_payload() if part.is_multipart() else []
    return list(payload)


def _joined(lines: Sequence[str]) -> str:
    return "\n".join(lines).strip()


def _unfolded(text: str) -> list[str]:
    """Lines that end with a space go on in the next one."""
    lines: list[str] = []
    goes_on = False
    for line in text.split("\n"):
        if goes_on and not line.startswith(">"):
            lines[-1] += line
        else:
            lines.append(line)
        goes_on = line.endswith(" ") and line != "-- "
    return lines


def _size(size: int) -> str:
    if size < 1_000:
        return f"{size} bytes"
    return f"{size / 1_000:.0f} kB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"
