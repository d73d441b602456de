"""Where a click on a hit lands: the browser itself scrolls to the words and marks them (text fragments of URLs).

A browser that knows no text fragments, or does not find these words, goes to the page or the passage.
"""

from collections.abc import Iterator, Sequence
from urllib.parse import quote

from webapp.pipeline.markdown import plain
from webapp.search.snippet import snippet

WORDS_MAX = 8
_BEFORE = 2


def landing(passage: str, words: Sequence[str]) -> str:
    """What is put behind the fragment of a hit's address; empty where nothing in the passage can be named."""
    lines = [(sum(part.is_match for part in snippet(line, words)), line) for line in _lines(passage)]
    if not lines:
        return ""
    # The first of the lines that have most of the words.
    _, line = max(lines, key=lambda each: each[0])
    return f":~:text={quote(_around(line, words), safe='').replace('-', '%2D')}"


def _lines(passage: str) -> Iterator[str]:
    """The text of one block of the page: a line, or a cell of a table."""
    for line in passage.splitlines():
        for cell in line.split("|"):
            if any(map(str.isalnum, text := plain(cell))):
                yield text


def _around(line: str, words: Sequence[str]) -> str:
    """Some words of a line from where the first match is."""
    parts = line.split()
    matches = [place for place, part in enumerate(parts) if any(each.is_match for each in snippet(part, words))]
    start = max(0, matches[0] - _BEFORE) if matches else 0
    return " ".join(parts[start : start + WORDS_MAX])
