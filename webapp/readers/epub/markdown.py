"""A chapter's XHTML, parsed as what it is or as what it was meant to be -> Markdown."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from html.entities import name2codepoint

from webapp.provider_errors import BadInput
from webapp.readers.extraction import Table
from webapp.readers.markup.parse import body_of, holds_most, parse_html, parse_xml
from webapp.readers.markup.writer import Element, Writer
from webapp.readers.page_markdown import without_marks

_ENTITY = re.compile(rb"&([A-Za-z][A-Za-z0-9]{1,31});")
_XML_ENTITIES = {b"amp", b"lt", b"gt", b"quot", b"apos"}
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]*\?>")


@dataclass
class Chapter:
    """What was read out of one file of a book."""

    markdown: str
    tables: list[Table] = field(default_factory=list)
    is_whole: bool = True
    path: str = ""
    """The name of that file in the archive."""


def read_chapter(data: bytes, inner: Callable[[str], str] | None = None) -> Chapter:
    """Read one file; `inner` gives the address of a link to another one. What is no XHTML at all is BadInput."""
    body, is_whole = _parse(data)
    writer = Writer(body, inner=inner)
    blocks = writer.flow(body)
    return Chapter(without_marks("\n\n".join(blocks)), writer.tables, is_whole)


def body_of_chapter(data: bytes) -> Element:
    """The body of one file; what is no XHTML at all is BadInput."""
    return _parse(data)[0]


def _parse(data: bytes) -> tuple[Element, bool]:
    """The body, and whether nothing is known to be missing: files that are no XML are read as HTML is."""
    data = _numbered_entities(_as_utf8(data))
    try:
        return body_of(parse_xml(data)), True
    except BadInput:
        body = body_of(parse_html(data))
    return body, holds_most(body, data.decode("utf-8", "replace"))


def _as_utf8(data: bytes) -> bytes:
    """UTF-16 as UTF-8, without a declaration that says otherwise."""
    for mark, encoding in ((b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")):
        if data.startswith(mark):
            return _XML_DECLARATION.sub("", data[2:].decode(encoding, "replace")).encode()
    return data.removeprefix(b"\xef\xbb\xbf")


def _numbered_entities(data: bytes) -> bytes:
    """HTML's names for characters, which XML does not know, as their numbers. Others stay as they are."""

    def number(found: re.Match[bytes]) -> bytes:
        name = found[1]
        code = None if name in _XML_ENTITIES else name2codepoint.get(name.decode())
        return found[0] if code is None else b"&#%d;" % code

    return _ENTITY.sub(number, data)
