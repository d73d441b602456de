"""What lies in the bin, as conditions: it is in no list, no count and no search, until it is restored.

Lists of documents begin with `in_library`. What reads passages leaves out those of `binned` documents; the words of
their passages are marked as hidden when they go into the bin (webapp/search/hidden.py).
"""

from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, Select, Table, select

from webapp.documents.model import Document

_documents = cast(Table, Document.__table__)

in_library: ColumnElement[bool] = _documents.c.deleted_at.is_(None)
"""Whether a document does not lie in the bin."""


def binned(org_id: UUID) -> Select[UUID]:
    """The ids of the documents that lie in an org's bin: a list that both databases make once for a statement."""
    inner = _documents.alias("binned").c
    return select(inner.id).where(inner.org_id == org_id, inner.deleted_at.is_not(None))


# The same for statements that are texts: of the passage `chunks`, asked for each by itself, and for all at once.
IS_NOT_BINNED = "(SELECT deleted_at FROM documents WHERE documents.id = chunks.document_id) IS NULL"
NOT_AMONG_BINNED = "document_id NOT IN (SELECT id FROM documents WHERE org_id = :org_id AND deleted_at IS NOT NULL)"
