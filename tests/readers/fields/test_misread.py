"""What OCR misreads: letters of the other alphabet, lost spaces, labels with a wrong letter; values stay."""

import pytest

from tests.readers.fields.papers import field, line, page, values
from webapp.readers.fields.find import find_fields
from webapp.readers.fields.misread import mended


def texts(text: str, y: float = 700, context: str = "Thank you for your business") -> str:
    """A line as it is mended, on a page in the letters of the context."""
    found = mended(page(line(y, (50, text)), line(800, (50, context))))
    return " ".join(word.text for word in found.words).removesuffix(f" {context}")


@pytest.mark.parametrize(
    ("read", "printed"),
    [
        ("РО number: РО-95386", "PO number: PO-95386"),  # read as Cyrillic letters
        ("28 demaio de2026", "28 de maio de 2026"),
        ("12dejulho de 2026", "12 de julho de 2026"),
        ("3May2026", "3 May 2026"),
        ("InvoiceNo.", "invoice no"),
        ("Invoicenumber: 17", "invoice number: 17"),
        ("Rechnungsdalum: 3.5.2026", "rechnungsdatum: 3.5.2026"),
        ("Gesamlbetrag 12O,50", "gesamtbetrag 120,50"),
        ("Due dale: 3.5.2026", "due date: 3.5.2026"),
        ("Padaria do PortoLda", "Padaria do Porto Lda"),
        ("O1.05.2026", "01.05.2026"),
    ],
)
def test_what_was_misread(read: str, printed: str) -> None:
    assert texts(read) == printed


@pytest.mark.parametrize(
    "text",
    [
        "Lindner GmbH", "McDonald Inc", "RE20250147", "SO-1O5", "INV-2026-O17", "3 May 2026", "dezembro", "1,234.50",
        "Nordlicht Energie AG", "a@oak.example", "Invoice number: A-17", "Detail", "Sommer", "12 kg",
        "Northgate Supplies Inc", "Société Vallon SAS", "Fenwick Marine Services", "Serviços Alvorada Lda",
    ],
)  # fmt: skip
def test_what_was_read_right_stays(text: str) -> None:
    assert texts(text) == text


@pytest.mark.parametrize(
    ("read", "printed"),
    [
        ("HДC", "НДС"),
        ("OOO Ветер", "ООО Ветер"),
        ("РО-95386", "PO-95386"),
        ("1 234,50 P", "1 234,50 ₽"),
        ("Homep cuéta: 17", "номер счета: 17"),
        ("P/c4éT: 407", "рсчет: 407"),
        ("HAC 20%", "НДС 20%"),
        ("VHH: 77", "ИНН: 77"),
        ("Ne 3aKa3a: 17", "no заказа: 17"),
        ("Mupa", "Mupa"),
        ("2 Aeka6pa 2025", "2 декабря 2025"),
        ("10 307,30P", "10 307,30₽"),
        ("А 01134", "A 01134"),
    ],
)
def test_a_page_in_cyrillic_letters(read: str, printed: str) -> None:
    assert texts(read, context="Спасибо за заказ") == printed


@pytest.mark.parametrize(
    ("read", "context", "printed"),
    [
        ("4809,58Е", "12,00 €", "4809,58€"),
        ("809,58 E", "12,00 €", "809,58 €"),
        ("809,58 E", "12,00 $", "809,58 E"),
        ("СНЕ 29'910.08", "CHF 12.00", "CHF 29'910.08"),
        ("THE 17", "CHF 12.00", "THE 17"),
    ],
)
def test_signs_of_currencies_that_the_page_shows_elsewhere(read: str, context: str, printed: str) -> None:
    assert texts(read, context=context) == printed


def test_the_separators_of_a_senders_line() -> None:
    found = texts("Padaria S.A. .Rua das Flores 18.4050-262 Porto", y=60)
    assert found == "Padaria S.A. · Rua das Flores 18 · 4050-262 Porto"


def test_an_invoice_that_was_misread() -> None:
    read = page(
        line(60, (50, "Northgate SuppliesInc .14 MillLane- Leeds LS2 8AA")),
        line(90, (50, "Invoice No. РО-17")),
        line(106, (50, "Due dale:"), (200, "12July 2026")),
        line(122, (50, "Invoice dale:"), (200, "O2.07.2026")),
        line(400, (50, "Amount due"), (300, "£ 2O.50")),
    )
    found = find_fields([mended(read)])
    assert values(found) == {
        "invoice_number": "PO-17", "invoice_date": "2026-07-02", "due_date": "2026-07-12", "total": "20.50",
        "currency": "GBP", "supplier": "Northgate Supplies Inc",
    }  # fmt: skip
    assert field(found, "due_date").value == "12 July 2026"
