"""Every type of file that is known, one row each: how it is recognised, what people call it, and what reads it here.

A service may read types that have no reader on this machine: `Providers.accepts` says what is read.
"""

from dataclasses import dataclass
from pathlib import PurePosixPath

PDF, PLAIN, MARKDOWN = "application/pdf", "text/plain", "text/markdown"
EPUB, ZIP, OCTETS = "application/epub+zip", "application/zip", "application/octet-stream"
TAR, GZIP, BZIP2, XZ = "application/x-tar", "application/gzip", "application/x-bzip2", "application/x-xz"
SEVEN_ZIP, RAR = "application/x-7z-compressed", "application/vnd.rar"
TNEF = "application/ms-tnef"
PACKAGE = "application/x-package"
OFFICE = "application/vnd.openxmlformats-officedocument."
HTML, XML = "text/html", "application/xml"
CSV, TSV = "text/csv", "text/tab-separated-values"
MAIL, MAILBOX = "message/rfc822", "application/mbox"
OPEN = "application/vnd.oasis.opendocument."
OLE, RTF = "application/x-ole-storage", "application/rtf"
DOC, XLS, PPT = "application/msword", "application/vnd.ms-excel", "application/vnd.ms-powerpoint"
MSG = "application/vnd.ms-outlook"
_PICTURES, _SOUND, _ARCHIVES = "pictures of pages", "recordings", "archives"
MAIL_FAMILY = "mail"
# What a file is to people, by its group; whatever else is read is text.
_FAMILIES = {
    "EPUB": "book",
    "Excel": "spreadsheet",
    "CSV tables": "spreadsheet",
    "PowerPoint": "slides",
    "e-mail": MAIL_FAMILY,
    _PICTURES: "picture",
    _SOUND: "recording",
    _ARCHIVES: "archive",
}
_OPEN_FAMILIES = {OPEN + "spreadsheet": "spreadsheet", OPEN + "presentation": "slides"}
_TEXT = "webapp.readers.text:parse_text"
_MAIL = "webapp.readers.mail.read:"
_DATA = "webapp.readers.data.read:"
_WEB = "webapp.readers.web.read:"
_OLD = "webapp.readers.ole.read:parse_ole"
_ARCHIVE = "webapp.readers.archives.read:parse_archive"
_DOCUMENT, _RICH_TEXT = "webapp.readers.office.read:parse_office", "webapp.readers.office.rtf:parse_rtf"


@dataclass(frozen=True, slots=True)
class FileType:
    """A content type and all that is known of it."""

    content_type: str
    label: str
    """What people call one such file, in a sentence."""
    endings: tuple[str, ...] = ()
    """Ends of names that promise it, the usual one first."""
    marks: tuple[tuple[int, bytes], ...] = ()
    """Bytes that it begins with, and where they are."""
    members: tuple[bytes, ...] = ()
    """What tells it from other zip containers: a word in its first member, or the folder that its members are in."""
    group: str = ""
    """What the pages call all files of this sort, where they say what is read here; empty where nobody reads it."""
    reader: str = ""
    """The function that reads it in the sandbox."""
    demuxer: str = ""
    """The one demuxer of FFmpeg that may read it."""

    @property
    def is_archive(self) -> bool:
        """Whether other files lie in it."""
        return self.label.endswith(" archive")

    @property
    def is_picture(self) -> bool:
        """Whether it is a picture of pages, which OCR reads."""
        return self.group == _PICTURES

    @property
    def is_old(self) -> bool:
        """Whether it is a file of an old Office version or of Outlook, of which not all can be read."""
        return self.reader == _OLD

    @property
    def family(self) -> str | None:
        """What such a file is to people; None where nobody reads it."""
        if not self.group:
            return None
        return _OPEN_FAMILIES.get(self.content_type) or _FAMILIES.get(self.group, "text")

    @property
    def badge(self) -> str:
        """A few letters for the corner of a file."""
        return self.endings[0].removeprefix(".").upper() if self.endings else "FILE"


# The second is for books that were packed again, and say not in their first member what they are.
_BOOK = (EPUB.encode(), b"META-INF/container.xml")

# The order is that of the marks: "ftypM4A" before "ftyp". No demuxer is ever guessed: of those that FFmpeg has, some
# follow addresses in the file (HLS, concat, DASH), and neither a name nor a first line must choose one of them.
FILE_TYPES = (
    FileType(PDF, "PDF document", (".pdf",), group="PDF", reader="webapp.readers.pdf.read:parse_pdf"),
    FileType(EPUB, "EPUB book", (".epub",), members=_BOOK, group="EPUB", reader="webapp.readers.epub.read:parse_epub"),
    FileType(
        OFFICE + "wordprocessingml.document",
        "Word document",
        (".docx", ".docm", ".dotx", ".dotm"),
        members=(b"word/",),
        group="Word",
        reader=_DOCUMENT,
    ),
    FileType(
        OFFICE + "spreadsheetml.sheet",
        "Excel workbook",
        (".xlsx", ".xlsm", ".xltx", ".xltm"),
        members=(b"xl/",),
        group="Excel",
        reader=_DOCUMENT,
    ),
    FileType(
        OFFICE + "presentationml.presentation",
        "PowerPoint presentation",
        (".pptx", ".pptm", ".ppsx", ".ppsm", ".potx", ".potm"),
        members=(b"ppt/",),
        group="PowerPoint",
        reader=_DOCUMENT,
    ),
    FileType(
        OPEN + "text",
        "OpenDocument text",
        (".odt", ".ott"),
        members=(OPEN.encode() + b"text",),
        group="OpenDocument",
        reader=_DOCUMENT,
    ),
    FileType(
        OPEN + "spreadsheet",
        "OpenDocument spreadsheet",
        (".ods", ".ots"),
        members=(OPEN.encode() + b"spreadsheet",),
        group="OpenDocument",
        reader=_DOCUMENT,
    ),
    FileType(
        OPEN + "presentation",
        "OpenDocument presentation",
        (".odp", ".otp"),
        members=(OPEN.encode() + b"presentation",),
        group="OpenDocument",
        reader=_DOCUMENT,
    ),
    FileType(DOC, "old Word document", (".doc", ".dot"), group="Word", reader=_OLD),
    FileType(XLS, "old Excel workbook", (".xls", ".xlt"), group="Excel", reader=_OLD),
    FileType(PPT, "old PowerPoint presentation", (".ppt", ".pps", ".pot"), group="PowerPoint", reader=_OLD),
    FileType(RTF, "RTF document", (".rtf",), ((0, b"{\\rtf"),), group="RTF", reader=_RICH_TEXT),
    FileType("image/png", "PNG image", (".png",), ((0, b"\x89PNG\r\n\x1a\n"),), group=_PICTURES),
    FileType("image/jpeg", "JPEG image", (".jpg", ".jpeg"), ((0, b"\xff\xd8\xff"),), group=_PICTURES),
    FileType("image/tiff", "TIFF image", (".tif", ".tiff"), ((0, b"II*\0"), (0, b"MM\0*")), group=_PICTURES),
    FileType("image/bmp", "BMP image", (".bmp",), ((0, b"BM"),), group=_PICTURES),
    FileType(
        "image/heic",
        "HEIC image",
        (".heic", ".heif"),
        ((4, b"ftyphei"), (4, b"ftyphev"), (4, b"ftypmif1"), (4, b"ftypmsf1")),
        group=_PICTURES,
    ),
    FileType("image/gif", "GIF image", (".gif",), ((0, b"GIF87a"), (0, b"GIF89a")), group=_PICTURES),
    FileType("image/webp", "WebP image", (".webp",), ((8, b"WEBP"),), group=_PICTURES),
    FileType("image/svg+xml", "SVG image"),
    FileType("image/vnd.djvu", "DjVu document", (), ((0, b"AT&TFORM"),)),
    FileType(PLAIN, "plain text", (".txt", ".text", ".log", ".json"), group="plain text", reader=_TEXT),
    FileType(MARKDOWN, "Markdown text", (".md", ".markdown", ".mdown", ".mkd"), group="Markdown", reader=_TEXT),
    FileType(CSV, "CSV table", (".csv",), group="CSV tables", reader=_DATA + "parse_csv"),
    FileType(TSV, "TSV table", (".tsv",), group="CSV tables", reader=_DATA + "parse_csv"),
    FileType(HTML, "HTML page", (".html", ".htm", ".xhtml"), group="HTML", reader=_WEB + "parse_html"),
    FileType(XML, "XML file", (".xml", ".rss", ".atom"), group="XML", reader=_WEB + "parse_xml"),
    FileType(MAIL, "e-mail", (".eml",), group="e-mail", reader=_MAIL + "parse_message"),
    FileType(MAILBOX, "mailbox", (".mbox",), group="e-mail", reader=_MAIL + "parse_mailbox"),
    FileType(MSG, "Outlook message", (".msg",), group="e-mail", reader=_OLD),
    FileType(ZIP, "ZIP archive", (".zip",), group=_ARCHIVES, reader=_ARCHIVE),
    FileType(PACKAGE, "package of a program"),
    FileType("audio/wav", "WAV recording", (".wav", ".wave"), ((8, b"WAVE"),), group=_SOUND, demuxer="wav"),
    FileType("audio/mpeg", "MP3 recording", (".mp3", ".mp2"), ((0, b"ID3"),), group=_SOUND, demuxer="mp3"),
    FileType(
        "audio/mp4",
        "M4A recording",
        (".m4a", ".m4b"),
        ((4, b"ftypM4A"), (4, b"ftypM4B")),
        group=_SOUND,
        demuxer="mov",
    ),
    FileType("audio/ogg", "Ogg recording", (".ogg", ".oga", ".opus"), ((0, b"OggS"),), group=_SOUND, demuxer="ogg"),
    FileType("audio/flac", "FLAC recording", (".flac",), ((0, b"fLaC"),), group=_SOUND, demuxer="flac"),
    FileType("audio/amr", "AMR recording", (".amr",), ((0, b"#!AMR"),), group=_SOUND, demuxer="amr"),
    FileType("audio/aac", "AAC recording", (".aac",), group=_SOUND, demuxer="aac"),
    FileType(
        "audio/aiff",
        "AIFF recording",
        (".aiff", ".aif"),
        ((8, b"AIFF"), (8, b"AIFC")),
        group=_SOUND,
        demuxer="aiff",
    ),
    FileType("video/quicktime", "QuickTime video", (".mov",), ((4, b"ftypqt"),), group=_SOUND, demuxer="mov"),
    FileType("video/mp4", "MP4 video", (".mp4", ".m4v", ".3gp"), ((4, b"ftyp"),), group=_SOUND, demuxer="mov"),
    FileType(
        "video/x-matroska",
        "Matroska or WebM video",
        (".mkv", ".webm"),
        ((0, b"\x1aE\xdf\xa3"),),
        group=_SOUND,
        demuxer="matroska",
    ),
    FileType("video/x-msvideo", "AVI video", (".avi",), ((8, b"AVI "),), group=_SOUND, demuxer="avi"),
    FileType(OLE, "old Office file", (), ((0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"),)),
    FileType("application/postscript", "PostScript file", (), ((0, b"%!PS"),)),
    FileType(SEVEN_ZIP, "7-Zip archive", (".7z",), ((0, b"7z\xbc\xaf'\x1c"),), group=_ARCHIVES, reader=_ARCHIVE),
    FileType(TNEF, "winmail.dat archive", (".tnef",), ((0, b"\x78\x9f\x3e\x22"),), group=_ARCHIVES, reader=_ARCHIVE),
    FileType(RAR, "RAR archive", (".rar",), ((0, b"Rar!\x1a\x07"),)),
    FileType(GZIP, "gzip archive", (".gz", ".tgz"), ((0, b"\x1f\x8b"),), group=_ARCHIVES, reader=_ARCHIVE),
    FileType(BZIP2, "bzip2 archive", (".bz2", ".tbz2"), ((0, b"BZh"),), group=_ARCHIVES, reader=_ARCHIVE),
    FileType(XZ, "xz archive", (".xz", ".txz"), ((0, b"\xfd7zXZ\0"),), group=_ARCHIVES, reader=_ARCHIVE),
    FileType(TAR, "tar archive", (".tar",), ((257, b"ustar"),), group=_ARCHIVES, reader=_ARCHIVE),
    FileType("application/vnd.sqlite3", "SQLite database", (), ((0, b"SQLite format 3\0"),)),
    FileType("application/x-executable", "program", (), ((0, b"\x7fELF"),)),
    FileType("application/vnd.microsoft.portable-executable", "Windows program", (), ((0, b"MZ"),)),
    FileType("application/x-empty", "empty file"),
    FileType(OCTETS, "file of an unknown kind"),
)
_BY_CONTENT_TYPE = {each.content_type: each for each in FILE_TYPES}
_BY_ENDING = {ending: each.content_type for each in FILE_TYPES for ending in each.endings}


def filetype(content_type: str) -> FileType:
    """Give the row of a content type; one that is not in the table is its own label."""
    return _BY_CONTENT_TYPE.get(content_type) or FileType(content_type, content_type)


def promised_by(filename: str) -> str | None:
    """Give the content type that a file's name promises by its end."""
    return _BY_ENDING.get(PurePosixPath(filename.replace("\\", "/")).suffix.lower())
