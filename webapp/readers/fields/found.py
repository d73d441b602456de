"""What the rules for fields find, before the best of it is chosen."""

from dataclasses import dataclass, field
from decimal import Decimal

from webapp.readers.fields.dates import FoundDate
from webapp.readers.fields.words import PlacedWord, Row

INLINE, BESIDE, BELOW, WRAPPED, TITLE, BLOCK, BARE = "inline", "beside", "below", "wrapped", "title", "block", "bare"
"""Where a value is: behind its label in the same text, in the next column, below it, below it in a cell where lines are
wrapped, in the title, in an address; or it has no label."""


@dataclass(frozen=True)
class Value:
    """A value as the document writes it, and what it means."""

    text: str
    words: tuple[PlacedWord, ...]
    number: Decimal | None = None
    currency: str | None = None
    date: FoundDate | None = None
    rate: Decimal | None = None
    code: str | None = None
    is_checked: bool = True
    """Whether its check digits are right, where it has some."""
    until: FoundDate | None = None
    """The last day, where the value is a period."""
    others: tuple[Decimal, ...] = ()
    """The other amounts of its row, such as what a tax is computed on."""


@dataclass(frozen=True)
class Label:
    """A label in a row: its words are those from `start` to `end` of the piece."""

    kind: str
    weight: int
    row: Row
    piece: int
    start: int
    end: int
    rate: Decimal | None = None

    @property
    def words(self) -> tuple[PlacedWord, ...]:
        return self.row.pieces[self.piece].words[self.start : self.end]

    @property
    def has_colon(self) -> bool:
        return self.words[-1].text.endswith(":") or self._next_is_colon

    @property
    def _next_is_colon(self) -> bool:
        rest = self.row.pieces[self.piece].words[self.end :]
        return bool(rest) and rest[0].text == ":"

    @property
    def rest(self) -> tuple[PlacedWord, ...]:
        """The words of the piece behind it."""
        rest = self.row.pieces[self.piece].words[self.end :]
        return rest[1:] if self._next_is_colon else rest

    @property
    def is_alone(self) -> bool:
        return self.start == 0 and not self.rest


@dataclass(frozen=True)
class Candidate:
    """A value with the label that names it."""

    kind: str
    weight: int
    value: Value
    page: int
    place: int
    """The row, in the document's order."""
    how: str

    @property
    def rule(self) -> str:
        """What found it: the share of right answers is measured for each rule."""
        return f"{self.kind} {self.how} {self.weight}"


@dataclass
class Findings:
    """The labels and candidates of a document."""

    labels: list[Label] = field(default_factory=list)
    candidates: list[Candidate] = field(default_factory=list)

    def of(self, kind: str) -> list[Candidate]:
        """The candidates of a kind."""
        return [each for each in self.candidates if each.kind == kind]
