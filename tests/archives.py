"""Containers for tests: archives, mails and PDFs with files in them."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from email.message import EmailMessage

import pypdfium2

from tests import samples


def zipped(members: Mapping[str, bytes], *, compression: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A ZIP archive of these files."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name), data, compress_type=compression)
    return out.getvalue()


def encrypted_zip(members: Mapping[str, bytes], locked: str) -> bytes:
    """A ZIP archive in which one file is marked as encrypted."""
    data = bytearray(zipped(members, compression=zipfile.ZIP_STORED))
    for header, flags_at, name_at in ((b"PK\x03\x04", 6, 30), (b"PK\x01\x02", 8, 46)):
        start = data.find(header)
        while start >= 0:
            if data.startswith(locked.encode(), start + name_at):
                data[start + flags_at] |= 1
            start = data.find(header, start + 4)
    return bytes(data)


def tarred(members: Mapping[str, bytes], mode: str = "w", *, links: Mapping[str, str] | None = None) -> bytes:
    """A TAR archive of these files, and of symbolic links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        for name, leads_to in (links or {}).items():
            link = tarfile.TarInfo(name)
            link.type, link.linkname = tarfile.SYMTYPE, leads_to
            archive.addfile(link)
    return out.getvalue()


def mail(text: str, attachments: Mapping[str, bytes], subject: str = "The files") -> bytes:
    """An e-mail with attachments."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "ann@example.org", "bob@example.org", subject
    message["Date"] = "Thu, 19 Nov 2026 10:00:00 +0000"
    message.set_content(text)
    for name, data in attachments.items():
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return bytes(message)


def pdf_with_files(files: Mapping[str, bytes]) -> bytes:
    """A PDF of one page in which files are embedded."""
    document = pypdfium2.PdfDocument(samples.lines_pdf(["The invoice, with its data within."]))
    for name, data in files.items():
        document.new_attachment(name).set_data(data)
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()
