"""Puts the pages' Markdown together: page marks, running heads once, no marks but our own."""

import re
from collections import Counter
from collections.abc import Sequence

from webapp.readers.extraction import PAGE_MARK

RUNNING_PAGES_MIN = 3
RUNNING_SHARE = 0.5
EDGE_BLOCKS, LONG_PAGE_BLOCKS = 2, 6

_PAGE_NUMBER = re.compile(
    r"[-\u2013\u2014\s]*+(?:page|p\.|pg\.?|seite|página|pagina|\u0441\u0442\u0440\.?)?+\s*+(?:\d{1,5}|[ivxlc]{1,7})"
    r"(?:\s*+(?:/|of|von|de|di|\u0438\u0437)\s*+\d{1,5})?[-\u2013\u2014\s]*+",
    re.IGNORECASE,
)
# In words that programs use; Markdown gives an underscore between letters no meaning.
_ESCAPED_UNDERSCORE = re.compile(r"(?<=\w)\\_(?=\w)")
_OUR_MARK = re.compile(r"<!(?=--\s*page\b)", re.IGNORECASE)
_MARK = re.compile(rf"^{re.escape(PAGE_MARK).replace(re.escape('{number}'), '([0-9]{1,7})')}$", re.MULTILINE)
_EMPTY_FENCE = re.compile(r"```\w*\s*```")
_HEADING = re.compile(r"^#{1,6}\s+(.+)$", re.MULTILINE)
_EMPHASIS = re.compile(r"(?<!\\)(\*{1,3}|(?:(?<!`)|(?<=\\`))`++)(?=\S)(.{1,400}?)(?<=\S)\1")
_ESCAPE = re.compile(r"\\([^\w\s]|_)")


def assemble(pages: Sequence[str]) -> str:
    """Join pages, each behind its mark."""
    return "\n\n".join(
        f"{PAGE_MARK.format(number=number)}\n\n{text}".rstrip() for number, text in enumerate(pages, start=1)
    )


def taken_apart(markdown: str) -> dict[int, str]:
    """The pages' texts by their numbers, out of what `assemble` made."""
    parts = _MARK.split(markdown)
    return {int(number): text.strip() for number, text in zip(parts[1::2], parts[2::2], strict=True)}


def without_marks(text: str) -> str:
    """Break whatever reads like a page mark of ours, so that a file can't forge its pages."""
    return _OUR_MARK.sub("&lt;!", text)


def tidy(markdown: str) -> str:
    """Make a parser's page of Markdown ours."""
    text = _EMPTY_FENCE.sub("", _ESCAPED_UNDERSCORE.sub("_", markdown))
    return without_marks(text).strip()


def drop_running_heads(pages: Sequence[str]) -> list[str]:
    """Keep heads and feet that repeat from page to page once only, and drop page numbers.

    Dropping them all would lose what is nowhere else, such as an invoice's number.
    """
    blocks = [page.split("\n\n") for page in pages]
    counts = Counter(block for page in blocks for block in {page[i].strip() for i in _edges(page)})
    limit = max(RUNNING_PAGES_MIN, RUNNING_SHARE * len(pages))
    running = {block for block, count in counts.items() if block and count >= limit and not block.startswith("#")}
    seen: set[str] = set()
    return [_without_running(page, running, seen, len(pages)) for page in blocks]


def first_heading(markdown: str) -> str | None:
    """Give the first heading as plain text: the best title a file without one has."""
    match = _HEADING.search(markdown)
    return plain(match[1]) if match else None


def plain(text: str) -> str:
    """Take the marks of emphasis and escaping out of one line of Markdown."""
    return _ESCAPE.sub(r"\1", _EMPHASIS.sub(r"\2", text)).strip()


def _edges(page: Sequence[str]) -> set[int]:
    size = len(page)
    depth = EDGE_BLOCKS if size >= LONG_PAGE_BLOCKS else 1
    return {*range(min(depth, size)), *range(max(0, size - depth), size)}


def _without_running(page: Sequence[str], running: set[str], seen: set[str], count: int) -> str:
    edges = _edges(page)
    kept = []
    for index, block in enumerate(page):
        text = block.strip()
        if index in edges and text in running:
            if text in seen:
                continue
            seen.add(text)
        if index in {0, len(page) - 1} and count >= RUNNING_PAGES_MIN and _PAGE_NUMBER.fullmatch(text):
            continue
        kept.append(block)
    return "\n\n".join(kept)
