"""GET /corrections.jsonl: what people said of an org's documents, as a labelled set."""

import json
import tempfile
from typing import Any
from uuid import UUID

from flask import Blueprint, Response

from webapp.db import reading
from webapp.documents.correction_model import Correction
from webapp.library import corrections
from webapp.library.corrections import Target
from webapp.web import blobs
from webapp.web.access import ops_only, org_id

pages = Blueprint("correction_export", __name__)

_PER_READ = 1_000


@pages.get("/corrections.jsonl")
@ops_only
def show() -> Response:
    """A line for each correction: the file, the place, what was found, what is right. Nobody's name is in it."""
    org, behind = org_id(), None
    made = tempfile.TemporaryFile()  # noqa: SIM115 - the answer closes it
    while True:
        with reading(org):
            found = corrections.labelled(org, behind, _PER_READ)
        made.writelines(json.dumps(_line(*each), ensure_ascii=False).encode() + b"\n" for each in found)
        if len(found) < _PER_READ:
            break
        behind = found[-1][0].id
    made.seek(0)
    return blobs.download_made(made, "corrections.jsonl", "application/jsonl")


def _line(said: Correction, sha256: str) -> dict[str, Any]:
    return {
        "document_id": str(said.document_id),
        "sha256": sha256,
        "target": said.target,
        **_place(said),
        "verdict": said.verdict,
        "found": said.found,
        "value": said.value,
        "normalized": said.normalized,
        "at": said.at.isoformat(),
    }


def _place(said: Correction) -> dict[str, UUID | str | int | None]:
    if said.target == Target.CELL:
        place = {"table": said.nth + 1, "row": said.row_number, "column": said.column_number}
        return {"name": said.name, **place}
    return {"name": said.name, "nth": said.nth}
