"""How numbers, sizes and times look in pages: template filters, with units but without sentences."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from flask import Flask

from webapp.clock import utc_now
from webapp.db.bounded import Count
from webapp.pipeline.transcript import clock_time
from webapp.readers.filetypes import filetype

_UNITS = ((365 * 86400, "year"), (30 * 86400, "month"), (86400, "day"), (3600, "hour"), (60, "minute"))


def filesize(size_bytes: int) -> str:
    """A size that a person can compare: 812 bytes, 14.2 kB, 3 MB."""
    size = float(size_bytes)
    if size < 1024:
        return f"{size_bytes} {'byte' if size_bytes == 1 else 'bytes'}"
    for unit in ("kB", "MB", "GB"):
        size /= 1024
        if size < 1000 or unit == "GB":
            return f"{size:.1f} {unit}" if size < 10 else f"{size:.0f} {unit}"
    raise AssertionError("the last unit always serves")


def count(number: int | Count) -> str:
    """A whole number with commas between thousands; "10,000+" where counting stopped there."""
    if isinstance(number, Count):
        return count(number.number) + ("+" if number.more else "")
    return f"{number:,}"


def percent(share: float) -> str:
    """A share of 1 as people write it: 33%. Only what is whole is 100%."""
    return f"{math.floor(round(share * 100, 6))}%"


def counts_json(counts: Mapping[Any, Count]) -> dict[str, Any]:
    """For programs: numbers, and beside them the names of those that are larger than they were counted."""
    return {
        "counts": {name: counted.number for name, counted in counts.items()},
        "counts_more": [name for name, counted in counts.items() if counted.more],
    }


def price(amount: float, currency: str) -> str:
    """An amount of money; of small ones the digits that tell something."""
    if amount == 0:
        return f"0 {currency}"
    return f"{amount:,.2f} {currency}" if amount >= 1 else f"{Decimal(f'{amount:.2g}'):f} {currency}"


def ago(moment: datetime) -> str:
    """How long ago something was; static/js/times.js keeps it true in an open page."""
    seconds = (utc_now() - moment).total_seconds()
    for size, unit in _UNITS:
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'} ago"
    return "moments ago"


def instant(moment: datetime) -> str:
    """An exact time, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def duration(seconds: float) -> str:
    """A span: 40 ms, 1.3 s, 2 min 5 s, 3 h 12 min."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 59.5:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def register(app: Flask) -> None:
    """Make the filters known to the templates."""
    for filter_ in (filesize, count, percent, price, ago, instant, duration, clock_time, filetype):
        app.add_template_filter(filter_)
