"""Tables printed by Chromium, whose cells are known: ruled, without rules, over several pages, with merged cells."""

import html
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser

from tests.chromium import with_browser

Rows = tuple[tuple[str, ...], ...]

_ITEMS = (
    "Brass lamp, small", "Rope, 20 m", "Oil for the lamp", "Ledger with lines", "Window glass", "Wick, wide", "Chalk",
    "Paint, white", "Screws, 40 mm", "Ladder", "Storm door", "Bell", "Signal flags", "Barometer", "Coal, 50 kg",
)  # fmt: skip
_PLACES = ("North tower", "Harbour", "Store", "Cellar", "Workshop")
_HEADINGS = ("Item", "Place", "Pieces", "Price", "Sum", "Checked on")
_RULES = {
    "all": "th, td { border: 1px solid #333 }",
    "thin": "th, td { border: 0.4px solid #999 }",
    "rows": "tr { border-bottom: 1px solid #333 }",
    "shaded": "th, td { border: 1px solid #fff } tr:nth-child(even) td { background: #e4e8ee } th { background: #ccd }",
    "none": "",
}


@dataclass(frozen=True)
class PrintedTable:
    """A table as HTML, and the rows that a reader should find."""

    name: str
    html: str
    rows: Rows
    before: str = "The stock was counted at the end of the year, by two people."
    after: str = "What is missing was written off, and the list was signed."
    font: str = "sans-serif"


def ruled(number: int) -> PrintedTable:
    """A table with a line around each cell."""
    return _simple(f"ruled-{number}", number, ("all", "thin")[number % 2], 4 + number % 3)


def borderless(number: int) -> PrintedTable:
    """A table without any line."""
    return _simple(f"borderless-{number}", number, "none", 4 + number % 3)


def shaded(number: int) -> PrintedTable:
    """A table whose rows differ by their colour, or end with a line."""
    return _simple(f"shaded-{number}", number, ("shaded", "rows")[number % 2], 4 + number % 3)


def long(columns: int) -> PrintedTable:
    """A ruled table over five pages, with its headings on top of each."""
    return _simple(f"long-{columns}", 99, "all", columns, rows=140)


def merged(number: int, font: str = "sans-serif") -> PrintedTable:
    """A ruled table whose headings span columns and rows, and a first column of groups."""
    random_ = random.Random(number)
    body: list[tuple[str, ...]] = []
    lines: list[str] = []
    for group in _PLACES[: 2 + number % 3]:
        size = random_.randint(2, 3)
        for place in range(size):
            cells = (random_.choice(_ITEMS), *(str(random_.randint(10, 999)) for _ in range(4)))
            body.append((group if place == 0 else "", *cells))
            first = f"<td rowspan={size}>{group}</td>" if place == 0 else ""
            lines.append(f"<tr>{first}{_cells('td', cells)}</tr>")
    head = (("Place", "Item", "Last year", "", "This year", ""), ("", "", "Pieces", "Sum", "Pieces", "Sum"))
    top = (
        "<tr><th rowspan=2>Place</th><th rowspan=2>Item</th>"
        "<th colspan=2>Last year</th><th colspan=2>This year</th></tr>"
        "<tr><th>Pieces</th><th>Sum</th><th>Pieces</th><th>Sum</th></tr>"
    )
    name = f"merged-{number}" if font == "sans-serif" else f"merged-{number}-{font}"
    return PrintedTable(name, _table("all", top, lines), (*head, *body), font=font)


def write_pdfs(tables: Sequence[PrintedTable], folder: Path) -> list[Path]:
    """Print each table between two sentences, into a PDF of its own."""

    def print_all(browser: Browser) -> list[Path]:
        page = browser.new_page()
        paths = []
        for table in tables:
            style = f"<style>{_STYLE} body {{ font: 11px {table.font} }}</style>"
            page.set_content(f"{style}<h1>Stock list</h1><p>{table.before}</p>{table.html}<p>{table.after}</p>")
            path = folder / f"{table.name}.pdf"
            path.write_bytes(page.pdf(format="A4", prefer_css_page_size=True))
            paths.append(path)
        return paths

    return with_browser(print_all)


_STYLE = (
    "@page { margin: 18mm } table { border-collapse: collapse; width: 100% } "
    "th, td { padding: 3px 6px; text-align: left }"
)


def _simple(name: str, seed: int, rules: str, columns: int, rows: int | None = None) -> PrintedTable:
    random_ = random.Random(seed)
    headings = _HEADINGS[:columns]
    body = []
    for row in range(rows or random_.randint(6, 14)):
        pieces, price = random_.randint(1, 90), random_.randint(100, 9000) / 100
        cells = (
            random_.choice(_ITEMS), random_.choice(_PLACES), str(pieces), f"{price:.2f}", f"{pieces * price:.2f}",
            f"{1 + row % 28:02d}.03.2026",
        )  # fmt: skip
        body.append(cells[:columns])
    top = f"<tr>{_cells('th', headings)}</tr>"
    lines = [f"<tr>{_cells('td', cells)}</tr>" for cells in body]
    return PrintedTable(name, _table(rules, top, lines), (headings, *body))


def _table(rules: str, top: str, lines: Sequence[str]) -> str:
    return f"<style>{_RULES[rules]}</style><table><thead>{top}</thead><tbody>{''.join(lines)}</tbody></table>"


def _cells(kind: str, cells: Sequence[str]) -> str:
    return "".join(f"<{kind}>{html.escape(cell)}</{kind}>" for cell in cells)
