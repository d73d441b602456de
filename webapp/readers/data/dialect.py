"""How a table is written as text: the separator of its cells and their quotes, found by trying."""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

SAMPLE_CHARACTERS = 100_000
DELIMITERS = (",", ";", "\t", "|", "^", "~", " ")
# Such delimiters are seldom meant, and often occur in a text.
_SELDOM = {" ": 0.35, "^": 0.8, "~": 0.8}
SCORE_MIN = 0.35
WIDTH_COUNTED_MAX = 6

_TELLING = re.compile(
    r"[-+]?[\d.,' ]*\d ?[%€$£]?|[€$£] ?[-+]?[\d.,]*\d|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}(?:[T ]\d{1,2}:\d{2}[\d:.Z+-]*)?"
    r"|\d{1,2}:\d{2}(?::\d{2})?|https?://\S+|[\w.+-]+@[\w-]+\.[\w.-]+|true|false|yes|no",
    re.IGNORECASE,
)
_ONE_NAME = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Dialect:
    """The way in which a table is written; no delimiter means one column."""

    delimiter: str
    quote: str = '"'
    has_escapes: bool = False

    def rows(self, lines: Iterable[str]) -> Iterator[list[str]]:
        """The rows of a table that is written so."""
        if not self.delimiter:
            return ([line.strip()] for line in lines)
        return csv.reader(
            lines,
            delimiter=self.delimiter,
            quotechar=self.quote or None,
            quoting=csv.QUOTE_MINIMAL if self.quote else csv.QUOTE_NONE,
            doublequote=not self.has_escapes,
            escapechar="\\" if self.has_escapes else None,
            skipinitialspace=self.delimiter != "\t",
        )


ONE_COLUMN = Dialect("", "")


def find_dialect(text: str, *, promised: str = "") -> Dialect:
    """The likeliest dialect of a text; `promised` is the delimiter that the file's name speaks of."""
    sample = text[:SAMPLE_CHARACTERS]
    if len(text) > len(sample):
        sample = sample[: sample.rfind("\n") + 1] or sample
    lines = [line for line in sample.splitlines(keepends=True) if line.strip()]
    if not lines:
        return ONE_COLUMN
    is_one_name = bool(_ONE_NAME.fullmatch(lines[0].strip()))
    best, most = ONE_COLUMN, SCORE_MIN
    for dialect in _candidates(sample):
        # A column of words, each line some of them, is no table.
        if dialect.delimiter == " " and is_one_name:
            continue
        score = _score(dialect, lines) * (1.5 if dialect.delimiter == promised else 1)
        if score > most:
            best, most = dialect, score
    return best


def _candidates(sample: str) -> Iterator[Dialect]:
    quotes = [quote for quote in ('"', "'") if quote in sample] or ['"']
    escapes = (False, True) if '\\"' in sample or "\\'" in sample else (False,)
    for delimiter, quote, has_escapes in product(DELIMITERS, quotes, escapes):
        if delimiter in sample:
            yield Dialect(delimiter, quote, has_escapes)


def _score(dialect: Dialect, lines: Sequence[str]) -> float:
    try:
        rows = [row for row in dialect.rows(lines) if row]
    except csv.Error:
        return 0.0
    if not rows:
        return 0.0
    width, count = Counter(map(len, rows)).most_common(1)[0]
    if width < 2:
        return 0.0
    cells = [cell for row in rows[:2_000] for cell in row[:50]]
    telling = sum(1 for cell in cells if not cell or (len(cell) < 100 and _TELLING.fullmatch(cell.strip())))
    stray = sum(1 for cell in cells if dialect.quote in cell or cell.startswith(" "))
    beside = sum(line.count(dialect.quote + dialect.delimiter) for line in lines)
    return (
        (count / len(rows)) ** 2
        * (1 + 0.15 * min(width, WIDTH_COUNTED_MAX))
        * (0.6 + telling / len(cells))
        * (1 - 0.5 * stray / len(cells))
        * (1 + 0.3 * min(1.0, beside / len(lines)))
        * _SELDOM.get(dialect.delimiter, 1.0)
    )
