"""XML and HTML, parsed without entities, without other files, without the network; and the text where that fails."""

import html
import re

from lxml import etree

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.markup.writer import BLOCKS, Element, local_name

# What a parser had to guess at should still hold nearly all of the words.
WHOLE_SHARE = 0.9
# Elements may be nested 256 deep, each a few calls of ours.
RECURSION = 4_000

# What is not closed goes on to the end, as in a browser; to look for its end from each beginning would take for ever.
_TAG = re.compile(
    r"<(script|style|head)\b.*?(?:</\1\s*+>|\Z)|<!--.*?(?:-->|\Z)|<(?:/?([a-z][a-z0-9]*+))?[^>]*+(?:>|\Z)",
    re.DOTALL | re.IGNORECASE,
)
_PAGE_END = re.compile(rb"</(?:body|html)\s*+>", re.IGNORECASE)
_BLANK_LINES = re.compile(r"\n\s*\n")
_LINE_TAGS = BLOCKS | {"br", "dt", "option"}


def parse_xml(data: bytes, *, mend: bool = False) -> Element:
    """The root of a file; BadInput where it is no XML. With `mend`, as much of it as can be made sense of."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=mend)
    try:
        root = etree.fromstring(data, parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadInput(f"no XML: {str(error)[:100]}", code=FailureCode.CORRUPT) from error
    if root is None:
        raise BadInput("no XML", code=FailureCode.CORRUPT)
    return root


def parse_html(data: bytes) -> Element:
    """The root of a page in UTF-8, whatever it says of its encoding; BadInput where there is nothing in it."""
    # Not lxml.html's own, whose elements know more about pages than is asked here, and take their time for it.
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, huge_tree=False, remove_pis=True)
    try:
        # Without the ends of the page: what comes after them, as a footer of mail, would be in no tree of ours.
        root = etree.fromstring(_PAGE_END.sub(b"", data), parser)
    except (etree.XMLSyntaxError, ValueError) as error:
        raise BadInput("no HTML", code=FailureCode.CORRUPT) from error
    if root is None:
        raise BadInput("no HTML", code=FailureCode.CORRUPT)
    return root


def body_of(root: Element) -> Element:
    """The body of a page; all of it where there is none."""
    return next((each for each in root.iter() if local_name(each) == "body"), root)


def holds_most(body: Element, markup: str) -> bool:
    """Whether a parser has found nearly all the words: it stops without a word at what is nested too deeply."""
    words = len(html.unescape(_TAG.sub(" ", markup)).split())
    found = 0
    for element in body.iter():
        is_shown = isinstance(element.tag, str) and local_name(element) not in {"script", "style"}
        found += len((element.text or "").split()) if is_shown else 0
        found += len((element.tail or "").split()) if element is not body else 0
    return found >= WHOLE_SHARE * words


def text_without_tags(markup: str) -> str:
    """All the text of a page that no parser reads: blocks on lines of their own, and nothing of how it looked."""

    def gap(tag: re.Match[str]) -> str:
        return "\n\n" if (tag[2] or "").lower() in _LINE_TAGS else " "

    lines = html.unescape(_TAG.sub(gap, markup)).split("\n")
    return _BLANK_LINES.sub("\n\n", "\n".join(" ".join(line.split()) for line in lines)).strip()
