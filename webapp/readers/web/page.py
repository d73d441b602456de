"""A web page -> Markdown: its main text first, then the text around that; and what the page says of itself."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from lxml import etree

from webapp.provider_errors import BadInput
from webapp.readers.cleaning import clean_line, clean_text
from webapp.readers.extraction import Field, Table
from webapp.readers.markup.parse import holds_most, parse_html, text_without_tags
from webapp.readers.markup.writer import Element, Writer, local_name, text_of
from webapp.readers.page_markdown import without_marks

FLAT = "The page could not be read as it is built; its text is here without headings, lists and tables."
# Less than this share of a page's words is a teaser and not what the page is about.
MAIN_SHARE = 0.3

ATTRIBUTES_MAX = 2_000

_LONG_TAG = re.compile(r"<([A-Za-z][A-Za-z0-9]{0,30})\b[^<>]{10000,}+>")
# Nothing of theirs is ever shown, and a page may hold more of it than of words.
_UNREAD = ("script", "style", "noscript", "template")
_AROUND = {"nav", "aside", "footer"}
_AROUND_ROLES = {"navigation", "complementary", "contentinfo", "search", "dialog"}
_HIDDEN = re.compile(r"(?:^|[;\s])(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_LANGUAGE = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z0-9]+)*")
PUBLISHED = "Published"
_TITLES = ("og:title", "twitter:title", "dc.title")
# A page's own names for what readers call so; the first that is there counts.
_DESCRIBED = {
    "Author": ("author", "article:author", "dc.creator", "parsely-author"),
    "Description": ("description", "og:description", "dc.description"),
    PUBLISHED: ("article:published_time", "date", "dc.date", "datepublished"),
    "Site": ("og:site_name", "application-name"),
}


@dataclass
class WebPage:
    """What was read out of one page."""

    markdown: str
    title: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()
    tables: list[Table] = field(default_factory=list)
    is_whole: bool = True


def read_page(markup: str) -> WebPage:
    """Read a page; one that holds nothing has empty Markdown."""
    markup = _LONG_TAG.sub(_without_crowd, clean_text(markup))
    try:
        root = parse_html(markup.encode())
    except BadInput:
        return WebPage(_flat(markup), is_whole=False)
    etree.strip_elements(root, *_UNREAD, with_tail=False)
    # Not its body alone: some pages have several, or go on behind it.
    if not holds_most(root, markup):
        return WebPage(_flat(markup), *_of_itself(root), is_whole=False)
    markdown, tables = _main_first(root)
    return WebPage(without_marks(markdown), *_of_itself(root), tables=tables)


def _without_crowd(tag: re.Match[str]) -> str:
    """A tag without its attributes, where there are so many that a parser would compare them for minutes."""
    return f"<{tag[1]}>" if len(tag[0].split(maxsplit=ATTRIBUTES_MAX)) > ATTRIBUTES_MAX else tag[0]


def _flat(markup: str) -> str:
    return without_marks(text_without_tags(markup))


def _main_first(root: Element) -> tuple[str, list[Table]]:
    hidden = _hidden(root)
    main = _main(root)
    around = [] if main else _around(root)
    writer = Writer(root, has_links=True, without={*hidden, *main, *around})
    rest, tables = writer.flow(root), writer.tables
    first = Writer(root, has_links=True, without=hidden)
    blocks = [block for each in main or around for block in first.flow(each)]
    if not main:
        return "\n\n".join([*rest, *(["---"] if rest and blocks else []), *blocks]), tables + first.tables
    return "\n\n".join([*blocks, *(["---"] if rest and blocks else []), *rest]), first.tables + tables


def _main(root: Element) -> list[Element]:
    """What the page names its main part, or its articles; nothing where that is hardly anything of it."""
    words = len(text_of(root))
    for is_main in (_is_main, _is_article):
        found = _outermost(root, is_main)
        if found and sum(len(text_of(each)) for each in found) >= MAIN_SHARE * words:
            return found
    return []


def _is_main(element: Element) -> bool:
    return local_name(element) == "main" or element.get("role") == "main"


def _is_article(element: Element) -> bool:
    return local_name(element) == "article"


def _around(root: Element) -> list[Element]:
    """Navigation and the like; nothing where the page is hardly more than that."""
    found = _outermost(root, lambda each: local_name(each) in _AROUND or each.get("role") in _AROUND_ROLES)
    return found if sum(len(text_of(each)) for each in found) <= (1 - MAIN_SHARE) * len(text_of(root)) else []


def _outermost(root: Element, wanted: Callable[[Element], bool]) -> list[Element]:
    found: list[Element] = []
    inside: set[Element] = set()
    for element in root.iter("*"):
        if element.getparent() in inside:
            inside.add(element)
        elif element is not root and wanted(element):
            found.append(element)
            inside.add(element)
    return found


def _hidden(root: Element) -> set[Element]:
    """What a browser would not show; nothing where that is all there is, as on pages that a script unfolds."""
    found = _outermost(root, _is_hidden)
    share = sum(len(text_of(each)) for each in found) / max(1, len(text_of(root)))
    return set(found) if share <= 1 - MAIN_SHARE else set()


def _is_hidden(element: Element) -> bool:
    return element.get("hidden") is not None or bool(_HIDDEN.search(element.get("style") or ""))


def _of_itself(root: Element) -> tuple[str | None, str | None, tuple[Field, ...]]:
    """Title, language and fields."""
    said = dict(reversed(list(_said(root))))
    title = next((text_of(each) for each in root.iter("title")), None)
    title = clean_line(title) or clean_line(next((said[name] for name in _TITLES if name in said), None))
    language = _LANGUAGE.fullmatch((root.get("lang") or "").strip())
    fields = [
        Field(label, value)
        for label, names in _DESCRIBED.items()
        if (value := next((said[name] for name in names if name in said), None))
    ]
    if address := next((each.get("href") for each in root.iter("link") if each.get("rel") == "canonical"), None):
        fields.append(Field("Address", address))
    return title, language[1].lower() if language else None, tuple(fields)


def _said(root: Element) -> Iterator[tuple[str, str]]:
    for each in root.iter("meta"):
        name = each.get("name") or each.get("property") or each.get("itemprop") or ""
        if value := clean_line(each.get("content"), 2_000):
            yield name.lower(), value
