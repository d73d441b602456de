"""Invoices: each value by its label wherever it is, checked against the others; nothing where there is no invoice."""

import pytest

from tests.readers.fields.papers import Line, field, line, page, read, values
from webapp.readers.fields.find import find_fields

ITEMS = (
    line(300, (50, "Description"), (300, "Qty"), (380, "Unit price"), (500, "Amount")),
    line(316, (50, "Oak shelf"), (300, "2"), (380, "50.00"), (500, "100.00")),
    line(332, (50, "Delivery"), (300, "1"), (380, "20.00"), (500, "20.00")),
)
TOTALS = (
    line(370, (380, "Subtotal"), (500, "120.00")),
    line(386, (380, "VAT 20%"), (500, "24.00")),
    line(402, (380, "Total due"), (500, "144.00")),
)
HEAD = (
    line(60, (50, "INVOICE")),
    line(90, (50, "Invoice number: A-17")),
    line(106, (50, "Date: 3 May 2026")),
    line(122, (50, "Due date: 17 May 2026")),
)


def test_labels_at_the_left() -> None:
    found = values(read(*HEAD, *ITEMS, *TOTALS))
    assert found == {
        "invoice_number": "A-17",
        "invoice_date": "2026-05-03",
        "due_date": "2026-05-17",
        "net": "120.00",
        "tax": "24.00",
        "total": "144.00",
    }


def test_a_block_at_the_right_beside_the_letterhead() -> None:
    found = read(
        line(50, (50, "Oakfield Joinery Ltd"), (400, "Invoice No."), (480, "2026/044")),
        line(64, (50, "7 Quayside"), (400, "Issued"), (480, "03/05/2026")),
        line(78, (50, "Bristol BS1 4TR"), (400, "Due on"), (480, "17/05/2026")),
        line(110, (50, "Bill to")),
        line(124, (50, "Fenwick Marine")),
        line(138, (50, "14 Mill Lane")),
        line(152, (50, "Leeds LS2 8AA")),
        *ITEMS,
        *TOTALS,
    )
    said = values(found)
    assert (said["invoice_number"], said["invoice_date"], said["due_date"]) == ("2026/044", "2026-05-03", "2026-05-17")
    assert (said["supplier"], said["customer"]) == ("Oakfield Joinery Ltd", "Fenwick Marine")
    total = field(found, "total")
    assert (total.page, total.value, total.polygon) == (1, "144.00", (500, 402, 530, 402, 530, 414, 500, 414))


def test_labels_above_their_values() -> None:
    found = values(
        read(
            line(60, (50, "Rechnung")),
            line(90, (50, "Rechnungs-Nr."), (180, "Datum"), (300, "Fällig am"), (420, "Kundennummer")),
            line(104, (50, "R 2026 17"), (180, "3. Mai 2026"), (300, "17.05.26"), (420, "4711")),
            line(140, (50, "Gesamtbetrag"), (300, "1.234,50 €")),
        )
    )
    assert found == {
        "invoice_number": "R 2026 17",
        "invoice_date": "2026-05-03",
        "due_date": "2026-05-17",
        "customer_number": "4711",
        "total": "1234.50",
        "currency": "EUR",
    }


def test_labels_and_values_that_are_wrapped_in_their_cells() -> None:
    found = values(
        read(
            line(60, (50, "FATURA")),
            line(90, (50, "Data de"), (150, "N.º"), (250, "Vence em")),
            line(101, (50, "emissão")),
            line(116, (50, "24-06-"), (150, "2025-"), (250, "04-07-")),
            line(128, (50, "2025"), (150, "0861"), (250, "2025")),
            line(170, (50, "Total a pagar"), (250, "R$ 40.474,69")),
        )
    )
    assert found["invoice_number"] == "2025-0861"
    assert (found["invoice_date"], found["due_date"]) == ("2025-06-24", "2025-07-04")
    assert (found["total"], found["currency"]) == ("40474.69", "BRL")


@pytest.mark.parametrize(
    ("title", "number", "day"),
    [
        ("Invoice No. 117 of 3 May 2026", "117", "2026-05-03"),
        ("Rechnung Nr. RE-117 vom 3.5.2026", "RE-117", "2026-05-03"),
        ("Facture n° F-117 du 3 mai 2026", "F-117", "2026-05-03"),
        ("Factura n.º 117/26 de 3 de mayo de 2026", "117/26", "2026-05-03"),
        ("Fatura nº 117 de 03/05/2026", "117", "2026-05-03"),
        ("Счёт на оплату №117 от 3 мая 2026 г.", "117", "2026-05-03"),
    ],
)
def test_number_and_date_in_the_title(title: str, number: str, day: str) -> None:
    found = values(read(line(60, (50, title)), line(100, (50, "Total"), (300, "20.00"))))
    assert (found["invoice_number"], found["invoice_date"], found["total"]) == (number, day, "20.00")


def test_a_due_date_in_a_sentence() -> None:
    found = values(read(*HEAD[:3], *TOTALS, line(450, (50, "Please pay by 20 May 2026, or ask us for a plan."))))
    assert found["due_date"] == "2026-05-20"


def test_the_lines_are_a_table_of_typed_columns_without_the_totals() -> None:
    (table,) = read(*HEAD, *ITEMS, *TOTALS).tables
    assert table.columns == ("description", "quantity", "price", "amount")
    assert table.rows == (
        ("Description", "Qty", "Unit price", "Amount"),
        ("Oak shelf", "2", "50.00", "100.00"),
        ("Delivery", "1", "20.00", "20.00"),
    )


def test_what_has_no_numbers_goes_on_the_line_above() -> None:
    more = (line(329, (50, "of solid oak")), line(345, (50, "Delivery"), (300, "1"), (380, "20.00"), (500, "20.00")))
    (table,) = read(*HEAD, *ITEMS[:2], *more, *TOTALS).tables
    assert [row[0] for row in table.rows[1:]] == ["Oak shelf of solid oak", "Delivery"]


def test_lines_go_on_to_the_next_page_and_sums_carried_over_are_no_lines() -> None:
    carried = line(332, (380, "Carried forward"), (500, "100.00"))
    first = page(*HEAD, *ITEMS[:2], carried)
    second = page(ITEMS[0], line(316, (380, "Carried forward"), (500, "100.00")), ITEMS[2], *TOTALS, number=2)
    found = find_fields([first, second])
    (table,) = found.tables
    assert [row[0] for row in table.rows[1:]] == ["Oak shelf", "Delivery"]
    assert field(found, "total").page == 2
    assert [each.doubt for each in found.fields] == [None] * len(found.fields)


def test_taxes_by_rate_from_a_table_of_taxes() -> None:
    found = read(
        *HEAD,
        line(350, (50, "Rate"), (150, "Base"), (250, "VAT amount")),
        line(364, (50, "20%"), (150, "100.00"), (250, "20.00")),
        line(378, (50, "5%"), (150, "40.00"), (250, "2.00")),
        line(400, (50, "Net amount"), (250, "140.00")),
        line(414, (50, "Total due"), (250, "162.00")),
    )
    taxes = {each.name: each.normalized for each in found.fields if each.kind == "tax"}
    assert taxes == {"Tax 20 %": "20.00", "Tax 5 %": "2.00"}
    assert field(found, "total").doubt is None


def test_sums_that_do_not_add_up_are_doubtful() -> None:
    wrong = line(402, (380, "Total due"), (500, "154.00"))
    found = read(*HEAD, *ITEMS, *TOTALS[:2], wrong)
    assert {each.kind: each.doubt for each in found.fields if each.doubt} == {
        "net": "sum",
        "tax": "sum",
        "total": "sum",
    }
    assert field(found, "total").confidence is None


def test_lines_that_do_not_add_up_are_doubtful() -> None:
    lines = (*ITEMS[:2], line(332, (50, "Delivery"), (300, "1"), (380, "90.00"), (500, "90.00")))
    assert field(read(*HEAD, *lines, *TOTALS), "total").doubt == "lines"


def test_a_due_date_before_the_invoice_is_doubtful() -> None:
    found = read(*HEAD[:3], line(122, (50, "Due date: 17 April 2026")), *TOTALS)
    assert (field(found, "due_date").doubt, field(found, "invoice_date").doubt) == ("dates", "dates")


@pytest.mark.parametrize(
    ("iban", "doubt"), [("GB82 WEST 1234 5698 7654 32", None), ("GB82 WEST 1234 5698 7654 23", "iban")]
)
def test_the_check_digits_of_an_iban(iban: str, doubt: str | None) -> None:
    found = field(read(*HEAD, *TOTALS, line(450, (50, f"IBAN: {iban}"))), "iban")
    assert (found.value, found.normalized, found.doubt) == (iban, iban.replace(" ", ""), doubt)


@pytest.mark.parametrize(
    ("money", "other", "day", "doubt"),
    [
        ("£ 20.00", "Due date: 06/05/2026", "2026-05-04", None),  # no month comes first where nobody pays in dollars
        ("$ 20.00", "Due date: 05/30/2026", "2026-04-05", None),  # the other date says it
        ("$ 20.00", "Due date: 30/05/2026", "2026-05-04", None),
        ("$ 20.00", "Due date: 05/06/2026", "2026-04-05", "order"),
    ],
)
def test_whether_days_or_months_come_first(money: str, other: str, day: str, doubt: str | None) -> None:
    head = (*HEAD[:2], line(106, (50, "Date: 04/05/2026")), line(122, (50, other)))
    found = field(read(*head, line(400, (50, "Total"), (300, money))), "invoice_date")
    assert (found.normalized, found.doubt) == (day, doubt)


def test_the_customers_numbers_are_not_the_suppliers() -> None:
    found = values(
        read(
            *HEAD,
            line(150, (50, "Bill to:"), (300, "From:")),
            line(164, (50, "Fenwick Marine Ltd"), (300, "Oakfield Joinery Ltd")),
            line(178, (50, "14 Mill Lane"), (300, "7 Quayside")),
            line(192, (50, "Leeds LS2 8AA"), (300, "Bristol BS1 4TR")),
            line(206, (50, "VAT No: GB123456789"), (300, "VAT No: GB987654321")),
            line(220, (50, "buyer@marine.example"), (300, "seller@oak.example")),
            *TOTALS,
        )
    )
    assert (found["supplier"], found["customer"]) == ("Oakfield Joinery Ltd", "Fenwick Marine Ltd")
    assert (found["vat_number"], found["customer_vat_number"]) == ("GB987654321", "GB123456789")
    assert found["email"] == "seller@oak.example"


def test_letters_that_are_placed_one_by_one_are_words() -> None:
    letters = [(50 + 5.0 * at, letter) for at, letter in enumerate("Rechnung")]
    found = values(read(line(60, *letters, (92.5, "17")), line(90, (50, "Gesamtbetrag"), (300, "20,00 €"))))
    assert (found["invoice_number"], found["total"]) == ("17", "20.00")


NO_INVOICES: tuple[tuple[Line, ...], ...] = (
    (line(60, (50, "Invoices are due within a month; the total is 20.00 at least.")),),
    (line(60, (50, "Chapter 3: the invoice")), line(80, (50, "Total: what is to be paid, with tax"))),
    (line(60, (50, "Price list")), *ITEMS),
    (line(60, (50, "INVOICE")), line(80, (50, "Total"), (300, "20.00"))),  # neither number nor date
)


@pytest.mark.parametrize("lines", NO_INVOICES)
def test_what_is_no_invoice_has_no_fields(lines: tuple[Line, ...]) -> None:
    assert read(*lines).fields == ()


def test_a_form_gives_its_labels() -> None:
    found = read(
        line(60, (50, "Certificate")),
        line(90, (50, "Keeper: Harbour office")),
        line(104, (50, "Lamp number:"), (200, "17")),
        line(118, (50, "Lit on: 3 May 2026")),
        line(200, (50, "Note: he asked us whether the lamp was lit at dusk by the second keeper")),
    )
    assert values(found) == {"Keeper": "Harbour office", "Lamp number": "17", "Lit on": "3 May 2026"}


def test_long_documents_are_not_searched() -> None:
    assert find_fields([page(*HEAD, *TOTALS, number=number) for number in range(1, 70)]).fields == ()
