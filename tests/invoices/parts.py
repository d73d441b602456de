"""The pieces that the layouts are made of, as HTML: meta data, parties, tables of lines, totals."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from tests.invoices.facts import Invoice, Item, Party
from tests.invoices.wording import Wording

Pair = tuple[str, str]


@dataclass
class Sheet:
    """One invoice on its way to a page: the facts, their wording, and what was printed of them."""

    inv: Invoice
    words: Wording
    printed: set[str] = field(default_factory=set)
    """The kinds of fields that this layout shows."""

    def say(self, kind: str) -> None:
        self.printed.add(kind)

    def meta(self, *kinds: str) -> list[Pair]:
        """Labels and values of the invoice's head."""
        inv, words = self.inv, self.words
        values = {
            "number": inv.number, "date": words.date(inv.date), "due": words.date(inv.due), "order": inv.order,
            "customer_number": inv.customer_number, "total": words.money(inv.total),
        }  # fmt: skip
        self.printed.update(kinds)
        return [(words[kind], values[kind]) for kind in kinds]

    def totals(self) -> list[Pair]:
        """Net, tax by rate, total."""
        inv, words = self.inv, self.words
        self.printed.update(("net", "tax", "total", "currency"))
        taxes = [(words.tax(rate), words.money(amount)) for rate, amount in inv.taxes.items()]
        return [(words["net"], words.money(inv.net)), *taxes, (words["total"], words.money(inv.total))]

    def contacts(self, *kinds: str) -> list[Pair]:
        """How to reach and pay the seller."""
        seller, words = self.inv.seller, self.words
        values = {
            "vat": seller.vat,
            "email": seller.email,
            "phone": seller.phone,
            "iban": words.account(seller.account),
        }
        self.printed.update(kinds)
        return [(words[kind], values[kind]) for kind in kinds]

    def columns(self, *kinds: str) -> list[tuple[str, str, Callable[[int, Item], str]]]:
        """Kind, heading and cell of each column of the lines."""
        words = self.words
        cells: dict[str, Callable[[int, Item], str]] = {
            "position": lambda number, _: str(number),
            "code": lambda _, item: item.code,
            "description": lambda _, item: item.description,
            "quantity": lambda _, item: words.count(item.quantity),
            "unit": lambda _, item: item.unit,
            "price": lambda _, item: words.line(item.price),
            "rate": lambda _, item: f"{item.rate}%",
            "amount": lambda _, item: words.line(item.amount),
        }
        return [(kind, words[kind], cells[kind]) for kind in kinds]


def party(one: Party, label: str = "") -> str:
    """An address, with its label above."""
    head = f"<div class=label>{escape(label)}</div>" if label else ""
    return f"<div class=party>{head}<div class=name>{escape(one.name)}</div><div>{escape(one.street)}</div><div>{escape(one.city)}</div></div>"


def pairs(rows: Sequence[Pair], *, colon: str = "", style: str = "") -> str:
    """Label and value side by side, as a table without rules."""
    cells = "".join(
        f"<tr><td class=k>{escape(key)}{colon}</td><td class=v>{escape(value)}</td></tr>" for key, value in rows
    )
    return f"<table class=pairs style='{style}'>{cells}</table>"


def lines(rows: Sequence[Pair], colon: str = ":") -> str:
    """Label and value in one line of text."""
    return "".join(f"<div>{escape(key)}{colon} {escape(value)}</div>" for key, value in rows)


def grid(rows: Sequence[Pair], *, style: str = "") -> str:
    """Labels in a row, their values in the row below."""
    heads = "".join(f"<th>{escape(key)}</th>" for key, _ in rows)
    values = "".join(f"<td>{escape(value)}</td>" for _, value in rows)
    return f"<table class=grid style='{style}'><tr>{heads}</tr><tr>{values}</tr></table>"


def stack(rows: Sequence[Pair], *, style: str = "") -> str:
    """Each label above its value, all in a column."""
    inner = "".join(f"<div class=label>{escape(key)}</div><div class=v>{escape(value)}</div>" for key, value in rows)
    return f"<div class=stack style='{style}'>{inner}</div>"


def items(
    sheet: Sheet,
    *kinds: str,
    css: str = "ruled",
    foot: Sequence[Pair] = (),
    only: slice | None = None,
    head: Pair | None = None,
) -> str:
    """The invoice's lines as a table; `foot` are rows of totals in it, `head` a row of what was carried over."""
    columns = sheet.columns(*kinds)
    sheet.say("items")
    heading = "".join(f"<th class={kind}>{escape(name)}</th>" for kind, name, _ in columns)
    listed = list(enumerate(sheet.inv.items, 1))[only or slice(None)]
    body = "".join(
        "<tr>" + "".join(f"<td class={kind}>{escape(cell(number, item))}</td>" for kind, _, cell in columns) + "</tr>"
        for number, item in listed
    )
    span = len(columns) - 1
    wide = "<tr class=foot><td colspan={span} style='text-align:right'>{key}</td><td class=amount>{value}</td></tr>"
    before = wide.format(span=span, key=escape(head[0]), value=escape(head[1])) if head else ""
    after = "".join(wide.format(span=span, key=escape(key), value=escape(value)) for key, value in foot)
    return f"<table class='items {css}'><thead><tr>{heading}</tr></thead><tbody>{before}{body}{after}</tbody></table>"


STYLE = """
@page { size: A4; margin: 16mm }
* { box-sizing: border-box }
body { margin: 0; font: 10pt 'Liberation Sans', 'Noto Sans', sans-serif }
table { border-collapse: collapse; font: inherit }
td, th { padding: 2px 6px; text-align: left; vertical-align: top; font-weight: normal }
h1 { font-size: 20pt; margin: 0 0 8px }
.row { display: flex; justify-content: space-between; gap: 24px; margin: 14px 0 }
.label { color: #666; font-size: 8.5pt }
.items { width: 100%; margin: 16px 0 }
.items th { font-weight: bold }
.items .quantity, .items .price, .items .amount, .items .rate { text-align: right; white-space: nowrap }
.ruled td, .ruled th { border: 1px solid #333 }
.lined tr { border-bottom: 1px solid #bbb }
.zebra tr:nth-child(even) { background: #eee }
.pairs .v { padding-left: 18px }
.right { margin-left: auto }
.right .v, .amounts .v { text-align: right }
.grid th { color: #666; font-size: 8.5pt; padding-right: 28px }
.grid td { padding-right: 28px }
.stack .v { margin-bottom: 8px }
.foot3 { display: flex; justify-content: space-between; font-size: 8pt; margin-top: 40px }
p { margin: 10px 0 }
"""


def page(body: str, style: str = "") -> str:
    """A whole HTML page."""
    return (
        f"<!doctype html><html><head><meta charset=utf-8><style>{STYLE}{style}</style></head><body>{body}</body></html>"
    )
