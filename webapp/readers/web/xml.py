"""XML -> Markdown: feeds as their entries, everything else in its own order under the names of its elements."""

import re
from collections.abc import Iterator

from lxml import etree

from webapp.provider_errors import BadInput
from webapp.readers.cleaning import clean_line, clean_text
from webapp.readers.extraction import Field
from webapp.readers.markup.parse import parse_xml
from webapp.readers.markup.writer import Element, local_name, paragraph, text_of
from webapp.readers.page_markdown import without_marks
from webapp.readers.web.page import WebPage, read_page

MENDED = "The file is not well-formed XML; what could be made sense of is here, and some of it may be missing."
INDENTS_MAX = 8
ATTRIBUTES_SHOWN = 20
ON_ONE_LINE_MAX = 500
_FEEDS = {"rss", "rdf", "feed"}
_ENTRIES = {"item", "entry"}
_BODIES = ("encoded", "content", "description", "summary")
_DATES = ("pubdate", "published", "date", "updated")
_IS_MARKUP = re.compile(r"<[a-zA-Z][^<>]*+>")
_LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_xml(text: str) -> WebPage:
    """Read a file; BadInput where it is none at all."""
    text = clean_text(text).lstrip()
    # What it says of its encoding was heard already.
    data = (text.partition("?>")[2].lstrip() if text.startswith("<?xml") else text).encode()
    try:
        root, is_whole = parse_xml(data), True
    except BadInput:
        root, is_whole = parse_xml(data, mend=True), False
    found = _feed(root) if local_name(root) in _FEEDS else WebPage("\n".join(_lines(root, 0)))
    found.markdown, found.is_whole = without_marks(found.markdown).strip(), is_whole
    found.title = clean_line(found.title or _child_text(root, "title"))
    found.language = (root.get(_LANGUAGE) or found.language or "")[:2].lower() or None
    return found


def _lines(element: Element, depth: int) -> Iterator[str]:
    """An element and what is in it: values as items of a list, running text as paragraphs."""
    indent = "  " * min(depth - 1, INDENTS_MAX)
    children = [child for child in element if isinstance(child.tag, str)]
    label = _label(element)
    if depth == 0:
        yield f"# {label}"
        yield ""
    if children and not _runs_on(element):
        if depth:
            yield f"{indent}- **{label}**"
        for child in children:
            yield from _lines(child, depth + 1)
            if depth == 0 and len(child):
                yield ""
        return
    text = text_of(element)
    if depth == 0:
        yield paragraph(text)
    elif text and (children or len(text) > ON_ONE_LINE_MAX):
        yield f"{indent}- **{label}**"
        yield f"{indent}  {paragraph(text)}"
    else:
        yield f"{indent}- {label}: {paragraph(text)}" if text else f"{indent}- {label}"


def _runs_on(element: Element) -> bool:
    """Whether there are words between the elements within, as in a sentence with a part in italics."""
    between = (child.tail for child in element)
    return any(part and part.strip() for part in (element.text, *between))


def _label(element: Element) -> str:
    name = etree.QName(element).localname
    attributes = [
        f"{etree.QName(key).localname} {paragraph(clean_line(value) or '')}"
        for key, value in list(element.attrib.items())[:ATTRIBUTES_SHOWN]
        if value.strip() and not key.startswith("{http://www.w3.org/")
    ]
    return f"{paragraph(name)} ({', '.join(attributes)})" if attributes else paragraph(name)


def _feed(root: Element) -> WebPage:
    channel = next((child for child in root if local_name(child) == "channel"), root)
    title = _child_text(channel, "title")
    page = WebPage("", title, (_child_text(channel, "language") or "")[:2] or None)
    about = _child_text(channel, "description") or _child_text(channel, "subtitle")
    fields = {"Description": about, "Address": _address(channel), "Author": _author(channel)}
    page.fields = tuple(Field(name, value) for name, value in fields.items() if value)
    blocks = [f"# {paragraph(title)}"] if title else []
    blocks += [paragraph(about)] if about else []
    for entry in root.iter("*"):
        if local_name(entry) in _ENTRIES:
            blocks += _entry(entry, page)
    page.markdown = "\n\n".join(blocks)
    return page


def _entry(entry: Element, page: WebPage) -> Iterator[str]:
    if title := _child_text(entry, "title"):
        yield f"## {paragraph(clean_line(_words(title)) or '')}"
    date = next((found for name in _DATES if (found := _child_text(entry, name))), None)
    address = _address(entry)
    about = [paragraph(each) for each in (_author(entry), date, address) if each]
    if about:
        yield " · ".join(about)
    body = next((each for name in _BODIES for each in entry if local_name(each) == name and _markup(each)), None)
    if body is not None:
        markup = _markup(body)
        if not _IS_MARKUP.search(markup):
            yield paragraph(markup)
        else:
            inner = read_page(markup)
            page.tables += inner.tables
            # A heading within an entry is one level below the entry's own.
            yield re.sub(r"^#{1,4}(?=#* )", r"\g<0>##", inner.markdown, flags=re.MULTILINE)


def _markup(element: Element) -> str:
    """What an entry says: as text, or in XHTML right within."""
    if len(element):
        return etree.tostring(element, encoding="unicode", method="html", with_tail=False)
    return (element.text or "").strip()


def _words(text: str) -> str:
    return read_page(text).markdown if _IS_MARKUP.search(text) else text


def _author(element: Element) -> str | None:
    author = next((child for child in element if local_name(child) in {"author", "creator"}), None)
    return None if author is None else _child_text(author, "name") or text_of(author) or None


def _address(element: Element) -> str | None:
    for child in element:
        if local_name(child) == "link" and child.get("rel") in {None, "alternate"}:
            address = child.get("href") or text_of(child)
            if address:
                return str(address)
    return None


def _child_text(element: Element, name: str) -> str | None:
    return next((text_of(child) or None for child in element if local_name(child) == name), None)
