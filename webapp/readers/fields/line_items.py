"""Finds the lines of an invoice: a heading that names columns, and the rows below it.

Columns are told apart by the white space that runs through heading and rows, so they need no rules.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise

from webapp.readers.fields.amounts import read_amount
from webapp.readers.fields.labels import folded_words, match_column, match_label
from webapp.readers.fields.values import amount_at_end, rate_of
from webapp.readers.fields.words import Piece, PlacedWord, Row

COLUMNS_MIN = 3
GAP_HEIGHTS = 3.5
ROWS_MAX = 5_000
NUMBERS = frozenset({"quantity", "price", "amount", "gross", "tax", "discount", "rate"})
_ENDS = frozenset({"net", "total", "tax", "paid"})
_SECOND = {"amount": "gross", "rate": "tax", "position": "code"}
_PASSED = frozenset({"carried"})


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """A column of the lines: what it holds, its heading, and where it is."""

    kind: str
    name: str
    left: float
    right: float


@dataclass
class LineItems:
    """The lines of an invoice: typed columns, and the cells of each line."""

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


def find_line_items(rows: Sequence[Row]) -> LineItems | None:
    """Find the lines of an invoice, on all pages that they go on to; None where there are none."""
    found: LineItems | None = None
    number = 0
    while number < len(rows):
        columns, taken = _heading(rows, number)
        if not columns or (found and [each.kind for each in columns] != [each.kind for each in found.columns]):
            number += 1
            continue
        body = _body(rows, number + taken, columns)
        placed = _placed(columns, [*rows[number : number + taken], *(row for row in body if _is_full(row))])
        if found is None:
            found = LineItems(rows[number].page, columns)
        before = len(found.rows)
        _add(found, placed, body)
        if len(found.rows) > before:
            heading = [_right_of(row, columns) or row for row in rows[number : number + taken]]
            found.taken += [*heading, *body]
            found.boxes.append((rows[number].page, rows[number].top, body[-1].bottom))
        elif not found.rows:
            found = None
        number += taken + len(body)
    return found


def _heading(rows: Sequence[Row], number: int) -> tuple[list[ItemColumn], int]:
    """The columns that a row names, alone or with the row below it, and how many rows they take."""
    pieces = rows[number].pieces
    for start in range(len(pieces) - COLUMNS_MIN + 2):
        # Text of a column at the left of the table may be level with its heading.
        columns = _named(pieces[start:])
        if _is_heading(columns):
            return columns, 1
    following = rows[number + 1] if number + 1 < len(rows) else None
    if following and following.page == rows[number].page and len(rows[number].pieces) >= COLUMNS_MIN:
        close = following.top - rows[number].bottom < 0.8 * (rows[number].bottom - rows[number].top)
        if close and len(following.pieces) <= len(rows[number].pieces):
            columns = _named(_stacked(rows[number], following))
            if _is_heading(columns):
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


def _named(pieces: Sequence[Piece]) -> list[ItemColumn]:
    columns: list[ItemColumn] = []
    for piece in pieces:
        named = list(_names(piece))
        if not named:
            return []
        columns += named
    return _distinct(columns)


def _names(piece: Piece) -> Iterator[ItemColumn]:
    """The columns that a piece names: several where gaps are narrow; none where it holds anything else."""
    folds = folded_words(piece.words)
    found: list[ItemColumn] = []
    at = 0
    while at < len(piece.words):
        match = match_column(folds[at:])
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


def _distinct(columns: list[ItemColumn]) -> list[ItemColumn]:
    """Give each column a kind of its own.

    Of two sums the first is net and the last is gross; an "item" beside a description is a code.
    """
    kinds: list[str] = []
    for column in columns:
        kind = column.kind
        if kind == "description" and kind in kinds and "code" not in kinds:
            kinds[kinds.index(kind)] = "code"
        elif kind in kinds:
            kind = _SECOND.get(kind, "")
        if not kind or kind in kinds:
            return []
        kinds.append(kind)
    return [
        ItemColumn(kind, column.name, column.left, column.right) for kind, column in zip(kinds, columns, strict=True)
    ]


def _is_heading(columns: Sequence[ItemColumn]) -> bool:
    kinds = {column.kind for column in columns}
    return (
        len(columns) >= COLUMNS_MIN
        and "description" in kinds
        and bool(kinds & {"amount", "price"})
        and bool(kinds & {"quantity", "price", "rate", "amount"})
    )


def _body(rows: Sequence[Row], start: int, columns: Sequence[ItemColumn]) -> list[Row]:
    """The rows below a heading, up to the totals, a wide gap or the page's end."""
    body: list[Row] = []
    before = rows[start - 1]
    for whole in rows[start : start + ROWS_MAX]:
        if whole.page != before.page or whole.top - before.bottom > GAP_HEIGHTS * (before.bottom - before.top):
            break
        row = _right_of(whole, columns)
        if row is None:
            continue
        if _is_total(row) or _is_heading(_named(row.pieces)):
            break
        body.append(row)
        before = row
    while body and not _is_full(body[-1]) and not (len(body) > 1 and _goes_on(body[-1], body[-2], columns)):
        body.pop()
    return body


def _right_of(row: Row, columns: Sequence[ItemColumn]) -> Row | None:
    """A row without the text at the left of the columns; None where nothing else is in it."""
    left = min(column.left for column in columns) - (row.bottom - row.top)
    pieces = tuple(piece for piece in row.pieces if piece.right >= left)
    return replace(row, pieces=pieces) if pieces else None


def _goes_on(row: Row, before: Row, columns: Sequence[ItemColumn]) -> bool:
    """Whether text below a line goes on its description: close to it, and in that column."""
    column = next(each for each in columns if each.kind == "description")
    is_close = row.top - before.bottom < 0.5 * (before.bottom - before.top)
    return is_close and len(row.pieces) == 1 and abs(row.pieces[0].left - column.left) < row.bottom - row.top


def _is_total(row: Row) -> bool:
    """Whether a row is one of the totals: a label of one, then amounts."""
    if "%" in row.words[0].text and rate_of(row.words[0].text) and _is_only_amounts(row.pieces[1:]):
        return True
    for place, piece in enumerate(row.pieces):
        folds = folded_words(piece.words)
        match = match_label(folds)
        starts = match is not None and match.kind in _ENDS
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


def _is_full(row: Row) -> bool:
    """Whether a row ends with an amount, as each first row of a line does."""
    return len(row.pieces) > 1 and amount_at_end(row.pieces[-1].words) is not None


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


def _add(items: LineItems, columns: Sequence[ItemColumn], body: Sequence[Row]) -> None:
    main = next((number for number, column in enumerate(columns) if column.kind == "amount"), len(columns) - 1)
    text = next(number for number, column in enumerate(columns) if column.kind == "description")
    for row in body:
        cells = [_cell(row.words, column) for column in columns]
        if _is_carried(row):
            continue
        if read_amount(cells[main]):
            items.rows.append(cells)
        elif items.rows and not any(cells[number] for number, column in enumerate(columns) if column.kind in NUMBERS):
            # What has no numbers goes on the line above.
            more = " ".join(cell for cell in cells if cell)
            items.rows[-1][text] = f"{items.rows[-1][text]} {more}".strip()


def _is_carried(row: Row) -> bool:
    """Whether a row only carries a sum over to the next page: its label and one amount."""
    match = match_label(folded_words(row.pieces[0].words))
    is_label = match is not None and match.kind in _PASSED and match.words == len(row.pieces[0].words)
    return is_label and len(row.pieces) <= 2


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
