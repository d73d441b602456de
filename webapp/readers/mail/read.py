"""The sandboxed jobs that read e-mail: one message, or a mailbox with each message as a page."""

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction, Field, Page
from webapp.readers.fields.find import OF_MAIL
from webapp.readers.fields.markdown import with_fields
from webapp.readers.mail.body import Mail, raw_text, read_mail
from webapp.readers.mail.message import PARTS_MAX, Attachment, Part, parse
from webapp.readers.markup.parse import RECURSION
from webapp.readers.page_markdown import assemble
from webapp.sandbox.child import Report

NAME = "local"
MESSAGES_MAX = 5_000
# The subject, and the lines under it.
HEAD_BLOCKS = 2
CUT = f"The message has more than {PARTS_MAX:,} parts, or parts too deep within others; the rest was not read."
MORE = "The mailbox holds {total:,} messages; the first {read:,} were read."
# A line that begins a message ends with its date, follows an empty one, and has headers after it; others in a
# text only look like one.
_FROM = re.compile(
    rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From [^\n]{1,200}?\d{4}(?: [+-]\d{4})?[ \t]{0,5}\r?\n(?=>?[!-9;-~]{1,100}:)"
)
_QUOTED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)


def parse_message(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the message at `source`; the answer is an Extraction as plain data."""
    data = _data(arguments)
    mail, is_whole = _mail(data)
    if not mail.fields and len(mail.blocks) == 1:
        raise BadInput("neither headers nor text", code=FailureCode.NO_TEXT)
    report.progress(0.9)
    return asdict(with_fields(_extraction(mail, is_whole=is_whole), OF_MAIL))


def extraction_of(message: Part, *, is_whole: bool) -> Extraction:
    """Read a message that something else has parsed."""
    return _extraction(read_mail(message), is_whole=is_whole)


def _extraction(mail: Mail, *, is_whole: bool) -> Extraction:
    return Extraction(
        extractor=NAME,
        version="",
        markdown=mail.markdown,
        title=mail.subject,
        fields=mail.fields,
        tables=tuple(mail.tables),
        partial=not is_whole,
        warnings=() if is_whole else (CUT,),
        parts=len(mail.attachments),
    )


def attachments_of_message(data: bytes) -> list[Attachment]:
    """What hangs on a message, and on those within it, in the order in which it is listed."""
    return _mail(data)[0].attachments


def attachments_of_mailbox(data: bytes) -> Iterator[tuple[int, list[Attachment]]]:
    """What hangs on each message of a mailbox, with the message's number, from 1."""
    for number, (mail, _) in enumerate(_mails(data, [*_places(data), len(data)]), 1):
        yield number, mail.attachments


def parse_mailbox(arguments: dict[str, object], report: Report) -> dict[str, Any]:
    """Read the mailbox at `source`; the answer is an Extraction as plain data."""
    data = _data(arguments)
    places = [*_places(data), len(data)]
    mails: list[Mail] = []
    total, whole = len(places) - 1, True
    for mail, is_whole in _mails(data, places):
        mails.append(mail)
        whole &= is_whole
        report.progress(0.95 * len(mails) / min(total, MESSAGES_MAX))
    pages = [mail.markdown for mail in mails]
    extraction = Extraction(
        extractor=NAME,
        version="",
        markdown=assemble(pages),
        pages=tuple(Page(number, text) for number, text in enumerate(pages, 1)),
        page_count=len(pages),
        title="" if total != 1 else mails[0].subject,
        fields=tuple(_on_page(mails)),
        tables=tuple(replace(each, page=number) for number, mail in enumerate(mails, 1) for each in mail.tables),
        partial=not whole or total > MESSAGES_MAX,
        warnings=(
            *([] if whole else [CUT]),
            *([MORE.format(total=total, read=len(mails))] if total > len(mails) else []),
        ),
        parts=sum(len(mail.attachments) for mail in mails),
    )
    return asdict(extraction)


def _mails(data: bytes, places: Sequence[int]) -> Iterator[tuple[Mail, bool]]:
    """The messages of a mailbox, as many as are read."""
    for start, end in islice(pairwise(places), MESSAGES_MAX):
        yield _mail(_QUOTED_FROM.sub(rb"\1", data[start:end]))


def _data(arguments: dict[str, object]) -> bytes:
    source, bytes_max = Path(str(arguments["source"])), int(str(arguments["bytes_max"]))
    if source.stat().st_size > bytes_max:
        raise BadInput(f"more than {bytes_max} bytes of mail", code=FailureCode.TOO_LARGE)
    data = source.read_bytes().removeprefix(b"\xef\xbb\xbf").lstrip()
    if not data:
        raise BadInput("nothing but white space", code=FailureCode.EMPTY)
    return data


def _mail(data: bytes) -> tuple[Mail, bool]:
    limit = sys.getrecursionlimit()
    parsed = parse(data)
    # Pages nest deeper than messages may: the parser of those has to meet its own limit.
    sys.setrecursionlimit(RECURSION)
    try:
        mail = read_mail(parsed.message)
    finally:
        sys.setrecursionlimit(limit)
    if not parsed.is_whole and len(mail.blocks) <= HEAD_BLOCKS:
        mail.blocks += raw_text(data)
    return mail, parsed.is_whole


def _places(data: bytes) -> Iterator[int]:
    """Where the messages of a mailbox begin."""
    places = [found.start() for found in _FROM.finditer(data)]
    yield from places or [0]


def _on_page(mails: list[Mail]) -> Iterator[Field]:
    for number, mail in enumerate(mails, 1):
        yield from (replace(each, page=number) for each in mail.fields)
