"""Amounts, dates and numbers, in the forms of many countries."""

from datetime import date
from decimal import Decimal

import pytest

from webapp.readers.fields.amounts import read_amount
from webapp.readers.fields.codes import read_code, read_iban, read_phone, read_vat
from webapp.readers.fields.dates import read_date
from webapp.readers.fields.words import folded


@pytest.mark.parametrize(
    ("text", "value", "currency"),
    [
        ("1,234.50", "1234.50", None),
        ("1.234,50 €", "1234.50", "EUR"),
        ("1 234,50 €", "1234.50", "EUR"),
        ("1\u00a0234\u00a0567,50 ₽", "1234567.50", "RUB"),
        ("1'234.50", "1234.50", None),
        ("CHF 1'234.50", "1234.50", "CHF"),
        ("US$12", "12", "USD"),
        ("R$ 1.234,56", "1234.56", "BRL"),
        ("1.234", "1234", None),
        ("0.125", "0.125", None),
        ("-12,00 EUR", "-12.00", "EUR"),
        ("(12.00)", "-12.00", None),
        ("£3", "3", "GBP"),
        ("1234567.89", "1234567.89", None),
    ],
)
def test_amounts(text: str, value: str, currency: str | None) -> None:
    found = read_amount(text)
    assert found is not None
    assert (found.value, found.currency) == (Decimal(value), currency)


@pytest.mark.parametrize("text", ["", "abc", "12 34", "1,23,456.00", "20%", "12.05.2026", "1 234 5", "INV-1", "12 kg"])
def test_no_amounts(text: str) -> None:
    assert read_amount(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "03.05.2026", "3.5.26", "3/5/2026", "2026-05-03", "3-5-2026", "03.05.2026г.", "3 May 2026", "May 3, 2026",
        "3rd May 2026", "3. Mai 2026", "3 de maio de 2026", "3 de mayo de 2026", "3 mai 2026", "3 мая 2026 г.",
        "«3» мая 2026 года",
    ],
)  # fmt: skip
def test_dates(text: str) -> None:
    found = read_date(text.split())
    assert found is not None
    assert found.day == date(2026, 5, 3)


@pytest.mark.parametrize(
    "text", ["", "31.02.2026", "May", "2026", "3 May", "12:30", "1.2.3", "99/99/2026", "Mayor 3 2026 x"]
)
def test_no_dates(text: str) -> None:
    assert read_date(text.split()) is None


def test_the_other_meaning_of_a_date() -> None:
    found = read_date(["04/05/2026"])
    assert found is not None
    assert (found.day, found.other) == (date(2026, 5, 4), date(2026, 4, 5))


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("INV-2026/17", "INV-2026/17"),
        ("A 00273", "A 00273"),
        ("2026 0417", "2026 0417"),
        ("17, dated", "17"),
        ("R№17", None),
    ],
)
def test_numbers_of_documents(text: str, code: str | None) -> None:
    found = read_code(text.split())
    assert (found[0] if found else None) == code


@pytest.mark.parametrize(
    "text", ["of the invoice", "12.05.2026", "1.234,50", "2025-", "Total 17", "GB82WEST12345698765432GB82WEST123456"]
)
def test_no_numbers_of_documents(text: str) -> None:
    assert read_code(text.split()) is None


def test_ibans() -> None:
    assert read_iban(["DE89", "3704", "0044", "0532", "0130", "00", "BIC"]) == ("DE89370400440532013000", 6, True)
    assert read_iban(["DE89370400440532013001"]) == ("DE89370400440532013001", 1, False)
    assert read_iban(["DE89", "3704"]) is None
    assert read_iban(["INV1", "2345"]) is None


def test_vat_numbers() -> None:
    assert read_vat(["DE123456789"], labelled=False) == ("DE123456789", 1)
    assert read_vat(["GB", "123", "4567", "89"], labelled=False) == ("GB123456789", 4)
    assert read_vat(["7701234567"], labelled=False) is None
    assert read_vat(["7701234567"], labelled=True) == ("7701234567", 1)
    assert read_vat(["RE20250147"], labelled=False) is None


def test_telephones() -> None:
    assert read_phone("+49 (0)40 1234-56 Hamburg") == "+49 (0)40 1234-56"
    assert read_phone("12345") is None


@pytest.mark.parametrize("text", ["N.º", "№", "#", "no.", "NO:"])
def test_signs_for_number_are_one(text: str) -> None:
    assert folded(text) == "no"
