"""The labelled set: generated invoices as PDFs, and for each what a reader must find in it."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from playwright.sync_api import Browser

from tests.chromium import with_browser
from tests.invoices.facts import LANGUAGES, invoice
from tests.invoices.layouts import Layout
from tests.invoices.parts import Sheet
from tests.invoices.wording import Wording
from tests.papers.made import Made

LONG = "two_pages"


@dataclass(frozen=True)
class Labelled:
    """One invoice with its truth: the values of each kind, and the lines."""

    name: str
    layout: str
    language: str
    html: str
    truth: dict[str, tuple[str, ...]]
    lines: tuple[tuple[str, str, str, str], ...]
    """Description, quantity, unit price, amount of each line."""
    has_codes_below: bool
    """Whether each description goes on in a second line, with the article's number."""


def labelled(layouts: Sequence[Layout], rounds: int, seed: int) -> Iterator[Labelled]:
    """So many invoices of each layout in each language."""
    for layout in layouts:
        for language in LANGUAGES:
            for number in range(rounds):
                yield _one(layout, language, number, seed)


def _one(layout: Layout, language: str, number: int, seed: int) -> Labelled:
    name = f"{layout.__name__}-{language}-{number}"
    chance = random.Random(f"{seed} {name}")
    made = invoice(chance, language, (24, 34) if layout.__name__.endswith(LONG) else (2, 7))
    sheet = Sheet(made, Wording(chance, language, made.currency))
    html = layout(sheet)
    lines = tuple(
        (item.description, f"{item.quantity:f}", f"{item.price:.2f}", f"{item.amount:.2f}") for item in made.items
    )
    return Labelled(
        name, layout.__name__, language, html, _truth(sheet), lines, "two_line_descriptions" in sheet.printed
    )


def _truth(sheet: Sheet) -> dict[str, tuple[str, ...]]:
    inv = sheet.inv
    said = {
        "number": ("invoice_number", (inv.number,)),
        "date": ("invoice_date", (inv.date.isoformat(),)),
        "due": ("due_date", (inv.due.isoformat(),)),
        "delivery": ("delivery_date", ((inv.date - timedelta(3)).isoformat(),)),
        "order": ("order_number", (inv.order,)),
        "customer_number": ("customer_number", (inv.customer_number,)),
        "seller": ("supplier", (inv.seller.name,)),
        "buyer": ("customer", (inv.buyer.name,)),
        "net": ("net", (f"{inv.net:.2f}",)),
        "tax": ("tax", tuple(f"{rate}% {tax:.2f}" for rate, tax in inv.taxes.items())),
        "total": ("total", (f"{inv.total:.2f}",)),
        "currency": ("currency", (inv.currency,)),
        "iban": ("iban" if inv.language != "ru" else "account_number", (inv.seller.account,)),
        "vat": ("vat_number", (inv.seller.vat,)),
        "email": ("email", (inv.seller.email,)),
        "phone": ("phone", (inv.seller.phone,)),
    }
    return dict(said[kind] for kind in sorted(sheet.printed) if kind in said)


def write_pdfs(documents: Sequence[Labelled | Made], folder: Path) -> list[Path]:
    """Print documents with Chromium, each to a file of its own."""

    def print_all(browser: Browser) -> list[Path]:
        page = browser.new_page()
        paths = []
        for one in documents:
            page.set_content(one.html)
            path = folder / f"{one.name}.pdf"
            path.write_bytes(page.pdf(prefer_css_page_size=True))
            paths.append(path)
        return paths

    return with_browser(print_all)
