"""Documents that have no fields, although they hold labels, colons, tables and the word "invoice"."""

from collections.abc import Callable

from tests import samples
from tests.samples import Run, lines_pdf, pdf

_ABOUT_INVOICES = (
    "Invoices: a guide for new colleagues",
    "",
    "Every invoice needs an invoice number, a date and a due date. The total is the sum of",
    "all lines plus tax. Write the order number below: without it nobody pays.",
    "Invoice number: a running number without gaps, which you choose.",
    "Due date: fourteen days after the date of the invoice, unless agreed otherwise.",
    "Total: what is to be paid, with tax; see chapter 4, page 12.",
    "Examples of taxes are 19% in one country and 20% in another, and 1,000.00 gives 190.00.",
)
_KEYS = (
    "Keys of the editor",
    "",
    "DEL = delete the current character",
    "TAB = go to the next field",
    "Note: keys can be changed in the settings, as described in the chapter before this one.",
    "Warning: changes are lost when the program ends before they were stored on the disk.",
    "Ctrl-S: stores the file",
)


_STORY = (
    "The letter",
    "",
    "She opened it at once. It was dated 3 May 1926, and this is what it said.",
    "Dear Emma,",
    "I signed the contract between my brother and the bank. He gave me a receipt for it,",
    "and the total was 40.00, of which nothing is left. Come home.",
    "Yours truly,",
    "James",
    "She put it away and went out into the garden without a word to anybody.",
)


def _code() -> bytes:
    return lines_pdf(
        [
            "Options of the program",
            *(f"--option-{number}  sets value {number} (default: {number * 7})" for number in range(40)),
        ]
    )


def _price_list() -> bytes:
    head = [Run(60, 80, "Price list 2026", 20, bold=True)]
    rows = [("Description", "Qty", "Price"), ("Bolts", "40", "8.50"), ("Nuts", "40", "6.20"), ("Washers", "80", "3.10")]
    return pdf(
        [
            head
            + [
                Run(60 + 160 * column, 120 + 18 * line, cell)
                for line, cells in enumerate(rows)
                for column, cell in enumerate(cells)
            ]
        ]
    )


MANUALS: dict[str, Callable[[], bytes]] = {
    "a guide about invoices": lambda: lines_pdf(_ABOUT_INVOICES),
    "a story with a letter in it": lambda: lines_pdf(_STORY),
    "a list of keys": lambda: lines_pdf(_KEYS),
    "options of a program": _code,
    "a price list": _price_list,
    "a report": lambda: samples.report_pdf(6),
    "two columns of text": samples.columns_pdf,
    "a ruled table": samples.table_pdf,
}
