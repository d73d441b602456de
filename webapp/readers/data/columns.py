"""What a column of a table holds: its type, its range or examples, in a line that can be searched."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

EXAMPLES = 3
EXAMPLE_CHARACTERS_MAX = 40
# A few odd cells, such as "n/a", leave a column what it is.
TYPED_SHARE = 0.95
LOOKED_AT_MAX = 200_000

_WHOLE = re.compile(r"[-+]?(?:0|[1-9]\d{0,17})")
_NUMBER = re.compile(r"[€$£]? ?[-+]?[€$£]?\d[\d.,' \xa0]*(?:[eE][-+]?\d{1,3})? ?[%€$£]?|[-+]?[.,]\d+")
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{1,2}:\d{2}(?::\d{2})?[\d.Z:+-]*)?")
_DATE = re.compile(r"\d{1,2}([./-])\d{1,2}\1\d{2,4}(?: \d{1,2}:\d{2}(?::\d{2})?)?")
_CLOCK = re.compile(r"\d{1,2}:\d{2}(?::\d{2})?")
_BOOLEAN = re.compile(r"true|false|yes|no|ja|nein|y|n", re.IGNORECASE)
TEXT, YES_OR_NO = "text", "yes or no"
_TYPES = (
    (YES_OR_NO, _BOOLEAN),
    ("whole numbers", _WHOLE),
    ("dates", _DAY),
    ("dates", _DATE),
    ("times", _CLOCK),
    ("numbers", _NUMBER),
)
_NO_DIGITS = re.compile(r"[^\d.,eE+-]")


@dataclass(frozen=True, slots=True)
class Column:
    """What is known of a column."""

    name: str
    kind: str
    about: str

    @property
    def counts(self) -> bool:
        """Whether it holds numbers, dates or times, as the name of a column hardly does."""
        return self.kind not in {TEXT, YES_OR_NO, "empty"}


def look_at(name: str, cells: Sequence[str]) -> Column:
    """Find out what a column holds; of very long ones, cells at equal distances are looked at."""
    step = -(-len(cells) // LOOKED_AT_MAX) or 1
    held = [cell.strip() for cell in cells[::step]]
    filled = [cell for cell in held if cell]
    if not filled:
        return Column(name, "empty", "empty")
    kind = next((kind for kind, pattern in _TYPES if _is(pattern, filled)), TEXT)
    about = (
        kind + _span(kind, filled, "around " if step > 1 else "")
        if kind != TEXT
        else _examples(filled, is_sample=step > 1)
    )
    if len(filled) < len(held):
        about += f"; empty in {round(100 * (1 - len(filled) / len(held))) or 1} %"
    return Column(name, kind, about)


def _is(pattern: re.Pattern[str], cells: Sequence[str]) -> bool:
    return sum(1 for cell in cells if len(cell) <= 40 and pattern.fullmatch(cell)) >= TYPED_SHARE * len(cells)


def _span(kind: str, cells: Sequence[str], around: str) -> str:
    """From where to where, in the cells' own spelling."""
    if kind in {"numbers", "whole numbers"}:
        values = [(value, cell) for cell in cells if (value := as_number(cell)) is not None]
        return f", {around}{min(values)[1]} to {max(values)[1]}" if values else ""
    if kind == "dates":
        days = [cell for cell in cells if _DAY.fullmatch(cell)]
        # Other dates don't sort, and whose day comes first can't be told.
        return f", {around}{min(days)} to {max(days)}" if days else f", such as {cells[0]}"
    return f", such as {', '.join(list(dict.fromkeys(cells))[:EXAMPLES])}"


def _examples(cells: Sequence[str], *, is_sample: bool) -> str:
    counts = Counter(cells)
    shown = [cell for cell, _ in counts.most_common(200) if len(cell) <= EXAMPLE_CHARACTERS_MAX][:EXAMPLES]
    some = f", such as {', '.join(shown)}" if shown else ""
    about = "" if is_sample or len(counts) == 1 else f", {len(counts):,} different"
    return f"text{about}{some}"


def as_number(cell: str) -> float | None:
    """What a cell counts, whichever sign parts its decimals; None where it is no number."""
    digits = _NO_DIGITS.sub("", cell)
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma > point and (digits.count(",") == 1) and (point >= 0 or len(digits) - comma != 4):
        digits = digits.replace(".", "").replace(",", ".")
    elif digits.count(".") > 1:
        digits = digits.replace(".", "")
    try:
        return float(digits.replace(",", ""))
    except ValueError:
        return None
