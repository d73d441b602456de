"""Rules: documents that a saved view shows are given tags, a kind and a title, when they are ready or all at once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Select, Table, delete, func, insert, select, update

from webapp.clock import new_id
from webapp.db import session
from webapp.documents.rule_model import Rule
from webapp.documents.view_model import SavedView
from webapp.library.rule_effects import Gifts, check_pattern
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter
from webapp.library.tags import named
from webapp.search.filters import KINDS, BadValue
from webapp.search.grammar import Mistake, parse

RULES_MAX = 50
NAME_CHARACTERS_MAX = 100
_rules, _views = cast(Table, Rule.__table__), cast(Table, SavedView.__table__)


class TooManyRules(ValueError):
    """An org has RULES_MAX rules."""


@dataclass(frozen=True)
class ShownRule:
    """A rule with the view that says which documents it is about."""

    id: UUID
    name: str
    view_id: UUID
    view_name: str
    matching: Matching
    gifts: Gifts
    is_on: bool

    @property
    def mistake(self) -> Mistake | None:
        """What is wrong with the query of its view, where that can't be read any more."""
        try:
            parse(self.matching.q)
        except Mistake as mistake:
            return mistake
        return None


def of_org(org_id: UUID) -> list[ShownRule]:
    """The rules of an org, in the order in which they are applied: the oldest first."""
    rows = session().execute(_asked(org_id).order_by(_rules.c.id))
    return [_shown(row) for row in rows]


def active(org_id: UUID) -> list[ShownRule]:
    """The rules that are on and whose views can be read."""
    rows = session().execute(_asked(org_id).where(_rules.c.is_on.is_(True)).order_by(_rules.c.id))
    return [rule for row in rows if (rule := _shown(row)).mistake is None]


def find(org_id: UUID, rule_id: UUID) -> ShownRule | None:
    """A rule; None where there is none."""
    row = session().execute(_asked(org_id).where(_rules.c.id == rule_id)).one_or_none()
    return _shown(row) if row else None


def of_view(org_id: UUID, view_id: UUID) -> list[str]:
    """The names of the rules that need a view."""
    names = select(_rules.c.name).where(_rules.c.org_id == org_id, _rules.c.view_id == view_id)
    return list(session().scalars(names.order_by(_rules.c.id)))


def check(values: Mapping[str, Any]) -> None:
    """Raise BadValue where a rule can't give this."""
    if "tags" in values:
        named(values["tags"])
    if values.get("kind") and values["kind"] not in KINDS:
        raise BadValue
    if values.get("title"):
        check_pattern(values["title"])


def add(org_id: UUID, values: Mapping[str, Any], by: str) -> UUID:
    """Make a rule; TooManyRules."""
    number = session().scalar(select(func.count()).select_from(_rules).where(_rules.c.org_id == org_id)) or 0
    if number >= RULES_MAX:
        raise TooManyRules
    rule_id = new_id()
    session().execute(insert(_rules), {"id": rule_id, "org_id": org_id, "created_by": by, **values})
    return rule_id


def change(org_id: UUID, rule_id: UUID, values: Mapping[str, Any]) -> None:
    """Let a rule be otherwise."""
    if values:
        session().execute(update(_rules).where(_rules.c.org_id == org_id, _rules.c.id == rule_id).values(**values))


def remove(org_id: UUID, rule_id: UUID) -> None:
    """Delete a rule; what it gave stays."""
    session().execute(delete(_rules).where(_rules.c.org_id == org_id, _rules.c.id == rule_id))


def _asked(org_id: UUID) -> Select[Any]:
    columns = (_views.c.name.label("view_name"), _views.c.query, _views.c.folder, _views.c.status)
    joined = _rules.join(_views, (_views.c.org_id == _rules.c.org_id) & (_views.c.id == _rules.c.view_id))
    return select(_rules, *columns).select_from(joined).where(_rules.c.org_id == org_id)


def _shown(row: Any) -> ShownRule:
    status = StatusFilter(row.status) if row.status else None
    tags: Sequence[str] = row.tags
    return ShownRule(
        row.id,
        row.name,
        row.view_id,
        row.view_name,
        Matching(status, row.query, row.folder),
        Gifts(row.id, row.name, tuple(tags), row.kind, row.title),
        row.is_on,
    )
