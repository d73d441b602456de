"""The sections of a document's page: those that people read, and behind the last of them what Docmill did."""

from collections.abc import Iterator
from dataclasses import dataclass

from flask import url_for

from webapp.documents.kinds import is_recording
from webapp.readers.filetypes import filetype
from webapp.web.document.results import ShownResult

# A shorter text needs no list of its headings.
OUTLINE_PAGES_MIN = 3
OUTLINE_BYTES_MIN = 20_000


@dataclass(frozen=True)
class Section:
    """One of the tabs."""

    name: str
    url: str
    count: int | None = None


def to_read(found: ShownResult, shown: str) -> list[Section]:
    """What people read, and in any case what is shown; the last one leads to `details`."""
    last = Section("details", _url(found, "details"))
    inside = [Section("parts", _url(found, "parts"), found.counts["parts"])] if found.counts["parts"] else []
    if found.document.is_kept:
        return [Section("file", _url(found, "show")), last]
    is_list = bool(inside) and filetype(found.document.content_type).is_archive
    return [
        *inside,
        Section("text", url_for("document.show", document_id=found.document.id, part=1 if is_list else None)),
        *([_outline(found)] if shown == "outline" or _has_outline(found) else []),
        Section("fields", _url(found, "fields"), found.counts["fields"]),
        Section("tables", _url(found, "tables"), found.counts["tables"]),
        Section("connections", url_for("connections.show", document_id=found.document.id), _connection_count(found)),
        last,
    ]


def details(found: ShownResult) -> list[Section]:
    """What few people ask for: facts, how well pages were read, passages, and the history."""
    known = [] if found.document.is_kept else [*_pages(found), _passages(found)]
    return [
        Section("details", _url(found, "details")),
        *known,
        Section("runs", _url(found, "runs"), found.counts["runs"]),
    ]


def _url(found: ShownResult, endpoint: str) -> str:
    return url_for(f"document.{endpoint}", document_id=found.document.id)


def _passages(found: ShownResult) -> Section:
    return Section("passages", _url(found, "chunks"), found.counts["chunks"])


def _outline(found: ShownResult) -> Section:
    return Section("outline", url_for("outline.show", document_id=found.document.id))


def _has_outline(found: ShownResult) -> bool:
    document = found.document
    pages = document.page_count
    is_long = document.size_bytes >= OUTLINE_BYTES_MIN if pages is None else pages >= OUTLINE_PAGES_MIN
    return is_long and found.view.has_result and not is_recording(document.content_type)


def _pages(found: ShownResult) -> Iterator[Section]:
    """The list of the pages that were not read well, where there are any."""
    number = found.pages.in_part + found.pages.not_read if found.pages else 0
    if number:
        yield Section("pages", url_for("readings.show", document_id=found.document.id), number)


def _connection_count(found: ShownResult) -> int | None:
    """None while they are looked for and none is known: 0 would say that there are none."""
    return found.counts["connections"] or (None if found.is_looking else 0)
