"""Puts the lines of a text together to paragraphs, so that what is said in a sentence is found over lines."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from webapp.readers.fields.words import Piece, PlacedWord, Row

LINE_HEIGHTS = 0.9
# A first line may begin further to the right; justified lines have wide gaps between words.
INDENT_HEIGHTS, ALIGNED_HEIGHTS, GAP_HEIGHTS = 3.0, 0.5, 3.0
ROOM_HEIGHTS = 1.5
# A title is no part of the paragraph below it.
TALLER = 1.3
WORDS_MAX = 1_500


def paragraphs(rows: Sequence[Row]) -> list[Row]:
    """The rows with those of one paragraph as one; what has columns stays as it is."""
    done: list[Row] = []
    last: Row | None = None
    edges = _edges(rows)
    for row in rows:
        if done and last and _goes_on(last, row, edges) and len(done[-1].words) < WORDS_MAX:
            done[-1] = replace(done[-1], pieces=(Piece(joined(done[-1].words, row.words)),))
        else:
            done.append(row)
        last = row
    return done


def joined(words: Sequence[PlacedWord], more: Sequence[PlacedWord]) -> tuple[PlacedWord, ...]:
    """The words of two lines; a number that was cut behind a hyphen or a slash is one word again."""
    last, first = words[-1], more[0]
    if not last.text.endswith(("-", "/")) or not any(map(str.isdigit, last.text)):
        return (*words, *more)
    left, right = min(last.left, first.left), max(last.right, first.right)
    return (*words[:-1], PlacedWord(last.text + first.text, left, last.top, right, first.bottom), *more[1:])


def _edges(rows: Sequence[Row]) -> dict[tuple[int, int], list[float]]:
    """How far to the right the lines reach that begin at one place of a page."""
    edges: dict[tuple[int, int], list[float]] = {}
    for row in rows:
        if _is_line(row):
            edges.setdefault(_place(row), []).append(row.words[-1].right)
    return edges


def _place(row: Row) -> tuple[int, int]:
    return row.page, round(row.words[0].left / 4)


def _is_line(row: Row) -> bool:
    """Whether a row is a line of text: nothing in it is far from the rest."""
    height = row.bottom - row.top
    return all(after.left - before.right < GAP_HEIGHTS * height for before, after in pairwise(row.pieces))


def _goes_on(row: Row, following: Row, edges: dict[tuple[int, int], list[float]]) -> bool:
    """Whether a line goes on in the next: that begins at the same place, and its first word had no room above."""
    if row.page != following.page or not (_is_line(row) and _is_line(following)):
        return False
    height = row.bottom - row.top
    if height <= 0:
        return False
    if not 1 / TALLER < (following.bottom - following.top) / height < TALLER:
        return False
    indent = row.words[0].left - following.words[0].left
    is_aligned = -ALIGNED_HEIGHTS * height < indent < INDENT_HEIGHTS * height
    if not is_aligned or following.top - row.bottom > LINE_HEIGHTS * height:
        return False
    if abs(indent - (following.words[-1].right - row.words[-1].right)) < height and indent > ALIGNED_HEIGHTS * height:
        # As much shorter at either side: lines in the middle of the page.
        return False
    first, alike = following.words[0], edges[_place(following)]
    return len(alike) > 1 and max(alike) - row.words[-1].right < first.right - first.left + ROOM_HEIGHTS * height
