"""Chooses one value for each kind out of what was found, and makes fields of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from webapp.readers.fields.dates import FoundDate
from webapp.readers.fields.found import BARE, BELOW, BESIDE, BLOCK, INLINE, TITLE, WRAPPED, Candidate
from webapp.readers.fields.line_items import LineItems
from webapp.readers.fields.ruled import RuledField, ruled_field

_RANKS = {TITLE: 0, WRAPPED: 0, INLINE: 1, BESIDE: 1, BELOW: 2, BLOCK: 3, BARE: 4}


@dataclass(frozen=True)
class Paper:
    """What was read of a document of a known kind: its fields, and its lines."""

    found: tuple[RuledField, ...]
    items: LineItems | None = None
    caption: str = "Line items"


def in_order(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates from the best: a plain label before a weak one, a value near its label before one that is far."""
    return sorted(candidates, key=lambda each: (-each.weight, _RANKS[each.how], each.place))


def best_of(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    """The best candidate of each kind."""
    chosen: dict[str, Candidate] = {}
    for each in in_order(candidates):
        chosen.setdefault(each.kind, each)
    return chosen


class Days:
    """Decides whether days or months come first, for all dates of a document."""

    def __init__(self, candidates: Sequence[Candidate], *, is_american: bool | None) -> None:
        """`is_american` is None where the text does not say: then a date that could be another is doubtful."""
        found = [each for found in candidates for each in (found.value.date, found.value.until) if each]
        month_first, day_first = any(each.is_month_first for each in found), any(each.is_day_first for each in found)
        self._is_month_first = month_first or (bool(is_american) and not day_first)
        self._is_known = month_first != day_first or is_american is False

    def meant(self, found: FoundDate) -> date:
        """The day that a date means."""
        return found.other if self._is_month_first and found.other else found.day

    def of(self, candidate: Candidate | None) -> date | None:
        """The day that a candidate means; None where there is none."""
        return self.meant(candidate.value.date) if candidate and candidate.value.date else None

    def doubt(self, found: FoundDate) -> str | None:
        """Whether day and month could be the other way round."""
        return "order" if found.other and not self._is_known else None


def fields_of(
    paper: str, chosen: dict[str, Candidate], kinds: Iterable[str], days: Days, doubts: Mapping[str, str | None]
) -> Iterator[RuledField]:
    """The chosen values of these kinds as fields, in this order; `doubts` says what contradicts which."""
    for kind in kinds:
        if kind not in chosen:
            continue
        each, doubt = chosen[kind], doubts.get(kind)
        found = each.value.date
        if found:
            yield ruled_field(each, days.meant(found).isoformat(), doubt or days.doubt(found), paper=paper)
        elif each.value.number is not None:
            yield ruled_field(each, f"{each.value.number:.2f}", doubt, paper=paper)
        else:
            doubt = doubt or (None if each.value.is_checked else "iban")
            yield ruled_field(each, each.value.code or each.value.text, doubt, paper=paper)
