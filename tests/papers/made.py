"""Made-up receipts, bank statements, contracts and letters, each with what a reader must find in it."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape

from tests.invoices.facts import CURRENCIES, LANGUAGES
from tests.invoices.parts import STYLE
from tests.invoices.wording import Wording
from tests.papers.names import Names

Labels = Mapping[str, Mapping[str, tuple[str, ...]]]


@dataclass
class Draft:
    """One document while it is written: chance, names, forms of dates and amounts, labels, and the truth so far."""

    chance: random.Random
    language: str
    held_out: bool
    labels: Mapping[str, tuple[str, ...]]
    truth: dict[str, tuple[str, ...]] = field(default_factory=dict)
    lines: list[tuple[str, ...]] = field(default_factory=list)
    columns: tuple[str, ...] = ()
    has_money: bool = True

    def __post_init__(self) -> None:
        self.names = Names(self.chance, self.language, self.held_out)
        # No currency tells an American letter or contract from a British one.
        currencies = [each for each in CURRENCIES[self.language] if self.has_money or each != "USD"]
        self.currency = self.chance.choice(currencies)
        self.words = Wording(self.chance, self.language, self.currency)
        self._chosen = {key: self.chance.choice(options) for key, options in self.labels.items()}

    def __getitem__(self, key: str) -> str:
        """One of the labels of a thing: the same one each time."""
        return self._chosen[key]

    def say(self, kind: str, *values: str) -> None:
        """Note that the document holds this."""
        self.truth[kind] = values


Layout = Callable[[Draft], str]


@dataclass(frozen=True)
class Made:
    """A finished document with its truth; `lines` are the cells of its table, in the order of `columns`."""

    name: str
    layout: str
    language: str
    html: str
    truth: dict[str, tuple[str, ...]]
    lines: tuple[tuple[str, ...], ...]
    columns: tuple[str, ...]
    is_american: bool
    """Whether its dates have the month first."""


@dataclass(frozen=True)
class Kind:
    """One kind of document: layouts and labels to write the rules with, and others to measure them on."""

    name: str
    known: tuple[Layout, ...]
    held_out: tuple[Layout, ...]
    labels: Labels
    held_out_labels: Labels
    has_money: bool = True


def made(kind: Kind, *, held_out: bool, rounds: int, seed: int) -> Iterator[Made]:
    """So many documents of each layout in each language."""
    for layout in kind.held_out if held_out else kind.known:
        for language in LANGUAGES:
            for number in range(rounds):
                yield _one(kind, layout, language, f"{layout.__name__}-{language}-{number}", seed, held_out=held_out)


def _one(kind: Kind, layout: Layout, language: str, name: str, seed: int, *, held_out: bool) -> Made:
    labels = (kind.held_out_labels if held_out else kind.labels)[language]
    draft = Draft(random.Random(f"{seed} {kind.name} {name}"), language, held_out, labels, has_money=kind.has_money)
    html = layout(draft)
    return Made(
        f"{kind.name}-{name}",
        layout.__name__,
        language,
        html,
        draft.truth,
        tuple(draft.lines),
        draft.columns,
        draft.currency == "USD",
    )


def labels_of(text: str) -> dict[str, tuple[str, ...]]:
    """Labels by what they name, out of lines such as "total: Total / Total due"."""
    found = {}
    for line in text.strip().splitlines():
        key, _, options = line.strip().partition(": ")
        found[key] = tuple(each.strip() for each in options.split(" / "))
    return found


def sheet(body: str, style: str = "") -> str:
    """A whole HTML page."""
    return (
        f"<!doctype html><html><head><meta charset=utf-8><style>{STYLE}{style}</style></head><body>{body}</body></html>"
    )


def slip(body: str, style: str = "") -> str:
    """A till's slip: a narrow page."""
    return sheet(
        body,
        "@page{size:80mm 220mm;margin:4mm}body{font-size:8pt}td{padding:1px 2px}table{width:100%}.r{text-align:right;white-space:nowrap}"
        + style,
    )


def two(rows: Sequence[tuple[str, str]], css: str = "") -> str:
    """Label at the left, value at the right edge."""
    cells = "".join(
        f"<tr><td>{escape(key)}</td><td class=r style='text-align:right'>{escape(value)}</td></tr>"
        for key, value in rows
    )
    return f"<table class='{css}'>{cells}</table>"


def table(heading: Sequence[str], rows: Sequence[Sequence[str]], css: str, right: frozenset[int] = frozenset()) -> str:
    """A table; the columns in `right` are set flush right."""

    def cell(tag: str, number: int, text: str) -> str:
        side = " style='text-align:right;white-space:nowrap'" if number in right else ""
        return f"<{tag}{side}>{text}</{tag}>"

    head = "".join(cell("th", number, escape(text)) for number, text in enumerate(heading))
    body = "".join(
        "<tr>" + "".join(cell("td", number, text) for number, text in enumerate(row)) + "</tr>" for row in rows
    )
    return f"<table class='items {css}'><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
