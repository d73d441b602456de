"""Recognises a file by its first bytes, since its name may be wrong."""

import re
from codecs import getincrementaldecoder
from struct import unpack_from
from typing import NamedTuple

from webapp.readers.cleaning import BOMS, looks_binary, unmarked_utf16
from webapp.readers.filetypes import (
    CSV,
    DOC,
    EPUB,
    FILE_TYPES,
    HTML,
    MAIL,
    MAILBOX,
    MARKDOWN,
    MSG,
    OCTETS,
    OFFICE,
    OLE,
    OPEN,
    PACKAGE,
    PDF,
    PLAIN,
    PPT,
    TSV,
    XLS,
    XML,
    ZIP,
    FileType,
    filetype,
    promised_by,
)

# Printers and mail programs put a little before a PDF's header, and its readers look this far for it.
PDF_HEADER_WITHIN = 1024
HEAD_BYTES = 8192
# The beginnings of files whose kind is given at their eighth byte.
_IN_CHUNKS = (b"RIFF", b"RIFX", b"RF64", b"BW64", b"FORM")
# Three headers in a row, of those that mail begins with.
_MAIL = re.compile(
    rb"(?:(?:Received|Return-Path|From|To|Cc|Subject|Date|Message-ID|MIME-Version|Delivered-To|Reply-To|In-Reply-To"
    rb"|References|DKIM-Signature|Content-Type|X-[A-Za-z-]{1,60}|ARC-[A-Za-z-]{1,40}|Authentication-Results)"
    rb":[^\n]*\n(?:[ \t][^\n]*\n)*){3}",
    re.IGNORECASE,
)
_HEADER = re.compile(rb"[!-9;-~]{1,76}:[^\n]*\n")
_MAILBOX = re.compile(rb"From [^\n]{1,200}?\d{4}(?: [+-]\d{4})?[ \t]{0,5}\r?\n>?[!-9;-~]{1,76}:")
_PDF_BEGINS = re.compile(rb"(?:\xef\xbb\xbf)?[\s\0]*+%PDF-")
_PDF_ON_A_LINE = re.compile(rb"(?<=[\r\n\0])%PDF-\d")
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_ELEMENT = re.compile(rb"<[!A-Za-z_][^<>]{0,1000}+>")
_BY_NAME, _OTHER_TEXT = {MARKDOWN, CSV, TSV}, {XML, MAIL, MAILBOX}
_MARKS = tuple((offset, mark, each) for each in FILE_TYPES for offset, mark in each.marks)
# Encrypted documents of new Office versions lie in the container of the old ones, which have these streams.
_OLD_STREAMS = {
    name.encode("utf-16-le"): content_type
    for name, content_type in {
        "WordDocument": DOC, "PowerPoint Document": PPT, "__properties_version1.0": MSG, "Workbook": XLS,
    }.items()
}  # fmt: skip
# Members that every document has; their names may come first where the telling ones do not.
_OFFICE_MEMBERS = (b"[content_types].xml", b"_rels/", b"docprops/", b"customxml/")
_OPEN_MEMBERS = (
    b"content.xml",
    b"styles.xml",
    b"meta.xml",
    b"settings.xml",
    b"meta-inf/manifest.xml",
    b"configurations2/",
)
_PACKED_BY_PROGRAMS = (
    b"[content_types].xml",
    b"_rels/.rels",
    b"mimetype",
    b"meta-inf/",
    b"androidmanifest.xml",
    b"index/document.iwa",
)
_LOCAL_HEADER, _LOCAL_HEADER_BYTES = b"PK\x03\x04", 30
_SIZE_FOLLOWS, _SIZE_ELSEWHERE, _DESCRIPTOR_BYTES_MAX = 0x8, 0xFFFFFFFF, 24
_MEMBERS = tuple((member, each) for each in FILE_TYPES for member in each.members)


def sniff(head: bytes, filename: str) -> FileType:
    """Say what a file is by its first `HEAD_BYTES`; the name decides only between kinds of text."""
    if not head:
        return filetype("application/x-empty")
    # Containers come first: what is inside, perhaps a PDF, says nothing about the whole.
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _container(head, filename)
    for offset, mark, found in _MARKS:
        if head.startswith(mark, offset) and not _is_prose(mark, offset, head):
            return _locked(head, filename) if found.content_type == OLE else found
    if _is_pdf(head, filename):
        return filetype(PDF)
    return _frames(head) or _text(head, filename)


def mismatch(filename: str, content_type: str) -> bool:
    """Say whether a text has the name of something that is no text: of a PDF, a picture, an archive.

    A text under the name of another kind of text is no lie: a page that a program calls a table is read as a page.
    """
    promised = promised_by(filename)
    return content_type.startswith("text/") and promised is not None and not _is_text(promised)


def _is_text(content_type: str) -> bool:
    return content_type.startswith("text/") or content_type in _OTHER_TEXT


def _container(head: bytes, filename: str) -> FileType:
    members = _members(head)
    names = [member.name for member in members]
    said = b" ".join(member.begins for member in members if member.name == b"mimetype")
    for member, found in _MEMBERS:
        told = any(name.startswith(member) for name in names) if member.endswith(b"/") else member in said
        if told or member.lower() in names:
            return found
    promised = promised_by(filename) or ""
    # Some writers put the members that tell a document's type at its end.
    for start, usual in ((OFFICE, _OFFICE_MEMBERS), (OPEN, _OPEN_MEMBERS)):
        if promised.startswith(start) and any(name.startswith(usual) for name in names):
            return filetype(promised)
    # Whatever its first member is: one that is no book is found out when it is read.
    if promised == EPUB:
        return filetype(EPUB)
    # What a program packs for itself is one file to people, who would not know its parts.
    return filetype(PACKAGE if any(name.startswith(_PACKED_BY_PROGRAMS) for name in names) else ZIP)


class _Member(NamedTuple):
    """A member of a zip container: its name as it ought to be written, and what it holds, as far as it is known."""

    name: bytes
    begins: bytes


def _members(head: bytes) -> list[_Member]:
    """The members that begin within a file's head; the last may be cut.

    Not those of a document that lies in the container as it is: what it holds says nothing about the whole.
    """
    found = []
    start = head.find(_LOCAL_HEADER)
    while start >= 0 and len(head) >= start + _LOCAL_HEADER_BYTES:
        flags, size, name_bytes, more_bytes = unpack_from("<6xH10xL4xHH", head, start)
        begins = start + _LOCAL_HEADER_BYTES
        data = begins + name_bytes + more_bytes
        # Where its size follows it, the next member is looked for.
        end = head.find(_LOCAL_HEADER, data) if flags & _SIZE_FOLLOWS and size in {0, _SIZE_ELSEWHERE} else data + size
        name = head[begins : begins + name_bytes].replace(b"\\", b"/").lower()
        found.append(_Member(name, head[data : end if end >= 0 else len(head)]))
        # Some writers tell the size twice, and the second time behind the member.
        start = head.find(_LOCAL_HEADER, end, end + _DESCRIPTOR_BYTES_MAX + 4) if end >= 0 else -1
    return found


def _locked(head: bytes, filename: str) -> FileType:
    """What an old container is, by its streams, or else its name: a new document in it is locked by a password."""
    for stream, content_type in _OLD_STREAMS.items():
        if stream in head:
            return filetype(content_type)
    promised = promised_by(filename) or ""
    return filetype(promised if promised.startswith(OFFICE) or filetype(promised).is_old else OLE)


def _is_pdf(head: bytes, filename: str) -> bool:
    """Whether a PDF's header is where its readers look for it, and not just in a text that mentions it."""
    near = head[:PDF_HEADER_WITHIN]
    if _PDF_BEGINS.match(near):
        return True
    found = _PDF_ON_A_LINE.search(near)
    if found is None:
        return False
    if looks_binary(head) or promised_by(filename) == PDF:
        return True
    # Objects behind the header, and bytes that are no text in any file of today.
    return b" obj" in head[found.end() :] and not _is_utf8(head)


def _is_utf8(head: bytes) -> bool:
    """Whether this begins a text in UTF-8; its last character may be cut."""
    try:
        getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return False
    return True


def _text(head: bytes, filename: str) -> FileType:
    marked = any(head.startswith(mark) for mark, _ in BOMS)
    if not marked and not unmarked_utf16(head) and looks_binary(head):
        return filetype(OCTETS)
    body = _after_comments(head.removeprefix(b"\xef\xbb\xbf"))
    if found := _markup(body, promised_by(filename)):
        return found
    if found := _mail(body, promised_by(filename)):
        return found
    # Whether a text is a table, its commas don't tell: many a sentence has some.
    promised = promised_by(filename)
    return filetype(promised if promised in _BY_NAME else PLAIN)


def _mail(body: bytes, promised: str | None) -> FileType | None:
    if _MAILBOX.match(body):
        return filetype(MAILBOX)
    if _MAIL.match(body) or (promised == MAIL and _HEADER.match(body)):
        return filetype(MAIL)
    return None


def _markup(body: bytes, promised: str | None) -> FileType | None:
    is_declared = body.startswith(b"<?xml")
    inner = _after_comments(body.partition(b"?>")[2]) if is_declared else body
    if _HTML.match(inner):
        return filetype(HTML)
    if body.startswith(b"<svg") or (is_declared and b"<svg" in body):
        return filetype("image/svg+xml")
    if is_declared:
        return filetype(XML)
    # A part of a page, or a file that does without the declaration: many a text has tags.
    if promised == HTML and _ELEMENT.search(body):
        return filetype(HTML)
    return filetype(XML) if promised == XML and _ELEMENT.match(body) else None


def _after_comments(body: bytes) -> bytes:
    # A loop, because a pattern for "any number of comments" can be made to search for ever.
    body = body.lstrip()
    while body.startswith(b"<!--") and (end := body.find(b"-->")) >= 0:
        body = body[end + 3 :].lstrip()
    return body


def _is_prose(mark: bytes, offset: int, head: bytes) -> bool:
    """Say whether a mark made of letters only may just be how a text begins ("BMW", "The big WAVE", "The ftyp box")."""
    if offset == 8:
        return not head.startswith(_IN_CHUNKS)
    return (offset == 4 or mark in {b"BM", b"MZ", b"ID3", b"BZh"}) and not looks_binary(head[:512])


def _frames(head: bytes) -> FileType | None:
    """Sound that begins without a header of its own."""
    if _is_mp3_frame(head):
        return filetype("audio/mpeg")
    if _is_aac_frame(head):
        return filetype("audio/aac")
    return None


def _is_mp3_frame(head: bytes) -> bool:
    # 11 set bits, then a version and layer that exist; UTF-16's mark FF FE is ruled out by them.
    return len(head) > 2 and head[0] == 0xFF and head[1] in {0xFB, 0xF3, 0xF2, 0xFA}


def _is_aac_frame(head: bytes) -> bool:
    # 12 set bits, layer 0, and a sampling rate that exists.
    return len(head) > 6 and head[0] == 0xFF and head[1] in {0xF0, 0xF1, 0xF8, 0xF9} and (head[2] >> 2 & 15) < 13
