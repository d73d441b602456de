"""What a file is, by its first bytes: names lie, and a refusal should name what came."""

import re
from dataclasses import dataclass
from pathlib import PurePosixPath

from webapp.providers.text import BOMS, looks_binary

PDF, PLAIN, MARKDOWN = "application/pdf", "text/plain", "text/markdown"
EPUB = "application/epub+zip"
OCTETS = "application/octet-stream"
ZIP = "application/zip"
# Writers may put a little before a PDF's mark, and readers look this far for it.
PDF_MARK_WITHIN = 1024
HEAD_BYTES = 8192
OFFICE = "application/vnd.openxmlformats-officedocument."
OPEN = "application/vnd.oasis.opendocument."


@dataclass(frozen=True, slots=True)
class Sniffed:
    """A content type and the name that people know it by."""

    content_type: str
    label: str


_SIGNATURES: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png", "PNG image"),
    (0, b"\xff\xd8\xff", "image/jpeg", "JPEG image"),
    (0, b"GIF87a", "image/gif", "GIF image"),
    (0, b"GIF89a", "image/gif", "GIF image"),
    (0, b"II*\0", "image/tiff", "TIFF image"),
    (0, b"MM\0*", "image/tiff", "TIFF image"),
    (8, b"WEBP", "image/webp", "WebP image"),
    (0, b"BM", "image/bmp", "BMP image"),
    (8, b"WAVE", "audio/wav", "WAV recording"),
    (8, b"AVI ", "video/x-msvideo", "AVI video"),
    (0, b"OggS", "audio/ogg", "Ogg recording"),
    (0, b"fLaC", "audio/flac", "FLAC recording"),
    (0, b"ID3", "audio/mpeg", "MP3 recording"),
    (0, b"#!AMR", "audio/amr", "AMR recording"),
    (8, b"AIFF", "audio/aiff", "AIFF recording"),
    (8, b"AIFC", "audio/aiff", "AIFF recording"),
    (4, b"ftypM4A", "audio/mp4", "M4A recording"),
    (4, b"ftypM4B", "audio/mp4", "M4A recording"),
    (4, b"ftypqt", "video/quicktime", "QuickTime video"),
    (4, b"ftyphei", "image/heic", "HEIC image"),
    (4, b"ftyp", "video/mp4", "MP4 video"),
    (0, b"\x1aE\xdf\xa3", "video/x-matroska", "Matroska or WebM video"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "application/x-ole-storage", "old Office file"),
    (0, b"{\\rtf", "application/rtf", "RTF document"),
    (0, b"%!PS", "application/postscript", "PostScript file"),
    (0, b"AT&TFORM", "image/vnd.djvu", "DjVu document"),
    (0, b"7z\xbc\xaf'\x1c", "application/x-7z-compressed", "7-Zip archive"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar", "RAR archive"),
    (0, b"\x1f\x8b", "application/gzip", "gzip archive"),
    (0, b"BZh", "application/x-bzip2", "bzip2 archive"),
    (0, b"\xfd7zXZ\0", "application/x-xz", "xz archive"),
    (257, b"ustar", "application/x-tar", "tar archive"),
    (0, b"SQLite format 3\0", "application/vnd.sqlite3", "SQLite database"),
    (0, b"\x7fELF", "application/x-executable", "program"),
    (0, b"MZ", "application/vnd.microsoft.portable-executable", "Windows program"),
)

# Names of members that tell one kind of zip container from another, in the order of trust.
_CONTAINERS: tuple[tuple[bytes, str, str], ...] = (
    (EPUB.encode(), EPUB, "EPUB book"),
    (OPEN.encode() + b"text", OPEN + "text", "OpenDocument text"),
    (OPEN.encode() + b"spreadsheet", OPEN + "spreadsheet", "OpenDocument spreadsheet"),
    (OPEN.encode() + b"presentation", OPEN + "presentation", "OpenDocument presentation"),
    (b"word/", OFFICE + "wordprocessingml.document", "Word document"),
    (b"xl/", OFFICE + "spreadsheetml.sheet", "Excel workbook"),
    (b"ppt/", OFFICE + "presentationml.presentation", "PowerPoint presentation"),
    # Books that were packed again, and say not in their first member what they are.
    (b"META-INF/container.xml", EPUB, "EPUB book"),
)
# For Office files whose first members do not say which: some writers put them at the end.
_OFFICE_BY_NAME = {
    ".docx": _CONTAINERS[4],
    ".xlsx": _CONTAINERS[5],
    ".pptx": _CONTAINERS[6],
}
_MAIL = re.compile(
    rb"(?:(?:Received|Return-Path|From|To|Subject|Date|Message-ID|MIME-Version):[^\n]*\n(?:[ \t][^\n]*\n)*){3}",
    re.IGNORECASE,
)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_MARKDOWN_NAMES = (".md", ".markdown", ".mdown", ".mkd")
_EXPECTED = {
    ".pdf": PDF,
    ".txt": PLAIN,
    ".text": PLAIN,
    ".log": PLAIN,
    **dict.fromkeys(_MARKDOWN_NAMES, MARKDOWN),
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".html": "text/html",
    ".htm": "text/html",
    **{name: content_type for name, (_, content_type, _) in _OFFICE_BY_NAME.items()},
    ".zip": ZIP,
    # Among others so that a playlist, which is text, is not taken for what its name says.
    **dict.fromkeys((".mp3", ".mp2"), "audio/mpeg"),
    **dict.fromkeys((".m4a", ".m4b"), "audio/mp4"),
    **dict.fromkeys((".ogg", ".oga", ".opus"), "audio/ogg"),
    **dict.fromkeys((".wav", ".wave"), "audio/wav"),
    **dict.fromkeys((".mkv", ".webm"), "video/x-matroska"),
    **dict.fromkeys((".mp4", ".m4v", ".3gp"), "video/mp4"),
    **dict.fromkeys((".aif", ".aiff"), "audio/aiff"),
    ".flac": "audio/flac",
    ".amr": "audio/amr",
    ".aac": "audio/aac",
    ".mov": "video/quicktime",
    ".avi": "video/x-msvideo",
}


def sniff(head: bytes, filename: str) -> Sniffed:
    """Say what a file is by its first `HEAD_BYTES`; the name decides only between kinds of text."""
    if not head:
        return Sniffed("application/x-empty", "empty file")
    if b"%PDF-" in head[:PDF_MARK_WITHIN]:
        return Sniffed(PDF, "PDF document")
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _container(head, filename)
    for offset, mark, content_type, label in _SIGNATURES:
        if head.startswith(mark, offset) and not _is_prose(mark, head):
            return Sniffed(content_type, label)
    return _frames(head) or _text(head, filename)


def mismatch(filename: str, content_type: str) -> bool:
    """Say whether a name's ending promises something else than the content is."""
    expected = _EXPECTED.get(_ending(filename))
    readable_text = {PLAIN, MARKDOWN}
    return expected is not None and expected != content_type and not {expected, content_type} <= readable_text


def _container(head: bytes, filename: str) -> Sniffed:
    for mark, content_type, label in _CONTAINERS:
        if mark in head:
            return Sniffed(content_type, label)
    if b"[Content_Types].xml" in head and _ending(filename) in _OFFICE_BY_NAME:
        _, content_type, label = _OFFICE_BY_NAME[_ending(filename)]
        return Sniffed(content_type, label)
    # Whatever its first member is: one that is no book is found out when it is read.
    return Sniffed(EPUB, "EPUB book") if _ending(filename) == ".epub" else Sniffed(ZIP, "ZIP archive")


def _text(head: bytes, filename: str) -> Sniffed:
    marked = any(head.startswith(mark) for mark, _ in BOMS)
    if not marked and looks_binary(head):
        return Sniffed(OCTETS, "file of an unknown kind")
    body = _after_comments(head.removeprefix(b"\xef\xbb\xbf"))
    if found := _markup(body):
        return found
    if _MAIL.match(body):
        return Sniffed("message/rfc822", "e-mail")
    if _ending(filename) in _MARKDOWN_NAMES:
        return Sniffed(MARKDOWN, "Markdown text")
    return Sniffed(PLAIN, "plain text")


def _markup(body: bytes) -> Sniffed | None:
    if _HTML.match(body):
        return Sniffed("text/html", "HTML page")
    if body.startswith(b"<svg") or (body.startswith(b"<?xml") and b"<svg" in body):
        return Sniffed("image/svg+xml", "SVG image")
    if body.startswith(b"<?xml"):
        return Sniffed("application/xml", "XML file")
    return None


def _after_comments(body: bytes) -> bytes:
    # A loop, because a pattern for "any number of comments" can be made to search for ever.
    body = body.lstrip()
    while body.startswith(b"<!--") and (end := body.find(b"-->")) >= 0:
        body = body[end + 3 :].lstrip()
    return body


def _is_prose(mark: bytes, head: bytes) -> bool:
    """Say whether a mark made of letters only may just be how a text begins ("BMW", "MZ…")."""
    return mark in {b"BM", b"MZ", b"ID3", b"BZh"} and not looks_binary(head[:512])


def _frames(head: bytes) -> Sniffed | None:
    """Sound that begins without a header of its own."""
    if _is_mp3_frame(head):
        return Sniffed("audio/mpeg", "MP3 recording")
    if _is_aac_frame(head):
        return Sniffed("audio/aac", "AAC recording")
    return None


def _is_mp3_frame(head: bytes) -> bool:
    # 11 set bits, then a version and layer that exist; UTF-16's mark FF FE is ruled out by them.
    return len(head) > 2 and head[0] == 0xFF and head[1] in {0xFB, 0xF3, 0xF2, 0xFA}


def _is_aac_frame(head: bytes) -> bool:
    # 12 set bits, layer 0, and a sampling rate that exists.
    return len(head) > 6 and head[0] == 0xFF and head[1] in {0xF0, 0xF1, 0xF8, 0xF9} and (head[2] >> 2 & 15) < 13


def _ending(filename: str) -> str:
    return PurePosixPath(filename.replace("\\", "/")).suffix.lower()
