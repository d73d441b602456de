"""What a rule changes of documents: tags that they lack, a kind, a title made of a pattern; and how it is undone.

What a person said of a document stays: a title or a kind that a person gave is not changed, and a tag that the rule has
given before and a person took away is not given again.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, select
from sqlalchemy.dialects import postgresql

from webapp.clock import now
from webapp.db import session
from webapp.documents import events
from webapp.documents.model import Document
from webapp.documents.rule_model import RuleApplication
from webapp.documents.states import EventKind
from webapp.library import facts, fields, tags
from webapp.library.facts import TITLE_CHARACTERS_MAX, Fact
from webapp.library.filenames import stem
from webapp.readers.cleaning import clean_line
from webapp.search.filters import BadValue, tag_of

_documents, _applications = cast(Table, Document.__table__), cast(Table, RuleApplication.__table__)
PLACEHOLDERS = ("date", "seller", "kind", "name")
_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
# Whom a document is from, by the kinds of fields.
_SELLERS = ("supplier", "merchant", "bank", "sender")


@dataclass(frozen=True)
class Gifts:
    """What a rule gives; its id and name are noted beside what it has given."""

    rule_id: UUID
    name: str
    tags: Sequence[str] = ()
    kind: str | None = None
    title: str | None = None

    def as_json(self) -> dict[str, Any]:
        """As an operation keeps it."""
        return {
            "id": str(self.rule_id),
            "name": self.name,
            "tags": list(self.tags),
            "kind": self.kind,
            "title": self.title,
        }

    @classmethod
    def of(cls, kept: Mapping[str, Any]) -> "Gifts":
        """What an operation keeps."""
        return cls(UUID(kept["id"]), kept["name"], tuple(kept["tags"]), kept["kind"], kept["title"])


@dataclass(frozen=True)
class Effect:
    """What a rule would change of one document."""

    tags: Sequence[str] = ()
    """Those that it lacks."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """The new kind and title, where they differ."""
    before: Mapping[str, Any] = field(default_factory=dict)
    """The columns of these facts as they are."""

    def __bool__(self) -> bool:
        return bool(self.tags or self.facts)


@dataclass(frozen=True)
class Known:
    """What is known of a document before a rule is applied."""

    row: Any
    tags: Sequence[str]
    seller: str | None
    given_before: Collection[str]


def check_pattern(pattern: str) -> None:
    """Raise BadValue for a title that is no pattern: an unknown placeholder, or a brace without a partner."""
    names = _PLACEHOLDER.findall(pattern)
    rest = _PLACEHOLDER.sub("", pattern)
    if not set(names) <= {*PLACEHOLDERS} or "{" in rest or "}" in rest or len(pattern) > TITLE_CHARACTERS_MAX:
        raise BadValue


def known(org_id: UUID, gifts: Gifts, ids: Sequence[UUID]) -> dict[UUID, Known]:
    """What is known of these documents, by their ids, in their order."""
    d, a = _documents.c, _applications.c
    columns = (d.id, d.filename, d.title, d.title_is_guess, d.kind, d.document_date, d.found, d.published_run_id)
    rows = {row.id: row for row in session().execute(select(*columns).where(d.org_id == org_id, d.id.in_(ids)))}
    tagged = tags.of_documents(org_id, rows) if gifts.tags else {}
    sellers = _sellers(org_id, list(rows)) if "{seller}" in (gifts.title or "") else {}
    given = select(a.document_id, a.tags).where(a.org_id == org_id, a.rule_id == gifts.rule_id)
    before = {row.document_id: row.tags for row in session().execute(given.where(a.document_id.in_(ids)))}
    return {
        each: Known(
            rows[each],
            [tag.name for tag in tagged.get(each, ())],
            sellers.get(each),
            {tag_of(name) for name in before.get(each, ())},
        )
        for each in ids
        if each in rows
    }


def effect_of(gifts: Gifts, document: Known, *, anew: bool = False) -> Effect:
    """What a rule would change of a document; `anew`, where a person asks for it: also tags that were taken away."""
    row = document.row
    has = {tag_of(name) for name in document.tags} | (set() if anew else {*document.given_before})
    lacking = [name for name in gifts.tags if tag_of(name) not in has]
    if len(document.tags) + len(lacking) > tags.TAGS_MAX:
        lacking = []
    said, wanted = row.found or {}, {}
    if gifts.kind and Fact.KIND not in said and row.kind != gifts.kind:
        wanted[Fact.KIND.value] = gifts.kind
    kind = wanted.get(Fact.KIND.value, row.kind)
    title = title_of(gifts.title, row, kind, document.seller) if gifts.title else None
    if title and Fact.TITLE not in said and (row.title != title or row.title_is_guess):
        wanted[Fact.TITLE.value] = title
    before: dict[str, Any] = {name: getattr(row, name) for name in wanted}
    if Fact.TITLE.value in wanted:
        before["title_is_guess"] = row.title_is_guess
    return Effect(lacking, wanted, before)


def title_of(pattern: str, row: Any, kind: str | None, seller: str | None) -> str | None:
    """A title as a pattern says; None where something that it names is not known."""
    values = {
        "date": row.document_date.isoformat() if row.document_date else None,
        "seller": seller,
        "kind": kind.replace("_", " ") if kind else None,
        "name": stem(row.filename),
    }
    if not all(values[name] for name in _PLACEHOLDER.findall(pattern)):
        return None
    return clean_line(_PLACEHOLDER.sub(lambda found: values[found[1]] or "", pattern), TITLE_CHARACTERS_MAX)


def apply(
    org_id: UUID, gifts: Gifts, ids: Sequence[UUID], *, run_id: UUID | None = None, anew: bool = False
) -> dict[UUID, dict[str, Any]]:
    """Give documents, which are locked, what a rule gives: of each that changed, what undoes it.

    It is noted in their histories, in this run or in that of the result that readers see.
    """
    changed: dict[UUID, dict[str, Any]] = {}
    for document_id, document in known(org_id, gifts, ids).items():
        effect = effect_of(gifts, document, anew=anew)
        if effect.tags:
            tags.change_many(org_id, {document_id: effect.tags}, is_added=True)
        if effect.facts:
            facts.set_found(org_id, document_id, effect.facts)
        if effect:
            changed[document_id] = {"tags": list(effect.tags), "facts": effect.facts, "before": effect.before}
            _note(org_id, document_id, gifts, effect, run_id or document.row.published_run_id)
        _keep(org_id, gifts, document_id, run_id, document.given_before, effect)
    return changed


def revert(org_id: UUID, document_id: UUID, undo: Mapping[str, Any]) -> bool:
    """Take back what a rule gave a document, as far as nobody has changed it since; whether anything changed."""
    if undo.get("tags"):
        tags.change_many(org_id, {document_id: undo["tags"]}, is_added=False)
    given, d = undo.get("facts") or {}, _documents.c
    asked = select(d.title, d.kind, d.found).where(d.org_id == org_id, d.id == document_id)
    row = session().execute(asked).mappings().one_or_none()
    if row is None:
        return False
    mine = [name for name, value in given.items() if row[name] == value and name not in (row["found"] or {})]
    columns = {name: undo["before"][name] for name in mine}
    if Fact.TITLE.value in columns:
        columns["title_is_guess"] = undo["before"]["title_is_guess"]
    if columns:
        facts.set_found(org_id, document_id, columns)
    return bool(undo.get("tags") or columns)


def _sellers(org_id: UUID, ids: Sequence[UUID]) -> dict[UUID, str]:
    found = {}
    for document_id, its in fields.of_documents(org_id, ids).items():
        named = [each.value for kind in _SELLERS for each in its if each.kind == kind and each.value]
        if named:
            found[document_id] = named[0]
    return found


def _note(org_id: UUID, document_id: UUID, gifts: Gifts, effect: Effect, run_id: UUID | None) -> None:
    if run_id is None:
        return
    details = {"rule": gifts.name, "tags": list(effect.tags), **effect.facts}
    events.record(org_id, document_id, run_id, EventKind.RULE_APPLIED, details=details)


def _keep(
    org_id: UUID, gifts: Gifts, document_id: UUID, run_id: UUID | None, before: Collection[str], effect: Effect
) -> None:
    given = sorted({*before, *(tag_of(name) for name in effect.tags)})
    row = {"org_id": org_id, "rule_id": gifts.rule_id, "document_id": document_id, "run_id": run_id, "tags": given}
    kept = postgresql.insert(_applications).values(**row)
    again = {"run_id": run_id, "tags": given, "applied_at": now()}
    session().execute(kept.on_conflict_do_update(index_elements=["rule_id", "document_id"], set_=again))
