"""Reads the day on which a file says that it was made."""

import re
from datetime import date

YEARS = range(1950, 2100)
# "D:20260304112233+01'00'" in a PDF, "2026-03-04T11:22:33Z" elsewhere.
_DAY = re.compile(r"(?:D:)?(\d{4})-?(\d\d)-?(\d\d)(?!\d-)")
# What programs write that know no day: where their calendars begin, and the day of a template.
_NO_DAYS = frozenset(
    {date(1970, 1, 1), date(1980, 1, 1), date(2000, 1, 1), date(2013, 12, 23), date(2013, 1, 27)}
)  # fmt: skip


def day_of_creation(said: str | None) -> str | None:
    """The day in ISO 8601; None where there is none, or a program made it up."""
    found = _DAY.match((said or "").strip())
    if found is None:
        return None
    try:
        day = date(*map(int, found.groups()))
    except ValueError:
        return None
    return day.isoformat() if day.year in YEARS and day not in _NO_DAYS else None
