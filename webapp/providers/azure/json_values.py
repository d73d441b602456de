"""Reads values from foreign JSON: what has the wrong form is as if it were missing."""

import math
from collections.abc import Mapping
from typing import Any

OFFSET_MAX = 1 << 40


def items(holder: object, name: str) -> list[Mapping[str, Any]]:
    """The objects of a list; empty where there is no list."""
    found = holder.get(name) if isinstance(holder, Mapping) else None
    return [item for item in found if isinstance(item, Mapping)] if isinstance(found, list) else []


def text_of(holder: object, name: str) -> str:
    """A text; empty where there is none."""
    found = holder.get(name) if isinstance(holder, Mapping) else None
    return found if isinstance(found, str) else ""


def whole(holder: Mapping[str, Any], name: str) -> int:
    """A whole number from 0 on; 0 where there is none."""
    found = holder.get(name)
    is_number = isinstance(found, int) and not isinstance(found, bool)
    return min(max(found, 0), OFFSET_MAX) if is_number and isinstance(found, int) else 0


def number(holder: Mapping[str, Any], name: str) -> float | None:
    """A finite number; None where there is none."""
    return _finite(holder.get(name))


def numbers(holder: Mapping[str, Any], name: str) -> tuple[float, ...] | None:
    """A polygon's numbers; None where one of them is none."""
    found = holder.get(name)
    values = [_finite(value) for value in found] if isinstance(found, list) else []
    return tuple(value for value in values if value is not None) if values and None not in values else None


def first_region(holder: object) -> Mapping[str, Any]:
    """The position of something; an empty mapping where there is none."""
    regions = items(holder, "boundingRegions")
    return regions[0] if regions else {}


def region_page(region: Mapping[str, Any]) -> int | None:
    """The page of a region."""
    return whole(region, "pageNumber") or None


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)
