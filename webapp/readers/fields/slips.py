"""Finds the lines of a till's slip, which have no heading: a text, then an amount, with "2 x 1.50" before or below."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from webapp.readers.fields.amounts import CENT, read_amount
from webapp.readers.fields.labels import Phrases, folded_words
from webapp.readers.fields.line_items import ItemColumn, LineItems
from webapp.readers.fields.values import amount_at_end
from webapp.readers.fields.words import PlacedWord, Row

LINES_MAX = 300
_SUMS = frozenset({"net", "total", "tax", "paid", "change"})
_TIMES = re.compile(r"(\d{1,4}(?:[.,]\d{1,3})?)\s?(?:[xX×*х]|Stk\.?|шт\.?|@)\s?(.{0,20})")
_MARKS = frozenset("xX×*х")
# Behind an amount: the class of its tax.
_CLASS = re.compile(r"[A-Z*]|\(?[A-Z]\)|\d")
_COLUMNS = (("description", "Description"), ("quantity", "Quantity"), ("price", "Price"), ("amount", "Amount"))


@dataclass
class _Line:
    text: str
    amount: str
    quantity: str = ""
    price: str = ""


def find_slip_lines(rows: Sequence[Row], labels: Phrases) -> LineItems | None:
    """The lines above the first sum, where they add up to one of the sums below; else None."""
    end = next((number for number, row in enumerate(rows) if _is_sum(row, labels)), None)
    if end is None:
        return None
    lines, taken = _lines(rows[:end])
    wanted = set(_sums(rows[end:]))
    total = sum((found.value for each in lines if (found := read_amount(each.amount))), Decimal(0))
    if not lines or not any(abs(total - each) <= CENT for each in wanted):
        return None
    columns = [ItemColumn(kind, name, 0, 0) for kind, name in _COLUMNS]
    has_counts = any(each.quantity for each in lines)
    if not has_counts:
        columns = [columns[0], columns[-1]]
    cells = [
        [each.text, each.quantity, each.price, each.amount] if has_counts else [each.text, each.amount]
        for each in lines
    ]
    top, bottom = min(row.top for row in taken), max(row.bottom for row in taken)
    return LineItems(taken[0].page, columns, cells, taken, [(taken[0].page, top, bottom)])


def _is_sum(row: Row, labels: Phrases) -> bool:
    match = labels.longest(folded_words(row.pieces[0].words))
    if match is None or match.kind not in _SUMS:
        return False
    behind = [*row.pieces[0].words[match.words :], *(word for piece in row.pieces[1:] for word in piece.words)]
    return amount_at_end(behind) is not None


def _sums(rows: Sequence[Row]) -> Iterator[Decimal]:
    for row in rows:
        parted = _parted(row.words)
        found = read_amount(parted[1]) if parted else None
        if found:
            yield found.value


def _lines(rows: Sequence[Row]) -> tuple[list[_Line], list[Row]]:
    lines: list[_Line] = []
    taken: list[Row] = []
    count: tuple[str, str] | None = None
    before: Row | None = None
    for row in rows[-LINES_MAX:]:
        counted, parted = _TIMES.fullmatch(row.text.replace("  ", " ").strip()), _parted(row.words)
        price = _price(counted[2]) if counted else None
        of_above = _of_above(before, counted[1], price, parted) if counted and price else None
        if before and of_above:
            lines.append(of_above)
            taken += [before, row]
        elif counted and price:
            count = _counted(lines, counted[1], price)
            taken.append(row)
        elif parted and any(map(str.isalpha, parted[0])):
            lines.append(_line(*parted))
            taken.append(row)
            if count:
                lines[-1].quantity, lines[-1].price = count
                count = None
        before = None if parted or counted else row
    return lines, taken


def _of_above(before: Row | None, quantity: str, price: str, parted: tuple[str, str] | None) -> _Line | None:
    """A line of two rows: its text, then "2 x 1.50" and what that makes."""
    if before is None or parted is None or not _makes(quantity, price, parted[1]):
        return None
    is_both = price in parted[0].split()
    return _Line(before.text, parted[1], quantity, price) if is_both else None


def _counted(lines: Sequence[_Line], quantity: str, price: str) -> tuple[str, str] | None:
    """Give "2 x 1.50" to the line above, if it makes that line's amount; else it is the next line's."""
    if lines and not lines[-1].quantity and _makes(quantity, price, lines[-1].amount):
        lines[-1].quantity, lines[-1].price = quantity, price
        return None
    return quantity, price


def _makes(quantity: str, price: str, amount: str) -> bool:
    parts = [read_amount(each) for each in (quantity, price, amount)]
    if not (parts[0] and parts[1] and parts[2]):
        return False
    return abs(parts[0].value * parts[1].value - parts[2].value) <= CENT


def _line(text: str, amount: str) -> _Line:
    """A line; "2 x Coffee" and "Coffee 2 x 1.50" have their quantity in the text."""
    words = text.split()
    at = next((number for number, word in enumerate(words) if word in _MARKS), 0)
    if at > 1 and words[at - 1].isdigit() and len(words) > at + 1 and read_amount(words[at + 1]):
        return _Line(" ".join(words[: at - 1]), amount, words[at - 1], words[at + 1])
    if words[0].isdigit() and len(words) > 1 + (at == 1):
        return _Line(" ".join(words[1 + (at == 1) :]), amount, words[0])
    return _Line(text, amount)


def _price(text: str) -> str | None:
    """The price behind "2 x": an amount with cents, perhaps with what the line costs behind it."""
    first = text.split(" ", maxsplit=1)[0] if text else ""
    found = read_amount(first)
    return first if found and found.has_cents else None


def _parted(words: Sequence[PlacedWord]) -> tuple[str, str] | None:
    """A row as text and the amount with cents that it ends with; None where it has none."""
    end = len(words)
    if end > 1 and _CLASS.fullmatch(words[-1].text):
        end -= 1
    for start in range(max(0, end - 3), end):
        text = " ".join(word.text for word in words[start:end])
        found = read_amount(text)
        if found and found.has_cents:
            return " ".join(word.text for word in words[:start]), text
    return None
