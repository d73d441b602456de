"""Receipts: slips of a till and receipts on paper of usual size."""

import datetime as dt
from decimal import Decimal
from html import escape

from tests.invoices.facts import CENT, RATES
from tests.invoices.parts import lines, pairs
from tests.papers.made import Draft, Kind, sheet, slip, table, two
from tests.papers.receipt_wording import HELD_OUT_LABELS, LABELS

_THINGS = (
    {
        "en": "Flat white | Oat biscuit | Garden twine | Paint brush 40 mm", "de": "Kaffee groß | Brezel | Gartenschnur | Pinsel 40 mm",
        "pt": "Café duplo | Pastel de nata | Pincel 40 mm | Água 50 cl", "es": "Café con leche | Tostada | Brocha 40 mm | Agua 50 cl",
        "fr": "Café crème | Croissant | Pinceau 40 mm | Eau 50 cl", "ru": "Кофе большой | Булочка | Кисть 40 мм | Вода 0,5 л",
    },
    {
        "en": "Washers M6 box | Ground coffee 250 g | Gift card stock | LED bulb E27", "de": "Unterlegscheiben M6 | Röstkaffee 250 g | LED-Lampe E27 | Blumenerde",
        "pt": "Anilhas M6 | Café moído 250 g | Lâmpada LED E27 | Azeite 75 cl", "es": "Arandelas M6 | Café molido 250 g | Bombilla LED E27 | Aceite 75 cl",
        "fr": "Rondelles M6 | Café moulu 250 g | Ampoule LED E27 | Terreau", "ru": "Шайбы М6 | Кофе молотый 250 г | Лампа LED E27 | Грунт садовый",
    },
)  # fmt: skip


class ReceiptFacts:
    """What one receipt says."""

    def __init__(self, draft: Draft) -> None:
        chance, self.draft = draft.chance, draft
        self.shop = draft.names.companies(1)[0]
        self.number = chance.choice(("{n}", "{n}-7", "R{n}", "2026/{n}")).format(n=chance.randrange(1000, 99999))
        self.day = dt.date(2025, 1, 1) + dt.timedelta(chance.randrange(700))
        self.time = f"{chance.randrange(8, 20):02d}:{chance.randrange(60):02d}"
        things = _THINGS[draft.held_out][draft.language].split(" | ")
        self.items = [
            (thing, chance.choice((1, 1, 2, 3)), Decimal(chance.randrange(95, 6000)) / 100)
            for thing in chance.sample(things, chance.randint(1, 4))
        ]
        self.total = sum((count * price for _, count, price in self.items), Decimal(0))
        self.rate = RATES[draft.language][0]
        self.net = (self.total * 100 / (100 + self.rate)).quantize(CENT)
        self.given = self.total + Decimal(chance.randrange(0, 1000)) / 100 if draft["change"] else self.total

    def say(self, *kinds: str) -> None:
        """Note what a layout shows; the total and its currency where it has one are always shown."""
        draft = self.draft
        truth = {
            "merchant": self.shop.name, "receipt_number": self.number, "purchase_date": self.day.isoformat(), "net": f"{self.net:.2f}",
            "tax": f"{self.rate}% {self.total - self.net:.2f}", "total": f"{self.total:.2f}", "paid": f"{self.given:.2f}", "change": f"{self.given - self.total:.2f}",
            "vat_number": self.shop.vat, "phone": self.shop.phone, "currency": draft.currency,
        }  # fmt: skip
        for kind in kinds:
            draft.say(kind, truth[kind])

    def table(self, *columns: str) -> None:
        """Note the lines, with these columns."""
        self.draft.columns = columns
        for thing, count, price in self.items:
            cells = {
                "description": thing,
                "quantity": str(count),
                "price": f"{price:.2f}",
                "amount": f"{count * price:.2f}",
            }
            self.draft.lines.append(tuple(cells[each] for each in columns))

    def head(self) -> str:
        shop = self.shop
        return f"<b>{escape(shop.name)}</b><br>{escape(shop.street)}<br>{escape(shop.city)}"


def slip_with_counts(draft: Draft) -> str:
    """A slip: "2 x 1.75" below each line that needs it, sums with signs, cash and change."""
    facts, words = ReceiptFacts(draft), draft.words
    rows = ""
    for thing, count, price in facts.items:
        rows += f"<tr><td>{escape(thing)}</td><td class=r>{words.plain(count * price)}</td></tr>"
        if count > 1:
            rows += f"<tr><td colspan=2>&nbsp;&nbsp;{count} x {words.plain(price)}</td></tr>"
    sums = [
        (draft["total"], words.money(facts.total)),
        (draft["paid"], words.money(facts.given)),
        (draft["change"], words.money(facts.given - facts.total)),
        (draft["tax"].format(rate=facts.rate), words.money(facts.total - facts.net)),
    ]
    facts.say(
        "merchant",
        "receipt_number",
        "purchase_date",
        "total",
        "tax",
        "paid",
        "change",
        "vat_number",
        "phone",
        "currency",
    )
    facts.table("description", "amount")
    head = f"<center>{facts.head()}<br>{draft['phone']} {facts.shop.phone}<br>{draft['vat']}: {facts.shop.vat}<h3>{draft['title']}</h3></center>"
    meta = f"<div>{draft['number']} {facts.number}</div><div>{draft['date']}: {words.date(facts.day)} {facts.time}</div><div>{draft['cashier']}</div><hr>"
    return slip(f"{head}{meta}<table>{rows}</table><hr>{two(sums)}<center>{draft['thanks']}</center>")


def slip_with_classes(draft: Draft) -> str:
    """A slip with the class of tax behind each amount, quantities before the text, the day without a label."""
    facts, words = ReceiptFacts(draft), draft.words
    rows = "".join(
        f"<tr><td>{count} x {escape(thing)}</td><td class=r>{words.plain(count * price)} A</td></tr>"
        for thing, count, price in facts.items
    )
    facts.say("merchant", "receipt_number", "purchase_date", "total", "net", "tax", "currency")
    facts.table("description", "quantity", "amount")
    sums = [
        (draft["net"], words.plain(facts.net)),
        (draft["tax"].format(rate=facts.rate), words.plain(facts.total - facts.net)),
        (draft["total"], words.money(facts.total)),
    ]
    return slip(
        f"<center>{facts.head()}</center><h3>{draft['title']}</h3><div>{words.date(facts.day)}&nbsp;&nbsp;&nbsp;&nbsp;{facts.time}</div><div>{draft['number']}: {facts.number}</div><table>{rows}</table>{two(sums)}<center>{draft['thanks']}</center>",
        "body{font-family:'DejaVu Sans Mono',monospace;font-size:7pt}",
    )


def full_page(draft: Draft) -> str:
    """A receipt on a whole page: a table with a heading, sums at the right."""
    facts, words = ReceiptFacts(draft), draft.words
    facts.say("merchant", "receipt_number", "purchase_date", "net", "tax", "total", "currency", "paid", "vat_number")
    facts.table("description", "quantity", "price", "amount")
    facts.given = facts.total
    facts.say("paid")
    rows = [
        [escape(thing), str(count), words.plain(price), words.plain(count * price)]
        for thing, count, price in facts.items
    ]
    goods = table(
        [draft["thing"], draft["quantity"], draft["price"], draft["amount"]], rows, "lined", frozenset({1, 2, 3})
    )
    sums = [
        (draft["net"], words.money(facts.net)),
        (draft["tax"].format(rate=facts.rate), words.money(facts.total - facts.net)),
        (draft["total"], words.money(facts.total)),
        (draft["paid"], words.money(facts.given)),
    ]
    meta = pairs([(draft["number"], facts.number), (draft["date"], words.date(facts.day))])
    return sheet(
        f"<div class=row><div>{facts.head()}<br>{draft['vat']} {facts.shop.vat}</div><div><h1>{draft['title']}</h1>{meta}</div></div>{goods}{pairs(sums, style='margin-left:auto')}<p>{draft['thanks']}</p>"
    )


def title_first(draft: Draft) -> str:
    """A slip that begins with its name; counts above the lines, a table of taxes at the end."""
    facts, words = ReceiptFacts(draft), draft.words
    rows = ""
    for thing, count, price in facts.items:
        if count > 1:
            rows += f"<tr><td colspan=2>{count} × {words.plain(price)}</td></tr>"
        rows += f"<tr><td>{escape(thing)}</td><td class=r>{words.plain(count * price)} *</td></tr>"
    facts.say("merchant", "receipt_number", "purchase_date", "total", "paid", "change", "phone", "tax", "currency")
    facts.table("description", "amount")
    sums = [
        (draft["total"], words.money(facts.total)),
        (draft["paid"], words.plain(facts.given)),
        (draft["change"], words.plain(facts.given - facts.total)),
    ]
    taxes = f"<div>{draft['tax'].format(rate=facts.rate)} {words.plain(facts.total - facts.net)}</div>"
    return slip(
        f"<h2>{draft['title']}</h2>{facts.head()}<br>{draft['phone']}: {facts.shop.phone}<p>{draft['number']}: {facts.number}<br>{draft['date']} {words.date(facts.day)}, {facts.time}</p><table>{rows}</table><div style='border-top:1px dashed'></div>{two(sums)}{taxes}<p>{draft['cashier']}</p><p>{draft['thanks']}</p>"
    )


def half_page(draft: Draft) -> str:
    """A receipt with ruled cells, labels above their values, and sums below the table in its columns."""
    facts, words = ReceiptFacts(draft), draft.words
    facts.given = facts.total
    facts.say("merchant", "receipt_number", "purchase_date", "net", "tax", "total", "currency", "vat_number", "phone")
    facts.table("description", "quantity", "price", "amount")
    rows = [
        [escape(thing), str(count), words.plain(price), words.plain(count * price)]
        for thing, count, price in facts.items
    ]
    rows += [
        [f"<b>{label}</b>", "", "", value]
        for label, value in (
            (draft["net"], words.plain(facts.net)),
            (draft["tax"].format(rate=facts.rate), words.plain(facts.total - facts.net)),
            (draft["total"], words.money(facts.total)),
        )
    ]
    goods = table(
        [draft["thing"], draft["quantity"], draft["price"], draft["amount"]], rows, "ruled", frozenset({1, 2, 3})
    )
    meta = f"<table class=grid><tr><th>{draft['number']}</th><th>{draft['date']}</th></tr><tr><td>{facts.number}</td><td>{words.date(facts.day)}</td></tr></table>"
    return sheet(
        f"<h1 style='text-align:right'>{draft['title']}</h1><div class=row><div>{facts.head()}</div>{meta}</div>{goods}{lines([(draft['vat'], facts.shop.vat), (draft['phone'], facts.shop.phone)])}<p>{draft['thanks']}</p>",
        "@page{size:A5}",
    )


RECEIPTS = Kind(
    "receipt", (slip_with_counts, slip_with_classes, full_page), (title_first, half_page), LABELS, HELD_OUT_LABELS
)
