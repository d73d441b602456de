"""The filters of a query, such as `kind:pdf`: their names, and what a value must look like."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum

from webapp.documents.states import DocumentStatus
from webapp.readers.fields.kinds import KIND_BY_FIELD
from webapp.readers.filetypes import FILE_TYPES

PAGES_MAX = 10**9
TAG_CHARACTERS_MAX = 100
TAG_DIVIDER = "/"


class FilterName(StrEnum):
    """What documents can be filtered by; each is written before a colon."""

    KIND = "kind"
    IN = "in"
    LANG = "lang"
    BEFORE = "before"
    AFTER = "after"
    PAGES = "pages"
    STATUS = "status"
    IS = "is"
    TAG = "tag"
    NOTE = "note"


_UNQUOTABLE = re.compile(r'["\u201c-\u201f\u00ab\u00bb\x00-\x1f\x7f-\x9f]')


class BadValue(ValueError):
    """A value that this filter does not have."""


@dataclass(frozen=True)
class Period:
    """A year, a month or a day: from its first day to the day after its last."""

    first: date
    after: date


@dataclass(frozen=True)
class Between:
    """Numbers from `least` to `most`."""

    least: int
    most: int


KINDS = frozenset({*KIND_BY_FIELD.values()} | {family for each in FILE_TYPES if (family := each.family)})
"""What people call documents, as in the column `kind`."""
ENDINGS: dict[str, frozenset[str]] = {
    ending.removeprefix("."): frozenset(each.content_type for each in FILE_TYPES if ending in each.endings)
    for kind in FILE_TYPES
    for ending in kind.endings
}
"""Content types by the ends of their files' names."""
STATES = {
    "partly-read": "partly_read",
    "kept": "kept",
}
"""What a document can be, beside its status: the filter `is:` and the status that it stands for."""
MARKS = ("favourite", "corrected")
"""What a person can have made of a document, also values of `is:`."""
STATUSES = frozenset({status.lower() for status in DocumentStatus} | set(STATES.values()))


def check(name: FilterName, value: str) -> None:
    """Raise BadValue where the filter has no such value."""
    _CHECKS[name](value)


def kind_of(value: str) -> str:
    """A kind or an ending of file names, in lower case."""
    kind = value.casefold().removeprefix(".").replace("-", "_")
    if kind not in KINDS and kind not in ENDINGS:
        raise BadValue
    return kind


def language_of(value: str) -> str:
    """The code of a language: "en", "pt"."""
    if not re.fullmatch(r"[A-Za-z]{2,3}", value):
        raise BadValue
    return value.lower()


def period_of(value: str) -> Period:
    """The year, month or day that a date names: "2026", "2026-03", "2026-03-31"."""
    found = re.fullmatch(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?", value)
    if found is None:
        raise BadValue
    year, month, day = (int(part) if part else None for part in found.groups())
    try:
        first = date(year or 0, 1 if month is None else month, 1 if day is None else day)
        return Period(first, _after(first, month, day))
    except (ValueError, OverflowError) as error:
        raise BadValue from error


def _after(first: date, month: int | None, day: int | None) -> date:
    if day:
        return first + timedelta(days=1)
    if month:
        return date(first.year + month // 12, month % 12 + 1, 1)
    return date(first.year + 1, 1, 1)


def numbers_of(value: str) -> Between:
    """The numbers that are meant by "12", ">100", ">=5", "<10", "<=9" and "5-10"."""
    if found := re.fullmatch(r"([0-9]{1,9})-([0-9]{1,9})", value):
        between = Between(int(found[1]), int(found[2]))
    elif found := re.fullmatch(r"(>=|<=|>|<|)([0-9]{1,9})", value):
        number = int(found[2])
        between = {
            ">": Between(number + 1, PAGES_MAX),
            ">=": Between(number, PAGES_MAX),
            "<": Between(0, number - 1),
            "<=": Between(0, number),
            "": Between(number, number),
        }[found[1]]
    else:
        raise BadValue
    if between.least > between.most:
        raise BadValue
    return between


def status_of(value: str) -> str:
    """A status, in lower case."""
    status = value.lower().replace("-", "_")
    if status not in STATUSES:
        raise BadValue
    return status


def state_of(value: str) -> str:
    """The status that `is:` stands for, or one of the MARKS."""
    state = value.lower().replace("_", "-")
    if state in MARKS:
        return state
    status = STATES.get(state)
    if status is None:
        raise BadValue
    return status


def plain_tag(value: str) -> str:
    """A tag's name, with spaces for what can't be quoted in a query: quotation marks and control characters.

    A slash divides a tag from the tags in it; without spaces around it, and with a name on both sides.
    """
    parts = (" ".join(part.split()) for part in _UNQUOTABLE.sub(" ", value).split(TAG_DIVIDER))
    return TAG_DIVIDER.join(part for part in parts if part)


def tag_of(value: str) -> str:
    """A tag as it is compared: as `plain_tag`, without regard to case."""
    tag = plain_tag(value).casefold()
    if not tag or len(tag) > TAG_CHARACTERS_MAX:
        raise BadValue
    return tag


def name_of(value: str) -> str:
    """Words of a file's name or title, or of a note."""
    if not any(map(str.isalnum, value)):
        raise BadValue
    return value


_CHECKS: dict[FilterName, Callable[[str], object]] = {
    FilterName.KIND: kind_of,
    FilterName.IN: name_of,
    FilterName.LANG: language_of,
    FilterName.BEFORE: period_of,
    FilterName.AFTER: period_of,
    FilterName.PAGES: numbers_of,
    FilterName.STATUS: status_of,
    FilterName.IS: state_of,
    FilterName.TAG: tag_of,
    FilterName.NOTE: name_of,
}
