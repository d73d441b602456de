"""Reading the Markdown that extraction makes: its page marks, its headings, its pages."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass

_PAGE_MARK = re.compile(r"^<!-- page (\d{1,6}) -->[ \t]*$", re.MULTILINE)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\([^()\s]*\)")
# A run of underscores is matched from its beginning alone; from each of them, long runs would take for ever.
_EMPHASIS = re.compile(r"(?<!\\)[*`]+|(?<![\w\\])_+|(?<!\\)(?:(?<!_)|(?<=\\_))_++(?!\w)")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_RULE_ROW = re.compile(r"^[ \t]*+(?:-{3,}|\|?(?:[ \t]*:?-+:?[ \t]*\|)+(?:[ \t]*:?-+:?)?)[ \t]*$", re.MULTILINE)
_LINE_START = re.compile(r"^[ \t]{0,3}(?:#{1,6}[ \t]+|>[ \t]?|\|)", re.MULTILINE)

BLANKS = " \t"
HEADING_LEVEL_MAX = 6
HEADING_LEVELS_SHOWN = 3
HEADING_CHARACTERS_MAX = 300
HEADING_BETWEEN = " / "
# Nobody reads a longer title, and a hostile text may be one line of 50 MB.
TITLE_CHARACTERS_MAX = 2_000


@dataclass(frozen=True, slots=True)
class MarkdownPage:
    """One page's Markdown; the number is None where the format has no pages."""

    number: int | None
    text: str


@dataclass(frozen=True, slots=True)
class Unmarked:
    """The text without its page marks, and where each page begins in it."""

    text: str
    starts: tuple[int, ...]
    numbers: tuple[int, ...]

    def page_at(self, offset: int) -> int | None:
        """The page of the character at this offset."""
        if not self.starts:
            return None
        return self.numbers[max(0, bisect_right(self.starts, offset) - 1)]


@dataclass(frozen=True, slots=True)
class Headings:
    """The offset of each heading, and the titles of the headings above it."""

    starts: tuple[int, ...]
    paths: tuple[str, ...]

    def at(self, offset: int) -> str | None:
        """The heading above the character at this offset."""
        position = bisect_right(self.starts, offset) - 1
        return self.paths[position] if position >= 0 else None


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading, the place of its line in the text, and its level from 1 to 6."""

    start: int
    level: int
    title: str


def split_pages(markdown: str, page_count: int | None) -> list[MarkdownPage]:
    """Cut at the page marks. Without a page count there are none: the author wrote what looks like one."""
    if page_count is None:
        return [MarkdownPage(None, markdown.strip("\n"))]
    pages: list[MarkdownPage] = []
    number, start = 1, 0
    for mark in _PAGE_MARK.finditer(markdown):
        following = int(mark[1])
        # A mark that goes backwards or past the end is text that only looks like one.
        if not number <= following <= page_count or (following == number and pages):
            continue
        _add_page(pages, number, markdown[start : mark.start()])
        number, start = following, mark.end()
    _add_page(pages, number, markdown[start:])
    return pages


def _add_page(pages: list[MarkdownPage], number: int, text: str) -> None:
    """An empty page is left out."""
    if text := text.strip("\n"):
        pages.append(MarkdownPage(number, text))


def unmark(markdown: str, page_count: int | None) -> Unmarked:
    """Remove the page marks from the text, and remember their offsets."""
    pages = split_pages(markdown, page_count)
    starts, offset = [], 0
    for page in pages:
        starts.append(offset)
        offset += len(page.text) + 2
    numbers = tuple(page.number for page in pages if page.number is not None)
    return Unmarked("\n\n".join(page.text for page in pages), tuple(starts) if numbers else (), numbers)


def find_headings(text: str) -> Headings:
    """Find the headings outside of code, each with the path of those above it."""
    starts, paths = [], []
    above: list[tuple[int, str]] = []
    for heading in headings(text):
        above = [*((upper, title) for upper, title in above if upper < heading.level), (heading.level, heading.title)]
        starts.append(heading.start)
        paths.append(_path([title for _, title in above]))
    return Headings(tuple(starts), tuple(paths))


def headings(text: str) -> Iterator[Heading]:
    """The headings outside of code, with their words as people read them."""
    fence = ""
    for offset, line in _lines(text):
        fence = _fence_after(fence, line)
        if not fence and (found := heading_in(line)):
            yield Heading(offset, found[0], plain(found[1]))


def heading_in(line: str) -> tuple[int, str] | None:
    """The level and the words of the heading that a line is. By hand: a pattern would try each blank of a long run."""
    marked = line.lstrip("#")
    level = len(line) - len(marked)
    words = marked.strip(BLANKS)
    if not 1 <= level <= HEADING_LEVEL_MAX or not marked.startswith((" ", "\t")) or not words or words[0].isspace():
        return None
    # "## Title ##" ends with its mark; in "## C#" the last one is a part of the title.
    unclosed = words.rstrip("#")
    if unclosed.endswith((" ", "\t")):
        words = unclosed.rstrip(BLANKS)
    return level, words[:TITLE_CHARACTERS_MAX]


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Each line and where it begins, without a list of them all."""
    start = 0
    while start <= len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        yield start, text[start:end]
        start = end + 1


def _fence_after(fence: str, line: str) -> str:
    """The mark of the code block that is open after this line, or nothing."""
    found = _FENCE.match(line)
    if not found:
        return fence
    if not fence:
        return found[1]
    closes = found[1].startswith(fence) and not line[found.end() :].strip()
    return "" if closes else fence


def _path(titles: list[str]) -> str:
    return HEADING_BETWEEN.join(title for title in titles[-HEADING_LEVELS_SHOWN:] if title)[:HEADING_CHARACTERS_MAX]


def plain(markdown: str) -> str:
    """A short piece of Markdown as plain text on one line."""
    text = _RULE_ROW.sub("", _LINK.sub(r"\1", markdown))
    text = _LINE_START.sub("", text).replace("|", " ")
    return " ".join(_ESCAPE.sub(r"\1", _EMPHASIS.sub("", text)).split())
