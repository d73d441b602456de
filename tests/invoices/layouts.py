"""The layouts that the rules for fields were made with."""

from collections.abc import Callable
from html import escape

from tests.invoices.parts import Sheet, grid, items, lines, page, pairs, party, stack

Layout = Callable[[Sheet], str]
FULL = ("position", "description", "quantity", "unit", "price", "amount")


def letterhead(sheet: Sheet) -> str:
    """Letterhead left, a block of labels and values right, ruled lines."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<div class=row>{party(inv.seller)}<div><h1>{words['title']}</h1>{pairs(sheet.meta('number', 'date', 'due', 'order'))}</div></div>"
    rest = pairs(sheet.totals(), style="margin-left:auto")
    contact = lines(sheet.contacts("iban", "vat", "email"))
    return page(f"{head}{party(inv.buyer, words['buyer'])}{items(sheet, *FULL)}{rest}<p>{words['thanks']}</p>{contact}")


def window_letter(sheet: Sheet) -> str:
    """A letter for a window envelope: small sender's line, meta data right, the number in the subject."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"buyer", "seller", "number"}
    sender = f"<div style='font-size:7pt;text-decoration:underline'>{escape(inv.seller.name)} · {escape(inv.seller.street)} · {escape(inv.seller.city)}</div>"
    block = pairs(sheet.meta("customer_number", "order", "date", "due"), colon=":")
    number = words.chance.choice(
        {
            "en": ("Invoice No.", "Invoice"),
            "de": ("Rechnung Nr.", "Rechnung"),
            "pt": ("Fatura n.º", "Fatura"),
            "es": ("Factura n.º", "Factura"),
            "fr": ("Facture n°",),
            "ru": ("Счёт №",),
        }[inv.language]
    )
    subject = f"<h2>{number} {inv.number}</h2>"
    body = items(sheet, "position", "description", "quantity", "price", "amount", css="lined", foot=sheet.totals())
    foot = f"<div class=foot3><div>{escape(inv.seller.name)}<br>{escape(inv.seller.street)}<br>{escape(inv.seller.city)}</div><div>{lines(sheet.contacts('phone', 'email'))}</div><div>{lines(sheet.contacts('iban', 'vat'))}</div></div>"
    return page(
        f"<div class=row style='margin-top:60px'><div>{sender}{party(inv.buyer)}</div>{block}</div>{subject}{body}<p>{words['thanks']}</p>{foot}"
    )


def label_grid(sheet: Sheet) -> str:
    """Labels in a row, values below, over lines without rules."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<h1>{words['title']}</h1><div class=row>{party(inv.seller, words['seller'])}{party(inv.buyer, words['buyer'])}</div>"
    rest = pairs(sheet.totals(), style="margin-left:auto")
    return page(
        f"{head}{grid(sheet.meta('number', 'date', 'due', 'order'))}{items(sheet, 'code', 'description', 'quantity', 'price', 'amount', css='')}{rest}<p>{lines(sheet.contacts('iban', 'vat'))}</p>"
    )


def colon_block(sheet: Sheet) -> str:
    """Labels with colons left, both parties beside each other."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<div style='text-align:right'><h1>{words['title']}</h1></div>{pairs(sheet.meta('number', 'date', 'due', 'customer_number'), colon=':')}"
    who = f"<div class=row>{party(inv.seller, words['seller'] + ':')}{party(inv.buyer, words['buyer'] + ':')}</div>"
    rest = pairs(sheet.totals(), colon=":", style="margin-left:auto")
    return page(
        f"{head}{who}{items(sheet, 'description', 'quantity', 'unit', 'price', 'rate', 'amount', css='ruled')}{rest}{lines(sheet.contacts('iban', 'vat', 'phone'))}"
    )


def boxed(sheet: Sheet) -> str:
    """A large title, the sum due at the top in a box, meta data in ruled boxes."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    box = pairs(sheet.meta("number", "date", "due", "total"), style="background:#eee")
    head = f"<div class=row><div><h1 style='font-size:30pt'>{words['title']}</h1>{party(inv.seller)}</div>{box}</div>"
    who = f"<div class=row>{party(inv.buyer, words['buyer'])}</div>"
    rest = pairs(sheet.totals(), style="margin-left:auto")
    return page(
        f"{head}{who}{items(sheet, 'description', 'quantity', 'price', 'amount', css='lined')}{rest}<p>{words['thanks']}</p>{lines(sheet.contacts('vat', 'iban'))}",
        ".pairs td{border:1px solid #999}",
    )


def plain_columns(sheet: Sheet) -> str:
    """No rule anywhere; all text in one size."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<div>{escape(inv.seller.name)}<br>{escape(inv.seller.street)}<br>{escape(inv.seller.city)}</div>{lines(sheet.contacts('phone', 'email', 'vat'))}"
    who = f"<div class=row>{party(inv.buyer, words['buyer'])}<div>{words['title'].upper()}{pairs(sheet.meta('number', 'date', 'order'))}</div></div>"
    sheet.say("due")
    terms = words["sentence"].format(due=words.date(inv.due))
    return page(
        f"{head}{who}{items(sheet, 'code', 'description', 'quantity', 'price', 'amount', css='')}{pairs(sheet.totals(), style='width:100%')}<p>{terms}</p>{lines(sheet.contacts('iban'))}",
        ".label{font-size:10pt;color:black}.pairs{max-width:100%}.right{width:60%}",
    )


def text_lines(sheet: Sheet) -> str:
    """Everything above the lines is "Label: value" at the left."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<h2>{words['title']}</h2>{lines(sheet.meta('number', 'date', 'due', 'order', 'customer_number'))}"
    who = f"<p>{escape(words['seller'])}: {escape(inv.seller.name)}<br>{escape(inv.seller.street)}, {escape(inv.seller.city)}</p><p>{escape(words['buyer'])}: {escape(inv.buyer.name)}<br>{escape(inv.buyer.street)}, {escape(inv.buyer.city)}</p>"
    return page(
        f"{head}{who}{items(sheet, *FULL, css='zebra')}{lines(sheet.totals())}<p>{lines(sheet.contacts('iban', 'vat', 'email', 'phone'))}</p>"
    )


def tax_table(sheet: Sheet) -> str:
    """A table of taxes: rate, base, tax; then the total."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer", "tax", "net", "currency", "total"}
    head = f"<div class=row>{party(inv.seller)}{pairs(sheet.meta('number', 'date', 'due'), colon=':')}</div><h1>{words['title']}</h1>{party(inv.buyer, words['buyer'])}"
    rows = "".join(
        f"<tr><td>{rate}%</td><td class=amount>{words.plain(base)}</td><td class=amount>{words.plain(inv.taxes[rate])}</td></tr>"
        for rate, base in inv.bases.items()
    )
    taxes = f"<table class='ruled'><tr><th>{words['rate']}</th><th>{words['base']}</th><th>{ {'en': 'VAT amount', 'de': 'Steuerbetrag', 'pt': 'Valor do IVA', 'es': 'Cuota', 'fr': 'Montant TVA', 'ru': 'Сумма НДС'}[inv.language] }</th></tr>{rows}</table>"
    net, *_, total = sheet.totals()
    return page(
        f"{head}{items(sheet, 'code', 'description', 'quantity', 'price', 'rate', 'amount')}<div class=row>{taxes}{pairs([net, total])}</div>{lines(sheet.contacts('iban', 'vat'))}",
        ".ruled .amount{text-align:right}",
    )


def title_sentence(sheet: Sheet) -> str:
    """Number and date in the title: "Rechnung Nr. 17 vom 1.5.2026"; parties as labelled lines."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer", "number", "date", "due"}
    title = {
        "en": "Invoice No.",
        "de": "Rechnung Nr.",
        "pt": "Fatura n.º",
        "es": "Factura n.º",
        "fr": "Facture n°",
        "ru": "Счёт на оплату №",
    }[inv.language]
    head = f"<h2>{title} {inv.number} {words['of']} {words.date(inv.date)}</h2>"
    who = pairs(
        [
            (words["seller"], f"{inv.seller.name}, {inv.seller.street}, {inv.seller.city}"),
            (words["buyer"], f"{inv.buyer.name}, {inv.buyer.street}, {inv.buyer.city}"),
        ],
        colon=":",
    )
    rest = pairs(sheet.totals(), colon=":", style="margin-left:auto")
    return page(
        f"{pairs(sheet.contacts('iban', 'vat'))}{head}<hr>{who}{items(sheet, *FULL)}{rest}<p>{words['sentence'].format(due=words.date(inv.due))}</p>",
        ".pairs .v{text-align:left}",
    )


def two_pages(sheet: Sheet) -> str:
    """Many lines on two pages, with what is carried over."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<div class=row>{party(inv.seller)}<div><h1>{words['title']}</h1>{pairs(sheet.meta('number', 'date', 'due'))}</div></div>{party(inv.buyer, words['buyer'])}"
    half = len(inv.items) // 2
    so_far = words.money(sum((item.amount for item in inv.items[:half]), start=inv.net * 0))
    kinds = ("position", "description", "quantity", "price", "amount")
    first = items(sheet, *kinds, css="lined", only=slice(0, half), foot=[(words["carried"], so_far)])
    second = items(sheet, *kinds, css="lined", only=slice(half, None), head=(words["carried"], so_far))
    return page(
        f"{head}{first}<div style='break-after:page'></div>{second}{pairs(sheet.totals(), style='margin-left:auto')}{lines(sheet.contacts('iban', 'vat', 'email'))}"
    )


def sidebar(sheet: Sheet) -> str:
    """A narrow column left with each label above its value, the lines at its right."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    left = f"<div style='width:27%'>{stack(sheet.meta('number', 'date', 'due', 'order'))}{party(inv.buyer, words['buyer'])}</div>"
    right = f"<div style='width:70%'><h1>{words['title']}</h1>{items(sheet, 'description', 'quantity', 'price', 'amount', css='lined')}{pairs(sheet.totals(), style='margin-left:auto')}</div>"
    return page(
        f"{party(inv.seller)}<div class=row>{left}{right}</div>{lines(sheet.contacts('iban', 'vat'))}",
        ".items{margin-top:0}",
    )


def leaders(sheet: Sheet) -> str:
    """A narrow slip with dots between labels and amounts."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller"}
    rows = "".join(
        f"<div>{escape(key)} {'.' * max(3, 46 - len(key) - len(value))} {escape(value)}</div>"
        for key, value in sheet.totals()
    )
    head = f"<div style='text-align:center'>{escape(inv.seller.name)}<br>{escape(inv.seller.street)}<br>{escape(inv.seller.city)}<br>{words['title']}</div>{lines(sheet.meta('number', 'date', 'due'))}"
    return page(
        f"<div style='width:110mm'>{head}{items(sheet, 'description', 'quantity', 'price', 'amount', css='')}{rows}<br>{lines(sheet.contacts('vat', 'iban', 'phone'))}</div>",
        "body{font-family:'DejaVu Sans Mono','Liberation Mono',monospace;font-size:8pt}",
    )


def modern(sheet: Sheet) -> str:
    """The sum due large at the top, meta data in one line with dots between."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    meta = " &nbsp;·&nbsp; ".join(
        f"{escape(key)}: {escape(value)}" for key, value in sheet.meta("number", "date", "due")
    )
    top = f"<div class=row><div><b style='font-size:16pt'>{escape(inv.seller.name)}</b></div><div style='text-align:right'><div class=label>{escape(words['total'])}</div><div style='font-size:18pt'>{escape(words.money(inv.total))}</div></div></div>"
    return page(
        f"{top}<h1>{words['title']}</h1><div>{meta}</div><div class=row>{party(inv.buyer, words['buyer'])}</div>{items(sheet, 'description', 'quantity', 'price', 'amount', css='zebra')}{pairs(sheet.totals(), style='margin-left:auto')}<div class=foot3><div>{lines(sheet.contacts('iban'))}</div><div>{lines(sheet.contacts('vat'))}</div><div>{lines(sheet.contacts('email'))}</div></div>"
    )


LAYOUTS: tuple[Layout, ...] = (
    letterhead, window_letter, label_grid, colon_block, boxed, plain_columns, text_lines, tax_table, title_sentence, two_pages,
    sidebar, leaders, modern,
)  # fmt: skip
