"""Parsing the XML of Office documents: no document type, no entities, no network; names without namespaces."""

import io
from collections.abc import Iterator
from typing import Any, TypedDict

from lxml import etree

from webapp.provider_errors import BadInput, FailureCode

Element = Any  # lxml's elements are no types of their own

_DOCTYPE = "<!DOCTYPE"
_DOCTYPES = tuple(_DOCTYPE.encode(encoding) for encoding in ("ascii", "utf-16-le", "utf-16-be"))


class _Settings(TypedDict):
    resolve_entities: bool
    no_network: bool
    load_dtd: bool
    huge_tree: bool
    remove_comments: bool
    remove_pis: bool


_SAFE: _Settings = {
    "resolve_entities": False,
    "no_network": True,
    "load_dtd": False,
    "huge_tree": False,
    "remove_comments": True,
    "remove_pis": True,
}


def parse_xml(data: bytes) -> Element:
    """Parse a part of a document; BadInput where it is no XML or declares a document type."""
    refuse_doctype(data)
    try:
        root = etree.fromstring(data, etree.XMLParser(**_SAFE))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise _broken(error) from error
    # In an encoding in which nobody looked for it.
    if root.getroottree().docinfo.internalDTD is not None:
        raise _broken("a document type")
    return root


def each_event(data: bytes, *names: str) -> Iterator[tuple[str, Element]]:
    """The beginning and the end of each element of these names; a part that is long is never a whole tree."""
    refuse_doctype(data)
    try:
        tags = [f"{{*}}{name}" for name in names]
        yield from etree.iterparse(io.BytesIO(data), events=("start", "end"), tag=tags, **_SAFE)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise _broken(error) from error


def refuse_doctype(data: bytes) -> None:
    """Refuse what declares a document type: Office writes none, and they define entities."""
    if any(mark in data for mark in _DOCTYPES):
        raise _broken("a document type")


def name_of(element: Element) -> str:
    """A tag without its namespace; nothing for what is no element."""
    tag = element.tag
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def attribute(element: Element, name: str, default: str = "") -> str:
    """An attribute's value, whatever its namespace."""
    for key, value in element.attrib.items():
        if key == name or key.endswith(f"}}{name}"):
            return str(value)
    return default


def number(value: str | None, default: int = 0, *, most: int = 1_000_000) -> int:
    """A whole number out of an attribute, never beyond `most`."""
    text = (value or "").strip()
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 16):
        return min(default, most) if not digits.isdigit() else most
    return max(-most, min(int(text), most))


def child(element: Element | None, *path: str) -> Element | None:
    """The first child of this name, and of that one the first of the next name, and so on."""
    for name in path:
        if element is None:
            return None
        element = next((each for each in element if name_of(each) == name), None)
    return element


def children(element: Element | None, name: str) -> Iterator[Element]:
    """The children of this name."""
    return iter(()) if element is None else (each for each in element if name_of(each) == name)


def within(element: Element | None, name: str) -> Iterator[Element]:
    """All elements of this name, at any depth."""
    return iter(()) if element is None else element.iter(f"{{*}}{name}")


def _broken(reason: object) -> BadInput:
    return BadInput(f"no XML that is read: {str(reason)[:100]}", code=FailureCode.CORRUPT)
