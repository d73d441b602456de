"""The fields of a document for its page, some at a time: each has its forms, and some documents have thousands."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from flask import url_for

from webapp.library.fields import ShownField

FIELDS_SHOWN = 300


def part(document_id: UUID, shown: Sequence[ShownField], start: int) -> dict[str, Any]:
    """What the template shows: those from a place on, and the ways to the others."""
    end = start + FIELDS_SHOWN
    return {
        "fields": shown[start:end],
        "previous_url": _url(document_id, max(0, start - FIELDS_SHOWN)) if start else None,
        "next_url": _url(document_id, end) if end < len(shown) else None,
    }


def start_of(shown: Sequence[ShownField], key: str) -> int | None:
    """From which place on the part is that has the field with this key; None for the first part."""
    place = next((place for place, each in enumerate(shown) if each.key == key), 0)
    return place // FIELDS_SHOWN * FIELDS_SHOWN or None


def _url(document_id: UUID, start: int) -> str:
    return url_for("document.fields", document_id=document_id, start=start or None)
