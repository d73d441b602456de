"""Tags: names that people give to documents, by which they are found."""

from collections.abc import Sequence
from typing import cast
from uuid import UUID

from sqlalchemy import Table, delete, func, select
from sqlalchemy.dialects import postgresql

from webapp.clock import new_id
from webapp.db import session
from webapp.documents.tag_model import DocumentTag, Tag
from webapp.search.filters import BadValue, plain_tag, tag_of

TAGS_MAX = 50

_tags = cast(Table, Tag.__table__)
_document_tags = cast(Table, DocumentTag.__table__)


def named(names: Sequence[str]) -> dict[str, str]:
    """Names by how they are compared, each once; BadValue where one is empty or too long, or there are too many."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(tag_of(name), plain_tag(name))
    if len(found) > TAGS_MAX:
        raise BadValue
    return found


def of_document(org_id: UUID, document_id: UUID) -> list[str]:
    """The names of a document's tags, in alphabetical order."""
    of_it = select(Tag.name, Tag.word).join(
        DocumentTag, (DocumentTag.org_id == Tag.org_id) & (DocumentTag.tag_id == Tag.id)
    )
    rows = session().execute(of_it.where(DocumentTag.org_id == org_id, DocumentTag.document_id == document_id))
    return [row.name for row in sorted(rows, key=lambda row: row.word)]


def replace(org_id: UUID, document_id: UUID, names: Sequence[str]) -> None:
    """Let a document have these tags and no others; a tag is made where there is none of this name."""
    wanted = named(names)
    ids = _ids(org_id, wanted)
    gone = delete(_document_tags).where(_document_tags.c.org_id == org_id, _document_tags.c.document_id == document_id)
    session().execute(gone.where(_document_tags.c.tag_id.not_in(ids)))
    if ids:
        rows = [{"org_id": org_id, "document_id": document_id, "tag_id": tag_id} for tag_id in ids]
        session().execute(postgresql.insert(_document_tags).on_conflict_do_nothing(), rows)


def add(org_id: UUID, document_id: UUID, name: str) -> None:
    """Give a document one more tag; BadValue where the name can be none, or the document has TAGS_MAX."""
    replace(org_id, document_id, [*of_document(org_id, document_id), name])


def remove(org_id: UUID, document_id: UUID, name: str) -> None:
    """Take a tag from a document; nothing where it does not have it."""
    word = tag_of(name)
    replace(org_id, document_id, [each for each in of_document(org_id, document_id) if tag_of(each) != word])


def known(org_id: UUID, most: int = 200) -> list[str]:
    """The names of an org's tags, in alphabetical order."""
    names = select(_tags.c.name).where(_tags.c.org_id == org_id).order_by(_tags.c.word).limit(most)
    return list(session().scalars(names))


def _ids(org_id: UUID, wanted: dict[str, str]) -> list[UUID]:
    if not wanted:
        return []
    # Always in the same order, so that two who make the same tags don't wait for each other in a circle.
    rows = [{"id": new_id(), "org_id": org_id, "name": wanted[word], "word": word} for word in sorted(wanted)]
    session().execute(postgresql.insert(_tags).on_conflict_do_nothing(), rows)
    known = select(_tags.c.id).where(_tags.c.org_id == org_id, _tags.c.word.in_(wanted))
    return list(session().scalars(known))


def count(org_id: UUID) -> int:
    """How many tags an org has."""
    return session().scalar(select(func.count()).select_from(_tags).where(_tags.c.org_id == org_id)) or 0
