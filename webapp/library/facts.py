"""Facts: what a document is called, its kind and its date, as a person says them, beside what was found.

The columns of `documents` hold what everybody sees and searches. Where a person says a fact, `documents.found` has what
was found; `publish` renews that and leaves the columns alone. Who said it, and when, is in the corrections.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import date
from enum import StrEnum
from pathlib import PurePath
from typing import Any, cast
from uuid import UUID

from sqlalchemy import RowMapping, Table, select, update

from webapp.db import session
from webapp.documents.model import Document
from webapp.library import corrections, names
from webapp.library.corrections import ABSENT, Target
from webapp.library.filenames import ENDING_CHARACTERS_MAX, NAMELESS, clean_filename
from webapp.readers.cleaning import clean_line, clean_text
from webapp.search import word_rows
from webapp.search.filters import KINDS, BadValue

TITLE_CHARACTERS_MAX = 300
NOTE_CHARACTERS_MAX = 10_000
PERSON = "person"
"""Where a date is from that a person gave."""
_documents = cast(Table, Document.__table__)


class Fact(StrEnum):
    """A fact of a document that a person may know better. Its value is the name of its column."""

    TITLE = "title"
    FILENAME = "filename"
    KIND = "kind"
    DATE = "document_date"


_COLUMNS: Mapping[Fact, tuple[str, ...]] = {
    Fact.TITLE: ("title", "title_is_guess"),
    Fact.FILENAME: ("filename",),
    Fact.KIND: ("kind",),
    Fact.DATE: ("document_date", "document_date_from"),
}


def check(fact: Fact, text: str) -> str:
    """The value of a fact as it is kept, "" for none; BadValue where it can't be this."""
    return _CHECKS[fact](text)


def change(org_id: UUID, document_id: UUID, by: str, said: Mapping[Fact, str | None]) -> None:
    """Let these facts be what a person says ("" for none), or, for None, what was found; BadValue."""
    row, found = _known(org_id, document_id)
    new: dict[str, Any] = {}
    known = {each.name: each for each in corrections.of_document(org_id, document_id, Target.FACT)}
    for fact, typed in said.items():
        if typed is None:
            new |= _columns(found.pop(fact, {}))
            if fact in known:
                corrections.remove(org_id, known[fact].id)
            continue
        machines = found.setdefault(fact, {name: _plain(row[name]) for name in _COLUMNS[fact]})
        text = _with_ending(typed, machines["filename"]) if fact is Fact.FILENAME else check(fact, typed)
        new |= _said(fact, text)
        place = {"org_id": org_id, "document_id": document_id, "target": Target.FACT, "name": fact, "nth": 0}
        what = corrections.said(text, machines[fact]) if text else ABSENT
        corrections.put(known.get(fact), place, what, machines[fact], by)
    _write(org_id, document_id, {**new, "found": found or None})


def kept(org_id: UUID, document_id: UUID, described: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a document that was read anew: what a person said stays, and what was found is noted beside it."""
    row, found = _known(org_id, document_id)
    if not found:
        return dict(described)
    columns = dict(described)
    for fact in (Fact(name) for name in found if name != Fact.FILENAME):
        found[fact] = {name: _plain(described[name]) for name in _COLUMNS[fact]}
        columns |= {name: row[name] for name in _COLUMNS[fact]}
    return {**columns, "found": found}


def write_note(org_id: UUID, document_id: UUID, note: str) -> None:
    """Let a document have this note; "" for none; BadValue where it is too long."""
    _update(org_id, document_id, {"note": check_note(note) or None})


def check_note(text: str) -> str:
    """A note as it is kept; BadValue where it is too long."""
    note = clean_text(text).strip()
    if len(note) > NOTE_CHARACTERS_MAX:
        raise BadValue
    return note


def set_favourite(org_id: UUID, document_id: UUID, is_favourite: bool) -> None:
    """Mark a document as a favourite of its org, or no longer."""
    _update(org_id, document_id, {"favourite": is_favourite or None})


def set_found(org_id: UUID, document_id: UUID, columns: Mapping[str, Any]) -> None:
    """Let a title or a kind be what was found; called for facts that no person says otherwise."""
    new = dict(columns)
    if Fact.TITLE.value in new:
        new.setdefault("title_is_guess", False)
    _write(org_id, document_id, new)


def date_origin(org_id: UUID, document_id: UUID) -> tuple[str | None, Collection[str]]:
    """Where a document's date is from, and which of its facts a person said."""
    row, found = _known(org_id, document_id)
    return row["document_date_from"], found.keys()


def set_found_date(org_id: UUID, document_id: UUID, day: date | None, origin: str | None) -> None:
    """Let a document be of the day that was found."""
    _update(org_id, document_id, {"document_date": day, "document_date_from": origin})


def _known(org_id: UUID, document_id: UUID) -> tuple[RowMapping, dict[str, Any]]:
    columns = [name for each in _COLUMNS.values() for name in each]
    asked = select(*_documents.c[(*columns, "found")])
    row = session().execute(asked.where(_documents.c.org_id == org_id, _documents.c.id == document_id)).mappings().one()
    return row, dict(row["found"] or {})


def _write(org_id: UUID, document_id: UUID, new: Mapping[str, Any]) -> None:
    is_renamed = not new.keys().isdisjoint({"title", "filename"})
    if is_renamed:
        names.rename(org_id, document_id, new)
    _update(org_id, document_id, new)
    if is_renamed:
        # Passages are found by these names, too.
        word_rows.write_all(session().connection(), org_id, document_id)


def _update(org_id: UUID, document_id: UUID, new: Mapping[str, Any]) -> None:
    own = update(_documents).where(_documents.c.org_id == org_id, _documents.c.id == document_id)
    session().execute(own.values(**new))


def _said(fact: Fact, text: str) -> dict[str, Any]:
    match fact:
        case Fact.TITLE:
            return {"title": text or None, "title_is_guess": False}
        case Fact.DATE:
            day = date.fromisoformat(text) if text else None
            return {"document_date": day, "document_date_from": PERSON if day else None}
        case _:
            return {fact.value: text or None}


def _plain(value: Any) -> Any:
    """As JSON has it."""
    return value.isoformat() if isinstance(value, date) else value


def _columns(found: Mapping[str, Any]) -> dict[str, Any]:
    """Back from JSON."""
    columns = dict(found)
    if day := columns.get("document_date"):
        columns["document_date"] = date.fromisoformat(day)
    return columns


def _with_ending(name: str, uploaded: str) -> str:
    """A file's new name. It ends as the file that was uploaded: what a file is does not change with its name."""
    cleaned = clean_filename(_filename(name))
    ending = PurePath(uploaded).suffix
    if len(ending) > ENDING_CHARACTERS_MAX or cleaned.casefold().endswith(ending.casefold()):
        return cleaned
    return clean_filename(f"{cleaned}{ending}")


def _filename(text: str) -> str:
    if len(text) > 10 * TITLE_CHARACTERS_MAX or clean_filename(text) == NAMELESS:
        raise BadValue
    return text


def _title(text: str) -> str:
    title = clean_line(text, TITLE_CHARACTERS_MAX + 1) or ""
    if len(title) > TITLE_CHARACTERS_MAX:
        raise BadValue
    return title


def _kind(text: str) -> str:
    if text and text not in KINDS:
        raise BadValue
    return text


def _date(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat() if text else ""
    except ValueError as error:
        raise BadValue from error


_CHECKS: Mapping[Fact, Callable[[str], str]] = {
    Fact.TITLE: _title,
    Fact.FILENAME: _filename,
    Fact.KIND: _kind,
    Fact.DATE: _date,
}
