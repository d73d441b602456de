"""Makes fields of what the rules found, each with the share of right answers of its rule."""

from dataclasses import dataclass

from webapp.readers.extraction import Field
from webapp.readers.fields.found import Candidate
from webapp.readers.fields.measured import share_of_right
from webapp.readers.fields.vocabulary import KINDS
from webapp.readers.fields.words import polygon


@dataclass(frozen=True)
class RuledField:
    """A field, and the rule that found it."""

    field: Field
    rule: str


def ruled_field(
    candidate: Candidate, normalized: str, doubt: str | None, *, name: str = "", value: str = "", paper: str = ""
) -> RuledField:
    """A candidate as a field; one that is doubtful has no confidence.

    The rules of each kind of document (`paper`) but the invoice's are counted apart.
    """
    rule = f"{paper} {candidate.rule}".strip()
    field = Field(
        name=name or KINDS[candidate.kind][0],
        value=value or candidate.value.text,
        confidence=None if doubt else share_of_right(rule),
        page=candidate.page,
        polygon=polygon(candidate.value.words),
        kind=candidate.kind,
        normalized=normalized,
        doubt=doubt,
    )
    return RuledField(field, rule)
