"""A naive reader of invoices to compare with: labels and values by regular expressions on the page's plain text."""

import re

import pypdfium2

from webapp.readers.extraction import Field
from webapp.readers.fields.amounts import read_amount, shown
from webapp.readers.fields.dates import read_date
from webapp.readers.fields.vocabulary import KINDS, STRONG, WEAK

_VALUES = {
    "code": r"[\w./-]*\d[\w./-]*",
    "date": r"[^\n]{6,20}",
    "amount": r"[^\n]{0,6}\d[^\n]*",
}
ASKED = ("invoice_number", "invoice_date", "due_date", "total", "net", "order_number")


def naive_fields(path: str) -> list[Field]:
    """The first label of each kind that is followed by a value, on its line or the next."""
    document = pypdfium2.PdfDocument(path)
    text = "\n".join(page.get_textpage().get_text_range().replace("\r", "") for page in document)
    document.close()
    return [found for kind in ASKED if (found := _first(text, kind))]


def _first(text: str, kind: str) -> Field | None:
    name, of_type = KINDS[kind]
    labels = "|".join(sorted(map(re.escape, (*STRONG[kind], *WEAK.get(kind, ()))), key=len, reverse=True))
    for found in re.finditer(rf"\b(?:{labels})\.?:?\s+({_VALUES[of_type]})", text, re.IGNORECASE):
        value = found[1].strip()
        if (meaning := _meaning(of_type, value)) is not None:
            return Field(name, value, kind=kind, normalized=meaning)
    return None


def _meaning(of_type: str, value: str) -> str | None:
    if of_type == "date":
        day = read_date(value.split())
        return day.day.isoformat() if day else None
    if of_type == "amount":
        amount = read_amount(value)
        return shown(amount.value) if amount else None
    return value
