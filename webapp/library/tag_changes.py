"""Changes of tags themselves: another name, another color, two made one, deleted; each can be undone.

A tag takes the tags in it along: "tax" renamed to "taxes" makes "taxes/2025" of "tax/2025". What a change took from
documents or gave them is in rows of its own, written by the database alone, however many documents there are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, and_, delete, false, insert, literal, select, true, update
from sqlalchemy.dialects import postgresql

from webapp.clock import new_id, now
from webapp.db import session
from webapp.documents.model import Document
from webapp.documents.tag_model import DocumentTag, Tag, TagChange, TagChangeDocument
from webapp.library import tags
from webapp.library.tags import COLORS
from webapp.search.filters import TAG_DIVIDER, BadValue, plain_tag, tag_of

_tags, _document_tags = cast(Table, Tag.__table__), cast(Table, DocumentTag.__table__)
_changes, _changed = cast(Table, TagChange.__table__), cast(Table, TagChangeDocument.__table__)
_documents = cast(Table, Document.__table__)
SHOWN_MAX = 10


class TagAction(StrEnum):
    """What was done with a tag."""

    RENAME = "rename"
    MERGE = "merge"
    """Renamed to a name that another tag had: its documents are those of both."""
    COLOR = "color"
    DELETE = "delete"


class Taken(ValueError):
    """Another tag has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


@dataclass(frozen=True)
class _Move:
    """A tag with the name that it is to have, and the tag that has this name already."""

    tag: Any
    name: str
    other_id: UUID | None


def rename(org_id: UUID, tag_id: UUID, name: str, by: str, *, may_merge: bool = False) -> UUID | None:
    """Give a tag and all in it another name: the id of the change, None where there is no such tag or nothing changes.

    BadValue where it can't be called so, Taken where another tag is, unless they may become one.
    """
    tree = _tree(org_id, tag_id)
    if not tree or tree[0].name == plain_tag(name):
        return None
    moves = _moves(org_id, tree, plain_tag(name))
    merged = [move for move in moves if move.other_id]
    if merged and not may_merge:
        raise Taken(merged[0].name)
    change = _add(org_id, TagAction.MERGE if merged else TagAction.RENAME, tree, by, plain_tag(name))
    for move in merged:
        _give(org_id, change, move)
    _remove(org_id, change, [move.tag.id for move in merged])
    for move in moves:
        if move.other_id is None:
            _update(org_id, move.tag.id, name=move.name, word=tag_of(move.name))
    return change


def paint(org_id: UUID, tag_id: UUID, color: str | None, by: str) -> UUID | None:
    """Give a tag a color, None for none: the id of the change; BadValue for one that tags don't have."""
    if color is not None and color not in COLORS:
        raise BadValue
    tree = _tree(org_id, tag_id)
    if not tree or tree[0].color == color:
        return None
    change = _add(org_id, TagAction.COLOR, tree[:1], by)
    _update(org_id, tag_id, color=color)
    return change


def remove(org_id: UUID, tag_id: UUID, by: str) -> UUID | None:
    """Delete a tag and all in it; the documents stay. The id of the change, None where there is no such tag."""
    tree = _tree(org_id, tag_id)
    if not tree:
        return None
    change = _add(org_id, TagAction.DELETE, tree, by)
    _remove(org_id, change, [tag.id for tag in tree])
    return change


def undo(org_id: UUID, change_id: UUID) -> bool:
    """Let tags and documents be as before a change; False where there is none to be undone. Taken where another tag
    has got one of the names.
    """
    c = _changes.c
    asked = select(_changes).where(c.org_id == org_id, c.id == change_id, c.undone_at.is_(None))
    row = session().execute(asked.with_for_update()).one_or_none()
    if row is None:
        return False
    session().execute(_taking_back(org_id, change_id))
    for before in row.before:
        _restore(org_id, before, is_color=row.action == TagAction.COLOR)
    session().execute(_giving_back(org_id, change_id))
    session().execute(update(_changes).where(c.org_id == org_id, c.id == change_id).values(undone_at=now()))
    return True


def newest(org_id: UUID) -> Sequence[Any]:
    """The last changes of an org, the newest first."""
    rows = select(_changes).where(_changes.c.org_id == org_id).order_by(_changes.c.id.desc()).limit(SHOWN_MAX)
    return session().execute(rows).all()


def get(org_id: UUID, tag_id: UUID) -> Any:
    """A tag; None where there is none."""
    return session().execute(select(_tags).where(_tags.c.org_id == org_id, _tags.c.id == tag_id)).one_or_none()


def _tree(org_id: UUID, tag_id: UUID) -> Sequence[Any]:
    """A tag and those in it, locked: itself first."""
    tag = get(org_id, tag_id)
    if tag is None:
        return []
    asked = select(_tags).where(_tags.c.org_id == org_id, _tags.c.id.in_(tags.within(org_id, tag.word)))
    rows = session().execute(asked.order_by(_tags.c.id).with_for_update()).all()
    return sorted(rows, key=lambda row: (row.id != tag_id, row.word))


def _moves(org_id: UUID, tree: Sequence[Any], name: str) -> list[_Move]:
    root = tree[0]
    if tag_of(name).startswith(f"{root.word}{TAG_DIVIDER}"):
        # It would lie in itself.
        raise BadValue
    depth = root.name.count(TAG_DIVIDER) + 1
    named = {tag.id: TAG_DIVIDER.join([name, *tag.name.split(TAG_DIVIDER)[depth:]]) for tag in tree}
    words = {tag_of(each): id_ for id_, each in named.items()}
    asked = select(_tags.c.id, _tags.c.word).where(_tags.c.org_id == org_id, _tags.c.word.in_(words))
    others = {row.word: row.id for row in session().execute(asked) if row.id not in named}
    return [_Move(tag, named[tag.id], others.get(tag_of(named[tag.id]))) for tag in tree]


def _add(org_id: UUID, action: TagAction, tree: Sequence[Any], by: str, new_name: str | None = None) -> UUID:
    change_id = new_id()
    before = [{"id": str(tag.id), "name": tag.name, "word": tag.word, "color": tag.color} for tag in tree]
    row = {"id": change_id, "org_id": org_id, "action": action, "name": tree[0].name, "new_name": new_name}
    session().execute(insert(_changes), {**row, "before": before, "by": by})
    return change_id


def _update(org_id: UUID, tag_id: UUID, **values: str | None) -> None:
    session().execute(update(_tags).where(_tags.c.org_id == org_id, _tags.c.id == tag_id).values(**values))


def _give(org_id: UUID, change_id: UUID, move: _Move) -> None:
    """Give the documents of a tag the one that it becomes, where they don't have it."""
    other = _document_tags.alias()
    has_other = select(literal(1)).where(
        other.c.org_id == org_id,
        other.c.document_id == _document_tags.c.document_id,
        other.c.tag_id == move.other_id,
    )
    noted = _noted(org_id, change_id, literal(move.other_id, _tags.c.id.type), is_added=True)
    noted = noted.where(_document_tags.c.tag_id == move.tag.id, ~has_other.exists())
    # Where two tags of the tree become one, their documents are noted once.
    session().execute(postgresql.insert(_changed).from_select(_COLUMNS, noted).on_conflict_do_nothing())
    given = select(_changed.c.org_id, _changed.c.document_id, _changed.c.tag_id)
    given = given.where(*_of_change(org_id, change_id), _changed.c.is_added.is_(True))
    columns = ("org_id", "document_id", "tag_id")
    session().execute(postgresql.insert(_document_tags).from_select(columns, given).on_conflict_do_nothing())


def _remove(org_id: UUID, change_id: UUID, tag_ids: Sequence[UUID]) -> None:
    if not tag_ids:
        return
    noted = _noted(org_id, change_id, _document_tags.c.tag_id, is_added=False)
    noted = noted.where(_document_tags.c.tag_id.in_(tag_ids))
    session().execute(insert(_changed).from_select(_COLUMNS, noted))
    session().execute(delete(_tags).where(_tags.c.org_id == org_id, _tags.c.id.in_(tag_ids)))


_COLUMNS = ("org_id", "change_id", "tag_id", "document_id", "is_added")


def _noted(org_id: UUID, change_id: UUID, tag_id: ColumnElement[UUID], *, is_added: bool) -> Any:
    columns = (
        _document_tags.c.org_id,
        literal(change_id, _changes.c.id.type),
        tag_id,
        _document_tags.c.document_id,
        true() if is_added else false(),
    )
    return select(*columns).where(_document_tags.c.org_id == org_id)


def _of_change(org_id: UUID, change_id: UUID) -> list[ColumnElement[bool]]:
    return [_changed.c.org_id == org_id, _changed.c.change_id == change_id]


def _restore(org_id: UUID, before: Any, *, is_color: bool) -> None:
    tag_id = UUID(before["id"])
    asked = select(_tags.c.id, _tags.c.word).where(_tags.c.org_id == org_id, _tags.c.word == before["word"])
    other = session().execute(asked.where(_tags.c.id != tag_id)).first()
    if other is not None and not is_color:
        raise Taken(before["name"])
    old = {"color": before["color"]} if is_color else {"name": before["name"], "word": before["word"]}
    if get(org_id, tag_id) is not None:
        _update(org_id, tag_id, **old)
    elif not is_color:
        session().execute(insert(_tags), {**old, "id": tag_id, "org_id": org_id, "color": before["color"]})


def _taking_back(org_id: UUID, change_id: UUID) -> Any:
    given = select(literal(1)).where(
        *_of_change(org_id, change_id),
        _changed.c.is_added.is_(True),
        _changed.c.tag_id == _document_tags.c.tag_id,
        _changed.c.document_id == _document_tags.c.document_id,
    )
    return delete(_document_tags).where(_document_tags.c.org_id == org_id, given.exists())


def _giving_back(org_id: UUID, change_id: UUID) -> Any:
    taken = select(_changed.c.org_id, _changed.c.document_id, _changed.c.tag_id)
    taken = taken.join(_tags, and_(_tags.c.org_id == _changed.c.org_id, _tags.c.id == _changed.c.tag_id))
    taken = taken.where(*_of_change(org_id, change_id), _changed.c.is_added.is_(False))
    columns = ("org_id", "document_id", "tag_id")
    return postgresql.insert(_document_tags).from_select(columns, taken).on_conflict_do_nothing()
