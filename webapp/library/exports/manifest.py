"""The manifest of an export: what it is, of which version, and how much is in it."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from webapp.library.exports.rows import DamagedExport

MANIFEST, SUMS = "manifest.json", "SHA256SUMS"
FORMAT = "docmill-export"
VERSION = 1
"""Raised where an earlier version of Docmill could not read it any more."""


class NewerExport(Exception):
    """It was written by a later version, in a format that this one does not know."""


@dataclass(frozen=True)
class Manifest:
    """What is said of an export as a whole."""

    id: str
    org: str
    created_at: str
    is_whole: bool
    """Whether it is everything that an org had, or a selection."""
    documents: int
    members: int
    """How many files the ZIP has, but for the manifest and the checksums."""
    size_bytes: int
    """How much these take when they are unpacked."""
    missing: int = 0
    """How many documents had lost their file before."""

    def written(self) -> bytes:
        """As the ZIP has it."""
        return json.dumps({"format": FORMAT, "version": VERSION, **asdict(self)}, indent=1).encode() + b"\n"

    @classmethod
    def read(cls, data: bytes) -> "Manifest":
        """What `written` wrote; DamagedExport, NewerExport."""
        try:
            found = json.loads(data)
        except (ValueError, RecursionError) as error:
            raise DamagedExport(f"{MANIFEST} is no JSON") from error
        if not isinstance(found, Mapping) or found.get("format") != FORMAT:
            raise DamagedExport(f"{MANIFEST} is not one of Docmill")
        if _whole(found.get("version")) > VERSION:
            raise NewerExport
        return cls(
            id=str(found.get("id", ""))[:100],
            org=str(found.get("org", ""))[:200],
            created_at=str(found.get("created_at", ""))[:40],
            is_whole=found.get("is_whole") is True,
            **{name: _whole(found.get(name)) for name in ("documents", "members", "size_bytes", "missing")},
        )


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise DamagedExport(f"{MANIFEST} lacks a number")
    return value
