"""Files that lie in documents: attachments of mail, files embedded in a PDF."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pypdfium2

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.archives.members import Damaged, Member, Obstacle, UnpackLimits, member
from webapp.readers.mail.message import Attachment, content
from webapp.readers.mail.read import attachments_of_mailbox, attachments_of_message
from webapp.readers.ole.container import Container
from webapp.readers.ole.message import attachments_of_outlook
from webapp.readers.pdf.pages import opened

MAIL_BYTES_MAX = 128 << 20


def mail_members(source: Path, _: UnpackLimits) -> Iterator[Member]:
    """The attachments of a message, and of those within it."""
    yield from (_attached(each) for each in attachments_of_message(_data(source)))


def mailbox_members(source: Path, _: UnpackLimits) -> Iterator[Member]:
    """The attachments of all messages of a mailbox, in a folder for each message."""
    for number, attachments in attachments_of_mailbox(_data(source)):
        yield from (_attached(each, f"{number}/") for each in attachments)


def outlook_members(source: Path, _: UnpackLimits) -> Iterator[Member]:
    """The attachments of a message of Outlook."""
    yield from (_attached(each) for each in attachments_of_outlook(Container(source)))


def pdf_members(source: Path, _: UnpackLimits) -> Iterator[Member]:
    """The files that are embedded in a PDF, as portfolios and electronic invoices do."""
    with opened(str(source)) as document:
        for number in range(document.count_attachments()):
            yield _embedded(document, number)


def _embedded(document: Any, number: int) -> Member:
    try:
        found = document.get_attachment(number)
        name, data = found.get_name(), bytes(found.get_data())
    except (pypdfium2.PdfiumError, ValueError, RuntimeError):
        return Member(f"{number + 1}", 0, tuple, obstacle=Obstacle.DAMAGED)
    return member(name or f"{number + 1}", len(data), lambda: [data])


def _attached(each: Attachment, folder: str = "") -> Member:
    path = f"{folder}{each.name}"
    if each.part is None:
        return Member(path, 0, tuple, obstacle=Obstacle.TOO_DEEP)
    part = each.part
    return member(path, each.size, lambda: [_content(content(part))])


def _content(data: bytes) -> bytes:
    if not data:
        raise Damaged
    return data


def _data(source: Path) -> bytes:
    if source.stat().st_size > MAIL_BYTES_MAX:
        raise BadInput(f"more than {MAIL_BYTES_MAX} bytes of mail", code=FailureCode.TOO_LARGE)
    return source.read_bytes().removeprefix(b"\xef\xbb\xbf").lstrip()
