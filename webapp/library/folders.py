"""The folders that documents were uploaded with: names that people gave, which never become paths of this machine."""

from collections.abc import Collection
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Subquery, Table, and_, func, literal_column, or_, select, union_all

from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.readers.archives.members import NAMELESS, clean_path
from webapp.search.filters import BadValue, plain_tag, tag_of

CHARACTERS_MAX = 1_000
_documents = cast(Table, Document.__table__)
# The character behind "/": all that lies below "Tax" sorts between "Tax/" and "Tax0".
_BEHIND_SLASH = "0"


def clean_folder(raw: str | None) -> str | None:
    """A folder, fit to be shown: "Tax/2025"; None where none is left of it."""
    given = (raw or "").replace("\0", "").strip()[: 4 * CHARACTERS_MAX]
    found = clean_path(given)
    return None if found == NAMELESS and NAMELESS not in given else found[-CHARACTERS_MAX:].lstrip("/")


def folder_of(path: str | None) -> str | None:
    """The folder of a file that a browser names with the folder that was chosen: "Tax" of "Tax/a.pdf".

    None for a path of its sender's whole machine, which nobody meant to tell.
    """
    folder, slash, _ = (path or "").rpartition("/")
    is_of_machine = (path or "").startswith("/") or "\\" in (path or "") or ":" in folder.partition("/")[0]
    return None if is_of_machine or not slash else clean_folder(folder)


def is_within(folder: str, column: ColumnElement[str | None] = _documents.c.folder) -> ColumnElement[bool]:
    """Whether a document is of this folder, or of one in it."""
    return or_(*_within(folder, column))


def _within(folder: str, column: ColumnElement[str | None]) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return column == folder, and_(column > f"{folder}/", column < f"{folder}{_BEHIND_SLASH}")


def tag_of_folder(folder: str) -> str | None:
    """The tag that a folder becomes: "Tax/2025" as it is; None where it is too long for a tag or has no name."""
    name = plain_tag(folder)
    try:
        tag_of(name)
    except BadValue:
        return None
    return name


def tags_of(org_id: UUID, ids: Collection[UUID]) -> dict[UUID, list[str]]:
    """The tags that the folders of these documents become, where they have one."""
    d = _documents.c
    rows = session().execute(select(d.id, d.folder).where(d.org_id == org_id, d.id.in_(ids), d.folder.is_not(None)))
    return {row.id: [name] for row in rows if (name := tag_of_folder(row.folder))}


def having(org_id: UUID, folder: str, most: int) -> Subquery:
    """The documents of a folder and of those in it, some of them where they are more than `most`."""
    d = _documents.c
    each: list[Any] = []
    for condition in _within(folder, d.folder):
        found = select(d.id.label("document_id")).where(d.org_id == org_id, condition, in_library)
        each.append(found.limit(literal_column(str(most))).subquery().select())
    return union_all(*each).subquery()


def are_few(org_id: UUID, folder: str, few: int) -> bool:
    """Whether no more documents than that are of this folder and of those in it."""
    number = session().scalar(select(func.count()).select_from(having(org_id, folder, few + 1)))
    return (number or 0) <= few
