"""Pages for tests of fields: lines of text at places, as a reader of PDFs would give their words."""

from collections.abc import Iterable

from webapp.readers.extraction import Field
from webapp.readers.fields.find import Found, find_fields
from webapp.readers.fields.words import PageWords, PlacedWord

LETTER, SPACE, HEIGHT = 5.0, 2.5, 12.0

Line = tuple[float, list[tuple[float, str]]]


def line(y: float, *texts: tuple[float, str]) -> Line:
    """Texts that begin at places of one height."""
    return y, list(texts)


def page(*lines: Line, number: int = 1) -> PageWords:
    return PageWords(number, tuple(_words(lines)), 595, 842)


def read(*lines: Line) -> Found:
    return find_fields([page(*lines)])


def values(found: Found) -> dict[str, str]:
    """What each kind means, and by name what has no kind."""
    return {each.kind or each.name: each.normalized or each.value for each in found.fields}


def field(found: Found, kind: str) -> Field:
    (one,) = [each for each in found.fields if each.kind == kind]
    return one


def _words(lines: Iterable[Line]) -> Iterable[PlacedWord]:
    for y, texts in lines:
        for start, text in texts:
            left = start
            for word in text.split():
                yield PlacedWord(word, left, y, left + LETTER * len(word), y + HEIGHT)
                left += LETTER * len(word) + SPACE
