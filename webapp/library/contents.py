"""Documents that have the same bytes: they share a folder of answers, and parts of containers share their file, too.

The folder belongs to all documents that name it, and goes with the last of them. Whoever adds a document to a folder
holds the row of one that has it already (`hold`), so that this one can't be deleted meanwhile.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, or_, select

from webapp.db import session
from webapp.documents import blob_layout
from webapp.documents.model import Document

_documents = cast(Table, Document.__table__)


@dataclass(frozen=True)
class Home:
    """Where the answers about some bytes are kept, and the file of parts with these bytes."""

    answers_folder: str
    owner_id: UUID | None = None
    """The document that has the folder already; None for a new folder."""
    has_file: bool = False

    @property
    def blob_path(self) -> str:
        """The file that parts with these bytes share."""
        return blob_layout.shared_file(self.answers_folder)


def having(org_id: UUID, hashes: Collection[str]) -> ColumnElement[bool]:
    """An org's documents with one of these contents, said so that the three indexes of contents are used."""
    d = _documents.c
    found = d.org_id == org_id, d.sha256.in_(hashes)
    uploaded = d.parent_id.is_(None), d.deleted_at.is_(None)
    return or_(and_(*uploaded, *found), and_(d.deleted_at.is_not(None), *found), and_(d.parent_id.is_not(None), *found))


def homes(org_id: UUID, hashes: Collection[str]) -> dict[str, Home]:
    """For each of these contents that some document has, its folder: one with a shared file, if there is any."""
    d = _documents.c
    rows = select(d.id, d.sha256, d.answers_folder, d.blob_path).where(having(org_id, hashes))
    found: dict[str, Home] = {}
    for row in session().execute(rows.order_by(d.id)):
        folder = blob_layout.answers_folder(org_id, row.sha256, row.answers_folder)
        home = Home(folder, row.id, has_file=row.blob_path == blob_layout.shared_file(folder))
        if row.sha256 not in found or (home.has_file and not found[row.sha256].has_file):
            found[row.sha256] = home
    return found


def hold(org_id: UUID, ids: Collection[UUID]) -> bool:
    """Keep these documents from being deleted until the transaction ends; False where one of them is gone."""
    d = _documents.c
    rows = select(d.id).where(d.org_id == org_id, d.id.in_(ids)).order_by(d.id)
    # SQLite writes one transaction at a time, and knows no locks of rows.
    return len(session().execute(rows.with_for_update(read=True, key_share=True)).all()) == len(set(ids))


def folders_without_owner(org_id: UUID, folders: Mapping[str, str]) -> list[str]:
    """Of these folders of answers, each with its content, those that no document names any more."""
    d = _documents.c
    rows = select(d.sha256, d.answers_folder).where(having(org_id, set(folders.values())))
    named = {blob_layout.answers_folder(org_id, *row) for row in session().execute(rows)}
    return [folder for folder in folders if folder not in named]
