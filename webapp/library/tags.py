"""Tags: names that people give to documents, by which they are found."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Select,
    Subquery,
    Table,
    bindparam,
    delete,
    false,
    func,
    literal_column,
    or_,
    select,
    union_all,
)
from sqlalchemy.dialects import postgresql

from webapp.batches import batches
from webapp.clock import new_id
from webapp.db import session
from webapp.documents.tag_model import DocumentTag, Tag
from webapp.search.filters import TAG_DIVIDER, BadValue, plain_tag, tag_of

TAGS_MAX = 50
WITHIN_MAX = 5_000
"""So many tags are looked for where one is asked for with all in it."""
LOOKED_UP_MAX = 100
"""So many tags are looked up one by one."""
COLORS = ("blue", "yellow", "green", "brown", "red", "purple")
_IDS_PER_STATEMENT = 500

_tags = cast(Table, Tag.__table__)
_document_tags = cast(Table, DocumentTag.__table__)


_REMOVE = delete(_document_tags).where(
    *(_document_tags.c[name] == bindparam(f"the_{name}") for name in ("org_id", "document_id", "tag_id"))
)


@dataclass(frozen=True)
class ShownTag:
    """A tag as it is shown; without a color it is grey."""

    name: str
    color: str | None = None


def named(names: Sequence[str], most: int | None = TAGS_MAX) -> dict[str, str]:
    """Names by how they are compared, each once; BadValue where one is empty or too long, or there are too many."""
    found: dict[str, str] = {}
    for name in names:
        found.setdefault(tag_of(name), plain_tag(name))
    if most is not None and len(found) > most:
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


def change_many(org_id: UUID, wanted: Mapping[UUID, Sequence[str]], *, is_added: bool) -> dict[UUID, list[str] | None]:
    """Give each of these documents these tags, or take them away: the names that changed, where some did.

    None for a document that would have more than TAGS_MAX. BadValue where a name can be none.
    """
    words = named([name for names in {tuple(names) for names in wanted.values()} for name in names], most=None)
    if is_added:
        _make(org_id, words)
    ids = {word: tag_id for tag_id, word in _known_ids(org_id, words)}
    having: dict[UUID, set[UUID]] = {each: set() for each in wanted}
    dt = _document_tags.c
    for row in session().execute(
        select(dt.document_id, dt.tag_id).where(dt.org_id == org_id, dt.document_id.in_(wanted))
    ):
        having[row.document_id].add(row.tag_id)
    changed: dict[UUID, list[str] | None] = {}
    rows = []
    for document_id, names in wanted.items():
        due = [word for word in named(names) if word in ids and (ids[word] in having[document_id]) != is_added]
        if is_added and len(having[document_id]) + len(due) > TAGS_MAX:
            changed[document_id] = None
        elif due:
            changed[document_id] = [words[word] for word in due]
            rows += [{"org_id": org_id, "document_id": document_id, "tag_id": ids[word]} for word in due]
    _write(rows, is_added=is_added)
    return changed


def _write(rows: Sequence[Mapping[str, UUID]], *, is_added: bool) -> None:
    if rows and is_added:
        session().execute(postgresql.insert(_document_tags).on_conflict_do_nothing(), rows)
    elif rows:
        connection = session().connection()
        connection.execute(_REMOVE, [{f"the_{name}": value for name, value in row.items()} for row in rows])


def known(org_id: UUID, most: int = 200) -> list[str]:
    """The names of an org's tags, in alphabetical order."""
    names = select(_tags.c.name).where(_tags.c.org_id == org_id).order_by(_tags.c.word).limit(most)
    return list(session().scalars(names))


def within(org_id: UUID, word: str) -> list[UUID]:
    """The ids of the tag that is compared as this, and of the tags in it."""
    in_it = _tags.c.word.startswith(f"{word}{TAG_DIVIDER}", autoescape=True)
    found = select(_tags.c.id).where(_tags.c.org_id == org_id, or_(_tags.c.word == word, in_it))
    return list(session().scalars(found.order_by(_tags.c.id).limit(WITHIN_MAX)))


def having(org_id: UUID, word: str, most: int) -> Subquery:
    """The documents that have a tag or one in it, each once; called where `are_few` says that these are few."""
    some = _having(org_id, within(org_id, word), most).subquery()
    return select(some.c.document_id).distinct().subquery()


def are_few(org_id: UUID, word: str, few: int) -> bool:
    """Whether a tag and those in it are given no more often than that; not where very many tags are in it."""
    ids = within(org_id, word)
    if len(ids) > LOOKED_UP_MAX:
        return False
    some = _having(org_id, ids, few + 1).subquery()
    return (session().scalar(select(func.count()).select_from(some)) or 0) <= few


def _having(org_id: UUID, tag_ids: Sequence[UUID], most: int) -> Select[Any]:
    """So many documents of these tags: each tag is looked up by itself, or a planner may read all rows of the org."""
    dt = _document_tags.c
    limit: ColumnElement[int] = literal_column(str(most))
    each = [
        select(select(dt.document_id).where(dt.org_id == org_id, dt.tag_id == tag_id).limit(limit).subquery())
        for tag_id in tag_ids
    ]
    nothing = select(dt.document_id).where(false())
    found = union_all(*each).subquery() if each else nothing.subquery()
    return select(found.c.document_id).limit(limit)


def of_documents(org_id: UUID, document_ids: Collection[UUID]) -> dict[UUID, list[ShownTag]]:
    """The tags of these documents in alphabetical order; documents without any are left out."""
    of_them = select(DocumentTag.document_id, Tag.name, Tag.word, Tag.color).join(
        DocumentTag, (DocumentTag.org_id == Tag.org_id) & (DocumentTag.tag_id == Tag.id)
    )
    found: dict[UUID, list[ShownTag]] = {}
    for part in batches(document_ids, _IDS_PER_STATEMENT):
        rows = session().execute(of_them.where(DocumentTag.org_id == org_id, DocumentTag.document_id.in_(part)))
        for row in sorted(rows, key=lambda row: cast(str, row.word)):
            found.setdefault(row.document_id, []).append(ShownTag(row.name, row.color))
    return found


def _ids(org_id: UUID, wanted: dict[str, str]) -> list[UUID]:
    _make(org_id, wanted)
    return [tag_id for tag_id, _ in _known_ids(org_id, wanted)]


def _make(org_id: UUID, wanted: Mapping[str, str]) -> None:
    # Always in the same order, so that two who make the same tags don't wait for each other in a circle.
    rows = [{"id": new_id(), "org_id": org_id, "name": wanted[word], "word": word} for word in sorted(wanted)]
    if rows:
        session().execute(postgresql.insert(_tags).on_conflict_do_nothing(), rows)


def _known_ids(org_id: UUID, wanted: Mapping[str, str]) -> list[tuple[UUID, str]]:
    if not wanted:
        return []
    known = select(_tags.c.id, _tags.c.word).where(_tags.c.org_id == org_id, _tags.c.word.in_(wanted))
    # Nobody deletes them before the documents have them.
    known = known.with_for_update(read=True, key_share=True)
    return [(row.id, row.word) for row in session().execute(known)]


def count(org_id: UUID) -> int:
    """How many tags an org has."""
    return session().scalar(select(func.count()).select_from(_tags).where(_tags.c.org_id == org_id)) or 0
