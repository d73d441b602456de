"""Further names: what else a document's file was called where it was uploaded again. By these it is found, too."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import Table, func, select
from sqlalchemy.dialects import postgresql

from webapp.db import session
from webapp.documents.name_model import FurtherName
from webapp.library import names
from webapp.runs import transitions

NAMES_MAX = 20
_names = cast(Table, FurtherName.__table__)


@dataclass(frozen=True)
class OtherName:
    """A name, and the folder that the file lay in; "" for none."""

    filename: str
    folder: str


def add(org_id: UUID, document_id: UUID, filename: str, folder: str | None) -> None:
    """Keep another name of a document; DocumentMissing. Of a document that has NAMES_MAX no more are kept."""
    transitions.lock(document_id, org_id)
    of_it = _names.c.org_id == org_id, _names.c.document_id == document_id
    if (session().scalar(select(func.count()).select_from(_names).where(*of_it)) or 0) >= NAMES_MAX:
        return
    row = {"org_id": org_id, "document_id": document_id, "filename": filename, "folder": folder or ""}
    session().execute(postgresql.insert(_names).values(**row).on_conflict_do_nothing())
    names.add(org_id, document_id, filename)


def of_document(org_id: UUID, document_id: UUID) -> Sequence[OtherName]:
    """The further names of a document, the oldest first."""
    of_it = _names.c.org_id == org_id, _names.c.document_id == document_id
    rows = session().execute(select(_names).where(*of_it).order_by(_names.c.uploaded_at, _names.c.filename))
    return [OtherName(row.filename, row.folder) for row in rows]
