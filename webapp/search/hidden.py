"""Hides the passages of documents that go into the bin from searches, and shows them again when they come back.

Their rows stay as they are, with vectors and connections. Each database's index of words has a mark for what is hidden;
vectors are left out by the bin itself (webapp/documents/binned.py).
"""

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import Boolean, Uuid, bindparam, text

from webapp.batches import batches
from webapp.db import is_postgresql, session

_IDS_PER_STATEMENT = 500


def hide(org_id: UUID, document_ids: Collection[UUID]) -> None:
    """Let no search find the passages of these documents."""
    _mark(org_id, document_ids, is_hidden=True)


def show(org_id: UUID, document_ids: Collection[UUID]) -> None:
    """Let searches find them again."""
    _mark(org_id, document_ids, is_hidden=False)


def _mark(org_id: UUID, document_ids: Collection[UUID], *, is_hidden: bool) -> None:
    mark = _ON_POSTGRESQL if is_postgresql() else _ON_SQLITE
    for part in batches(document_ids, _IDS_PER_STATEMENT):
        session().execute(mark, {"org": org_id, "ids": part, "hidden": is_hidden})
    if document_ids and not is_postgresql():
        session().execute(_OTHER_MATRIX, {"org": org_id})


_ON_POSTGRESQL, _ON_SQLITE = (
    text(statement).bindparams(
        bindparam("org", type_=Uuid),
        bindparam("hidden", type_=Boolean),
        bindparam("ids", type_=Uuid, expanding=True),
    )
    for statement in (
        """
        UPDATE chunk_words SET hidden = :hidden WHERE org_id = :org AND document_id IN :ids AND hidden <> :hidden
        """,
        """
        UPDATE chunks_fts_ids SET hidden = :hidden WHERE org_id = :org AND hidden <> :hidden
            AND chunk_id IN (SELECT id FROM chunks WHERE document_id IN :ids)
        """,
    )
)
# Which vectors are compared has changed, as when passages are deleted.
_OTHER_MATRIX = text("UPDATE chunk_versions SET version = random() WHERE org_id = :org").bindparams(
    bindparam("org", type_=Uuid)
)
