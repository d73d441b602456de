"""Mends two faults of the layout's parser in running text: paragraphs that it joins, and bold that is none.

Browsers print paragraphs with a gap of less than a line, which the parser takes for one paragraph. And they describe
common fonts as so heavy that all of a page is bold to it, where bold then says nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from statistics import quantiles
from typing import Any

# A gap between paragraphs, beside the distance of lines; and how much of a line's beginning is looked for.
_WIDER, _BEGINNING = 1.4, 24
_BOLD = re.compile(r"(?<![\\*])\*\*(?=\S)([^*\n]+?)(?<=\S)\*\*(?!\*)")
_WITH_WORDS = frozenset({"paragraph", "list_item"})

Line = tuple[float, str]
"""The middle of a line, from the top of the page, and its text."""


def with_paragraphs(page: Any, markdown: str) -> str:
    """The Markdown of a page with its paragraphs apart, and without bold where everything is."""
    blocks = [block for block in page.blocks or () if block.kind in _WITH_WORDS]
    if blocks and all(block.bold for block in blocks):
        markdown = _BOLD.sub(r"\1", markdown)
    paragraphs = [block for block in blocks if block.kind == "paragraph" and block.bbox and block.text]
    placed = _placed(page.text_items) if paragraphs else []
    lines = [list(_lines(placed, block.bbox)) for block in paragraphs]
    steps = [below[0] - above[0] for each in lines for above, below in pairwise(each)]
    if len(steps) < 2:
        return markdown
    most = _WIDER * quantiles(steps, n=4)[0]
    for block, of_block in zip(paragraphs, lines, strict=True):
        starts = [below[1] for above, below in pairwise(of_block) if below[0] - above[0] > most]
        if starts and block.text in markdown:
            markdown = markdown.replace(block.text, _apart(block.text, starts), 1)
    return markdown


def _placed(items: Iterable[Any]) -> list[tuple[float, Any]]:
    """The pieces of text with their middles, from top to bottom."""
    return sorted(((item.y + item.height / 2, item) for item in items), key=lambda each: (each[0], each[1].x))


def _lines(placed: Sequence[tuple[float, Any]], box: Any) -> Iterator[Line]:
    """The lines in a box, from top to bottom: the first piece of each, for its beginning."""
    first = bisect_left(placed, box.y - 1, key=itemgetter(0))
    last = bisect_right(placed, box.y + box.height + 1, key=itemgetter(0))
    above = None
    for middle, item in placed[first:last]:
        is_in_box = box.x - 1 <= item.x <= box.x + box.width + 1
        if is_in_box and (above is None or middle - above > item.height / 2):
            above = middle
            yield middle, item.text.strip()


def _apart(text: str, starts: Sequence[str]) -> str:
    """A paragraph's text cut before these lines; one whose beginning is not found stays where it is."""
    pieces, done = [], 0
    for start in starts:
        place = text.find(start[:_BEGINNING], done + 1)
        if place > 0 and text[place - 1] == " ":
            pieces.append(text[done : place - 1])
            done = place
    return "\n\n".join([*pieces, text[done:]])
