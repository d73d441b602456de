"""Reads dates in six languages."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

from webapp.readers.fields.words import folded

YEARS = (1950, 2099)
# The months in all six languages; a date may have their first letters only, three at least.
MONTHS = tuple(
    tuple(map(folded, names.split()))
    for names in (
        "january januar janeiro enero janvier января январь",
        "february februar fevereiro febrero février февраля февраль",
        "march märz maerz mrz março marzo mars марта март",
        "april abril avril апреля апрель",
        "may mai maio mayo мая май",
        "june juni junho junio juin июня июнь",
        "july juli julho julio juillet июля июль",
        "august agosto août aout августа август",
        "september setembro septiembre setiembre septembre сентября сентябрь",
        "october oktober outubro octubre octobre октября октябрь",
        "november novembro noviembre novembre ноября ноябрь",
        "december dezember dezembro diciembre décembre декабря декабрь",
    )
)
_NUMBERS = re.compile(r"(\d{1,4})([./-])(\d{1,2})\2(\d{2,4})\.?")
_FILLERS = frozenset({"de", "del", "of", "the", "den", "le", "г", "года", "год", "do"})
_DAY = re.compile(r"[«\"]?(\d{1,2})(?:\.|st|nd|rd|th|er|º|°|-го)?[»\"]?,?")
_YEAR = re.compile(r"((?:19|20)\d\d)[.,;]?(?:г\.?)?")
WORDS_MAX = 7


@dataclass(frozen=True, slots=True)
class FoundDate:
    """A date; `other` is what it means if day and month are the other way round."""

    day: date
    other: date | None
    words: int
    """How many words of the text it takes."""
    is_month_first: bool = False
    """Whether it can only be read with the month first; `is_day_first` likewise."""
    is_day_first: bool = False


def read_date(words: Iterable[str]) -> FoundDate | None:
    """Read the date that a text begins with."""
    parts = list(words)[:WORDS_MAX]
    while parts and not parts[0].strip(".,"):
        parts = parts[1:]
    return (_numeric(parts) or _written(parts)) if parts else None


def _numeric(parts: list[str]) -> FoundDate | None:
    match = _NUMBERS.fullmatch(parts[0].rstrip(",;)г.").lstrip("("))
    if match is None:
        return None
    taken = 2 if len(parts) > 1 and folded(parts[1]) in {"г", "года"} else 1
    first, middle, last = int(match[1]), int(match[3]), int(match[4])
    if len(match[1]) == 4:
        found = _day(first, middle, last)
        return FoundDate(found, None, taken) if found else None
    if len(match[1]) == 3 or len(match[4]) == 3:
        return None
    year = last + 2000 if len(match[4]) == 2 else last
    usual, american = _day(year, middle, first), _day(year, first, middle) if match[2] == "/" else None
    if usual is None:
        return FoundDate(american, None, taken, is_month_first=True) if american else None
    is_day_first = american is None and match[2] == "/"
    return FoundDate(usual, None if american == usual else american, taken, is_day_first=is_day_first)


def _written(parts: list[str]) -> FoundDate | None:
    """A date with its month's name: "3. Mai 2026", "May 3, 2026", "3 de maio de 2026"."""
    numbers: list[tuple[int, str]] = []
    month = year = None
    day = None
    for place, part in enumerate(parts):
        if month is None and (found := month_number(part)):
            month = found
        elif year is None and month and (match := _YEAR.fullmatch(part)):
            year = int(match[1])
        elif day is None and (match := _DAY.fullmatch(part)):
            day = int(match[1])
            numbers.append((place, part))
        elif folded(part) not in _FILLERS or place == 0:
            return None
        if day and month and year:
            taken = place + 1
            if taken < len(parts) and folded(parts[taken]) in {"г", "года"}:
                taken += 1
            made = _day(year, month, day)
            return FoundDate(made, None, taken) if made else None
    return None


def month_number(word: str) -> int | None:
    """The number of the month that a word names or begins."""
    name = folded(word)
    if len(name) < 3 or not name.isalpha():
        return None
    return next(
        (number for number, names in enumerate(MONTHS, 1) if any(each.startswith(name) for each in names)), None
    )


def _day(year: int, month: int, day: int) -> date | None:
    if not YEARS[0] <= year <= YEARS[1]:
        return None
    try:
        return date(year, month, day)
    except ValueError:
        return None
