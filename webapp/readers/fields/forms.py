"""Reads forms: short documents with lists of "Label: value" lines below each other. Prose with colons is none."""

import re
from collections.abc import Iterator, Sequence

from webapp.readers.extraction import Field
from webapp.readers.fields.words import Piece, Row, polygon

PAGES_MAX = 3
LINES_MIN = 3
LINE_HEIGHTS = 1.5
ALIGNED_HEIGHTS = 0.4
LABEL_CHARACTERS_MAX, LABEL_WORDS_MAX = 40, 5
VALUE_CHARACTERS_MAX, VALUE_WORDS_MAX = 120, 10
FIELDS_MAX = 60
_LABEL = re.compile(r"[^\W\d_][\w .,/#&()'\u2019°\u2116-]*")


def read_form(rows: Sequence[Row]) -> tuple[Field, ...]:
    """Give the labelled values of a short document; what appears in no list of them is left out."""
    if not rows or rows[-1].page > PAGES_MAX:
        return ()
    found: list[Field] = []
    group: list[tuple[Row, Piece, Field]] = []
    for row in rows:
        line = _line(row)
        if line and group and _follows(group[-1], line):
            group.append(line)
            continue
        found += _kept(group)
        group = [line] if line else []
    return tuple([*found, *_kept(group)][:FIELDS_MAX])


def _kept(group: Sequence[tuple[Row, Piece, Field]]) -> Iterator[Field]:
    if len(group) >= LINES_MIN:
        yield from (field for _, _, field in group)


def _follows(before: tuple[Row, Piece, Field], line: tuple[Row, Piece, Field]) -> bool:
    above, below = before[1], line[1]
    is_close = line[0].page == before[0].page and below.top - above.bottom < LINE_HEIGHTS * above.height
    return is_close and abs(above.left - below.left) < ALIGNED_HEIGHTS * above.height


def _line(row: Row) -> tuple[Row, Piece, Field] | None:
    """The label and the value of a row that holds nothing else."""
    first = row.pieces[0]
    ends = next((number for number, word in enumerate(first.words, 1) if word.text.endswith(":")), 0)
    words = first.words[ends:] or (row.pieces[1].words if len(row.pieces) == 2 else ())
    if not ends or not words or len(row.pieces) > (1 if first.words[ends:] else 2):
        return None
    label = " ".join(word.text for word in first.words[:ends]).rstrip(" :")
    value = " ".join(word.text for word in words)
    if not _is_label(label) or not _is_value(value):
        return None
    return row, first, Field(label, value, None, row.page, polygon(words))


def _is_label(text: str) -> bool:
    short = 1 < len(text) <= LABEL_CHARACTERS_MAX and len(text.split()) <= LABEL_WORDS_MAX
    return short and text[0].isupper() and bool(_LABEL.fullmatch(text)) and not text.endswith(".")


def _is_value(text: str) -> bool:
    words = text.split()
    is_prose = len(words) > VALUE_WORDS_MAX or (len(words) > 2 and words[0].isalpha() and words[0].islower())
    return len(text) <= VALUE_CHARACTERS_MAX and not text.endswith(":") and not is_prose
