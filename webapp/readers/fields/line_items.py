"""Finds the lines of an invoice, a receipt or an account: a heading that names columns, and the rows below it.

Columns are told apart by the white space that runs through heading and rows, so they need no rules.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

from webapp.readers.fields.amounts import Amount, read_amount
from webapp.readers.fields.labels import INVOICE_COLUMNS, INVOICE_LABELS, Phrases, folded_words
from webapp.readers.fields.values import amount_at_end, dated_lead, rate_of
from webapp.readers.fields.words import Piece, PlacedWord, Row

GAP_HEIGHTS = 3.5
ROWS_MAX = 5_000
TEXT = "description"


@dataclass(frozen=True)
class Shape:
    """What the lines of one kind of document look like."""

    columns: Phrases
    """The names of columns."""
    labels: Phrases
    numbers: frozenset[str]
    """The kinds of columns that a line has something in; a row without any goes on the line above."""
    needed: tuple[frozenset[str], ...]
    """A heading has one of each of these."""
    ends: frozenset[str]
    """The kinds of labels that end the lines."""
    passed: frozenset[str]
    """The kinds of labels whose rows are no lines, such as a sum carried over."""
    main: tuple[str, ...]
    """A line has an amount in one of these columns; in the last column where the heading names none of them."""
    second: Mapping[str, str] = field(default_factory=dict)
    """What a kind means where an earlier column has it."""
    stand_ins: Mapping[str, str] = field(default_factory=dict)
    """What a kind means where no other column has that meaning: some call the text of a line "article"."""
    columns_min: int = 3
    amount: Callable[[str], Amount | None] = read_amount


_NUMBERS = frozenset({"quantity", "price", "amount", "gross", "tax", "discount", "rate"})
INVOICE_LINES = Shape(
    columns=INVOICE_COLUMNS,
    labels=INVOICE_LABELS,
    numbers=_NUMBERS,
    needed=(frozenset({TEXT}), frozenset({"amount", "price"})),
    ends=frozenset({"net", "total", "tax", "paid"}),
    passed=frozenset({"carried"}),
    main=("amount",),
    second={"amount": "gross", "rate": "tax", "position": "code"},
)


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """A column of the lines: what it holds, its heading, and where it is."""

    kind: str
    name: str
    left: float
    right: float


@dataclass
class LineItems:
    """The lines of a document: typed columns, and the cells of each line."""

    page: int
    columns: list[ItemColumn]
    rows: list[list[str]] = field(default_factory=list)
    taken: list[Row] = field(default_factory=list)
    """The rows that the heading and the lines take, without what is beside the table."""
    boxes: list[tuple[int, float, float]] = field(default_factory=list)
    """Page, top and bottom of each part."""

    def cells(self, kind: str) -> list[str]:
        """One column's cells."""
        at = next((number for number, column in enumerate(self.columns) if column.kind == kind), None)
        return [] if at is None else [row[at] for row in self.rows]

    def amounts(self, kind: str) -> list[Decimal | None]:
        """One column's cells as numbers."""
        return [found.value if (found := read_amount(cell)) else None for cell in self.cells(kind)]

    @property
    def sum(self) -> Decimal | None:
        """The sum of the lines' amounts; None where one can't be read."""
        amounts = self.amounts("amount")
        return (
            sum((each for each in amounts if each is not None), Decimal(0)) if amounts and None not in amounts else None
        )


def find_line_items(rows: Sequence[Row], shape: Shape = INVOICE_LINES) -> LineItems | None:
    """Find the lines of a document, on all pages that they go on to; None where there are none."""
    found: LineItems | None = None
    number = 0
    while number < len(rows):
        columns, taken = _heading(rows, number, shape)
        if not columns or (found and [each.kind for each in columns] != [each.kind for each in found.columns]):
            number += 1
            continue
        body = _body(rows, number + taken, columns, shape)
        placed = _placed(columns, [*rows[number : number + taken], *(row for row in body if _is_full(row, shape))])
        if found is None:
            found = LineItems(rows[number].page, columns)
        before = len(found.rows)
        _add(found, placed, body, shape)
        if len(found.rows) > before:
            heading = [_right_of(row, columns) or row for row in rows[number : number + taken]]
            found.taken += [*heading, *(row for row in body if not _is_passed(row, shape))]
            found.boxes.append((rows[number].page, rows[number].top, body[-1].bottom))
        elif not found.rows:
            found = None
        number += taken + len(body)
    return found


def _heading(rows: Sequence[Row], number: int, shape: Shape) -> tuple[list[ItemColumn], int]:
    """The columns that a row names, alone or with the row below it, and how many rows they take."""
    pieces = rows[number].pieces
    for start in range(len(pieces) - shape.columns_min + 2):
        # Text of a column at the left of the table may be level with its heading.
        columns = _named(pieces[start:], shape)
        if _is_heading(columns, shape):
            return columns, 1
    following = rows[number + 1] if number + 1 < len(rows) else None
    if following and following.page == rows[number].page and len(rows[number].pieces) >= shape.columns_min:
        close = following.top - rows[number].bottom < 0.8 * (rows[number].bottom - rows[number].top)
        if close and len(following.pieces) <= len(rows[number].pieces):
            columns = _named(_stacked(rows[number], following), shape)
            if _is_heading(columns, shape):
                return columns, 2
    return [], 1


def _stacked(upper: Row, lower: Row) -> tuple[Piece, ...]:
    """The pieces of two rows, those below each other put together."""
    pieces = []
    for piece in upper.pieces:
        below = [
            word for each in lower.pieces if each.left < piece.right and each.right > piece.left for word in each.words
        ]
        pieces.append(Piece((*piece.words, *below)))
    return tuple(pieces)


def _named(pieces: Sequence[Piece], shape: Shape) -> list[ItemColumn]:
    columns: list[ItemColumn] = []
    for piece in pieces:
        named = list(_names(piece, shape))
        if not named:
            return []
        columns += named
    return _distinct(columns, shape)


def _names(piece: Piece, shape: Shape) -> Iterator[ItemColumn]:
    """The columns that a piece names: several where gaps are narrow; none where it holds anything else."""
    folds = folded_words(piece.words)
    found: list[ItemColumn] = []
    at = 0
    while at < len(piece.words):
        match = shape.columns.longest(folds[at:])
        if match is None:
            # A unit behind a name: "Price (EUR)", "Amount €".
            if found and (
                not folds[at]
                or read_amount(f"1 {piece.words[at].text.strip('()[]')}")
                or piece.words[at].text.startswith("(")
            ):
                at += 1
                continue
            return
        words = piece.words[at : at + match.words]
        found.append(
            ItemColumn(
                match.kind, " ".join(word.text for word in words), words[0].left, max(word.right for word in words)
            )
        )
        at += match.words
    yield from found


def _distinct(columns: list[ItemColumn], shape: Shape) -> list[ItemColumn]:
    """Give each column a kind of its own.

    Of two sums the first is net and the last is gross; an "item" beside a description is a code.
    """
    kinds: list[str] = []
    for column in columns:
        kind = column.kind
        if kind == TEXT and kind in kinds and "code" not in kinds:
            kinds[kinds.index(kind)] = "code"
        elif kind in kinds:
            kind = shape.second.get(kind, "")
        if not kind or kind in kinds:
            return []
        kinds.append(kind)
    for kind, meant in shape.stand_ins.items():
        if kind in kinds and meant not in kinds and not (meant in shape.main and set(shape.main) & set(kinds)):
            kinds[kinds.index(kind)] = meant
    return [
        ItemColumn(kind, column.name, column.left, column.right) for kind, column in zip(kinds, columns, strict=True)
    ]


def _is_heading(columns: Sequence[ItemColumn], shape: Shape) -> bool:
    kinds = {column.kind for column in columns}
    return len(columns) >= shape.columns_min and all(kinds & each for each in shape.needed)


def _body(rows: Sequence[Row], start: int, columns: Sequence[ItemColumn], shape: Shape) -> list[Row]:
    """The rows below a heading, up to the totals, a wide gap or the page's end."""
    body: list[Row] = []
    before = rows[start - 1]
    for whole in rows[start : start + ROWS_MAX]:
        if whole.page != before.page or whole.top - before.bottom > GAP_HEIGHTS * (before.bottom - before.top):
            break
        row = _right_of(whole, columns)
        if row is None:
            continue
        if _is_total(row, shape) or _is_heading(_named(row.pieces, shape), shape):
            break
        body.append(row)
        before = row
    while body and not _is_full(body[-1], shape) and not (len(body) > 1 and _goes_on(body[-1], body[-2], columns)):
        body.pop()
    return body


def _right_of(row: Row, columns: Sequence[ItemColumn]) -> Row | None:
    """A row without the text at the left of the columns; None where nothing else is in it."""
    left = min(column.left for column in columns) - (row.bottom - row.top)
    pieces = tuple(piece for piece in row.pieces if piece.right >= left)
    return replace(row, pieces=pieces) if pieces else None


def _goes_on(row: Row, before: Row, columns: Sequence[ItemColumn]) -> bool:
    """Whether text below a line goes on its description: close to it, and in that column."""
    column = next(each for each in columns if each.kind == TEXT)
    is_close = row.top - before.bottom < 0.5 * (before.bottom - before.top)
    return is_close and len(row.pieces) == 1 and abs(row.pieces[0].left - column.left) < row.bottom - row.top


def _is_total(row: Row, shape: Shape) -> bool:
    """Whether a row is one of the totals: a label of one, then amounts."""
    if "%" in row.words[0].text and rate_of(row.words[0].text) and _is_only_amounts(row.pieces[1:]):
        return True
    for place, piece in enumerate(row.pieces):
        folds = folded_words(piece.words)
        match = shape.labels.longest(folds)
        starts = match is not None and match.kind in shape.ends
        is_tax = any(rate_of(word.text) for word in piece.words) and not starts and amount_at_end(piece.words) is None
        label = " ".join(folds)
        named = starts or (
            is_tax
            and any(
                tax in label.split()
                for tax in ("vat", "mwst", "ust", "iva", "tva", "ндс", "tax", "steuer", "umsatzsteuer")
            )
        )
        if named and len(row.pieces) - place <= 3 and _is_only_amounts(row.pieces[place + 1 :]):
            return place == 0 or all(amount_at_end(each.words) is None for each in row.pieces[:place])
    return False


def _is_only_amounts(pieces: Sequence[Piece]) -> bool:
    return all(amount_at_end(piece.words) is not None for piece in pieces)


def _is_full(row: Row, shape: Shape) -> bool:
    """Whether a row ends with an amount, as each first row of a line does."""
    last = row.pieces[-1]
    return len(row.pieces) > 1 and (amount_at_end(last.words) is not None or shape.amount(last.text) is not None)


def _placed(columns: Sequence[ItemColumn], rows: Sequence[Row]) -> list[ItemColumn]:
    """The columns with their real borders: the middle of the widest gap between two headings that no word crosses."""
    gaps = _gaps(rows)
    borders = [float("-inf")]
    for column, following in pairwise(columns):
        between = [gap for gap in gaps if gap[0] >= column.right - 0.5 and gap[1] <= following.left + 0.5]
        start, end = max(between, key=lambda gap: gap[1] - gap[0], default=(column.right, following.left))
        borders.append((start + end) / 2)
    borders.append(float("inf"))
    return [
        replace(column, left=left, right=right)
        for column, (left, right) in zip(columns, pairwise(borders), strict=True)
    ]


def _gaps(rows: Sequence[Row]) -> list[tuple[float, float]]:
    """Where no word of any row is, from left to right."""
    words = sorted((word for row in rows for word in row.words), key=lambda word: word.left)
    gaps: list[tuple[float, float]] = []
    reach = words[0].left
    for word in words:
        if word.left > reach:
            gaps.append((reach, word.left))
        reach = max(reach, word.right)
    return gaps


def _add(items: LineItems, columns: Sequence[ItemColumn], body: Sequence[Row], shape: Shape) -> None:
    main = [number for number, column in enumerate(columns) if column.kind in shape.main] or [len(columns) - 1]
    text = next(number for number, column in enumerate(columns) if column.kind == TEXT)
    for row in body:
        cells = [_cell(row.words, column) for column in columns]
        if _is_passed(row, shape):
            continue
        if any(shape.amount(cells[number]) for number in main):
            items.rows.append(cells)
        elif items.rows and not any(
            cells[number] for number, column in enumerate(columns) if column.kind in shape.numbers
        ):
            # What has no numbers goes on the line above.
            more = " ".join(cell for cell in cells if cell)
            items.rows[-1][text] = f"{items.rows[-1][text]} {more}".strip()


def _is_passed(row: Row, shape: Shape) -> bool:
    """Whether a row only carries a sum over: a label, a date perhaps, and one amount."""
    amounts = 0
    is_named = False
    for piece in row.pieces:
        match = shape.labels.longest(folded_words(piece.words))
        if (
            match
            and match.kind in shape.passed
            and dated_lead(piece.words[match.words :]) == len(piece.words[match.words :])
        ):
            is_named = True
        elif amount_at_end(piece.words) or shape.amount(piece.text):
            amounts += 1
        elif dated_lead(piece.words) < len(piece.words):
            return False
    return is_named and amounts <= 1


def _cell(words: Sequence[PlacedWord], column: ItemColumn) -> str:
    return " ".join(word.text for word in words if column.left <= word.centre < column.right)


def without_items(rows: Sequence[Row], items: LineItems | None) -> list[Row]:
    """The rows of a document without its lines; what is beside them stays."""
    taken = {id(piece) for row in (items.taken if items else ()) for piece in row.pieces}
    kept: list[Row] = []
    for row in rows:
        pieces = tuple(each for each in row.pieces if id(each) not in taken)
        if pieces:
            kept.append(row if len(pieces) == len(row.pieces) else replace(row, pieces=pieces))
    return kept
