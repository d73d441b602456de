"""What a rule would change in the library, without changing anything: numbers, and examples before and after."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from webapp.db.bounded import Count
from webapp.library import rule_effects, selection
from webapp.library.rule_effects import Effect
from webapp.library.rules import ShownRule
from webapp.library.views import LOOKED_AT_MAX

TRIED_MAX = 1_000
EXAMPLES_MAX = 5
_AT_ONCE = 200


@dataclass(frozen=True)
class Example:
    """A document as it is, and what the rule would change of it."""

    document_id: UUID
    filename: str
    title: str | None
    kind: str | None
    effect: Effect


@dataclass(frozen=True)
class Trial:
    """How many documents a rule is about, how many of them were tried, and how many it would change."""

    matched: Count
    tried: int
    changed: int
    examples: Sequence[Example]


def try_out(org_id: UUID, rule: ShownRule) -> Trial:
    """Try a rule on the first TRIED_MAX documents of its view."""
    matched = selection.count(org_id, rule.matching, looked_at=LOOKED_AT_MAX)
    tried, changed, after = 0, 0, None
    examples: list[Example] = []
    while tried < TRIED_MAX and (ids := selection.ids(org_id, rule.matching, after=after, limit=_AT_ONCE)):
        for document_id, document in rule_effects.known(org_id, rule.gifts, ids).items():
            if effect := rule_effects.effect_of(rule.gifts, document, anew=True):
                changed += 1
                examples.append(_example(document_id, document.row, effect))
        tried, after = tried + len(ids), ids[-1]
    return Trial(matched, tried, changed, examples[:EXAMPLES_MAX])


def _example(document_id: UUID, row: Any, effect: Effect) -> Example:
    return Example(document_id, row.filename, None if row.title_is_guess else row.title, row.kind, effect)
