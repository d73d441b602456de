"""Layouts that were written before the rules ran on them: they say how well unknown invoices are read."""

from html import escape

from tests.invoices.layouts import FULL, Layout
from tests.invoices.parts import Sheet, grid, items, lines, page, pairs, party, stack


def form_cells(sheet: Sheet) -> str:
    """A ruled form: in each cell a small label and its value below."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    meta = sheet.meta("number", "date", "due", "order", "customer_number")
    cells = "".join(f"<td><div class=label>{escape(key)}</div>{escape(value)}</td>" for key, value in meta)
    head = f"<div class=row><h1>{words['title']}</h1>{party(inv.seller)}</div><table class=ruled style='width:100%'><tr>{cells}</tr></table>{party(inv.buyer, words['buyer'])}"
    return page(
        f"{head}{items(sheet, 'code', 'description', 'quantity', 'unit', 'price', 'amount', foot=sheet.totals())}{lines(sheet.contacts('iban', 'vat'))}"
    )


def seller_right(sheet: Sheet) -> str:
    """The buyer left, the seller right, the title in the middle, totals at the left."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    right = f"<div style='text-align:right'>{party(inv.seller)}{lines(sheet.contacts('phone', 'email', 'vat'))}</div>"
    head = f"<div class=row>{party(inv.buyer, words['buyer'])}{right}</div><h1 style='text-align:center'>{words['title']}</h1>{pairs(sheet.meta('order', 'number', 'date', 'due'))}"
    return page(
        f"{head}{items(sheet, 'position', 'code', 'description', 'quantity', 'price', 'rate', 'amount', css='lined')}{pairs(sheet.totals())}<p>{words['thanks']}</p>{lines(sheet.contacts('iban'))}",
        "body{font-family:'DejaVu Serif',serif;font-size:9pt}",
    )


def totals_row(sheet: Sheet) -> str:
    """The totals as a row of labels with the amounts below."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<div class=row><div>{stack(sheet.meta('number', 'date', 'due'))}</div>{party(inv.seller, words['seller'])}{party(inv.buyer, words['buyer'])}</div><h1>{words['title']}</h1>"
    return page(
        f"{head}{items(sheet, 'description', 'quantity', 'price', 'amount')}{grid(sheet.totals(), style='margin-left:auto')}<p>{lines(sheet.contacts('iban', 'vat', 'phone'))}</p>"
    )


def long_descriptions(sheet: Sheet) -> str:
    """Descriptions in two lines with the article's number below, meta data in two columns of pairs."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    meta = sheet.meta("number", "order", "date", "due")
    head = f"<div style='border-bottom:2px solid black'>{party(inv.seller)}</div><h1>{words['title']}</h1><div class=row>{pairs(meta[:2], colon=':')}{pairs(meta[2:], colon=':')}</div>{party(inv.buyer, words['buyer'])}"
    body = items(sheet, "position", "description", "quantity", "price", "amount", css="lined")
    for item in inv.items:
        name = f"<td class=description>{escape(item.description)}"
        body = body.replace(
            f"{name}</td>", f"{name}<br><span class=label>{escape(words['code'])} {item.code}</span></td>", 1
        )
    sheet.say("two_line_descriptions")
    return page(f"{head}{body}{pairs(sheet.totals(), style='margin-left:auto')}{lines(sheet.contacts('vat', 'iban'))}")


def summary_box(sheet: Sheet) -> str:
    """A bill with a box of its main figures at the right, the due date in a sentence."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer", "due"}
    box = f"<div style='border:1px solid;padding:10px'>{pairs(sheet.meta('customer_number', 'number', 'date', 'total'))}</div>"
    head = f"<div class=row><div>{party(inv.seller)}<br>{party(inv.buyer)}</div>{box}</div><h1>{words['title']}</h1><p>{words['sentence'].format(due=words.date(inv.due))}</p>"
    return page(
        f"{head}{items(sheet, *FULL, css='zebra')}{pairs(sheet.totals(), style='margin-left:auto')}<div class=foot3><div>{escape(inv.seller.name)}</div><div>{lines(sheet.contacts('email', 'phone'))}</div><div>{lines(sheet.contacts('iban', 'vat'))}</div></div>"
    )


def amounts_first(sheet: Sheet) -> str:
    """Quantity and unit first, description in the middle; labels at the right edge of their column."""
    inv, words = sheet.inv, sheet.words
    sheet.printed |= {"seller", "buyer"}
    head = f"<div class=row><div>{party(inv.seller)}{lines(sheet.contacts('vat'), colon='')}</div>{pairs(sheet.meta('date', 'number', 'order', 'due'), colon=':')}</div><h2>{words['title']}</h2>{party(inv.buyer, words['buyer'])}"
    return page(
        f"{head}{items(sheet, 'quantity', 'unit', 'description', 'price', 'amount', css='lined')}{pairs(sheet.totals(), style='margin-left:auto')}<p>{lines(sheet.contacts('iban', 'email'))}</p>",
        ".k{text-align:right}.items .quantity{text-align:left}",
    )


HELD_OUT: tuple[Layout, ...] = (form_cells, seller_right, totals_row, long_descriptions, summary_box, amounts_first)
