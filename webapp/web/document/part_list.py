"""The files that lie in a document, some at a time."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from flask import url_for

from webapp.db import reading
from webapp.library import lookup, parts
from webapp.web.access import org_id, services
from webapp.web.document_view import DocumentView, document_views
from webapp.web.shapes import document_json

PARTS_SHOWN = 50


@dataclass(frozen=True)
class PartList:
    """Some of a container's parts, in its order, and the cursor for those after them."""

    parts: Sequence[DocumentView]
    next_cursor: str | None

    def json(self) -> dict[str, Any]:
        """The same for programs."""
        return {"parts": [document_json(part) for part in self.parts], "next_cursor": self.next_cursor}

    def next_url(self, document_id: UUID) -> str | None:
        """The address of the next ones."""
        return url_for("document.parts", document_id=document_id, cursor=self.next_cursor) if self.next_cursor else None


def read(document_id: UUID, start: int) -> PartList:
    """The parts from a place in the container on."""
    org = org_id()
    with reading(org):
        ids = parts.page(org, document_id, start=start, limit=PARTS_SHOWN + 1)
        rows = lookup.rows(org, ids)
        views = document_views(services().queue, rows[:PARTS_SHOWN])
    number = rows[PARTS_SHOWN].document.part_number if len(rows) > PARTS_SHOWN else None
    return PartList(views, str(number) if number is not None else None)
