"""Receipts, bank statements, contracts and letters: what makes a document one, its fields, what contradicts them."""

import pytest

from tests.readers.fields.papers import Line, field, line, page, read, values
from webapp.readers.fields.find import OF_MAIL, find_fields

RECEIPT = (
    line(20, (80, "Oakfield Joinery Ltd")),
    line(34, (80, "Bristol BS1 4TR")),
    line(48, (80, "Receipt No. 4711")),
    line(62, (50, "3 May 2026 14:32")),
    line(90, (50, "Oak shelf"), (200, "30.00")),
    line(104, (58, "2 x 15.00")),
    line(118, (50, "Delivery"), (200, "6.00 A")),
    line(140, (50, "TOTAL"), (200, "£36.00")),
    line(154, (50, "Cash"), (200, "40.00")),
    line(168, (50, "Change"), (200, "4.00")),
)
STATEMENT = (
    line(20, (50, "Harbour Bank plc")),
    line(50, (50, "Bank statement")),
    line(80, (50, "Statement number: 5/2026")),
    line(94, (50, "Period: 1 May 2026 to 31 May 2026")),
    line(108, (50, "IBAN: GB82 WEST 1234 5698 7654 32")),
    line(150, (50, "Date"), (150, "Details"), (300, "Paid out"), (380, "Paid in"), (460, "Balance")),
    line(164, (50, "01/05/2026"), (150, "Opening balance"), (460, "£100.00")),
    line(178, (50, "04/05/2026"), (150, "Rent"), (300, "60.00"), (460, "40.00")),
    line(192, (50, "14/05/2026"), (150, "Salary"), (380, "500.00"), (460, "540.00")),
    line(206, (50, "31/05/2026"), (150, "Closing balance"), (460, "£540.00")),
)
CONTRACT = (
    line(20, (50, "Service Agreement")),
    line(60, (50, "This agreement is made between Oakfield Joinery Ltd (the")),
    line(73, (50, "Client) and Fenwick Marine Ltd (the Contractor).")),
    line(100, (50, "It commences on 3 May 2026 and remains in force until 2 May 2027. Either side")),
    line(113, (50, "may end it by giving three (3) months notice in writing.")),
)
LETTER = (
    line(20, (50, "Oakfield Joinery Ltd")),
    line(34, (50, "7 Quayside, Bristol BS1 4TR")),
    line(80, (50, "Emma Hartley")),
    line(93, (50, "14 Mill Lane")),
    line(106, (50, "Leeds LS2 8AA")),
    line(140, (50, "Bristol, 3 May 2026")),
    line(170, (50, "Your new shelf")),
    line(200, (50, "Dear Ms Hartley,")),
    line(230, (50, "the shelf that you ordered is ready, and we will bring it next week.")),
    line(260, (50, "Yours sincerely,")),
    line(300, (50, "James Whitcombe")),
)


def test_a_receipt() -> None:
    found = read(*RECEIPT)
    assert values(found) == {
        "merchant": "Oakfield Joinery Ltd", "receipt_number": "4711", "purchase_date": "2026-05-03", "total": "36.00",
        "currency": "GBP", "paid": "40.00", "change": "4.00",
    }  # fmt: skip
    (table,) = found.tables
    assert table.columns == ("description", "quantity", "price", "amount")
    assert table.rows[1:] == (("Oak shelf", "2", "15.00", "30.00"), ("Delivery", "", "", "6.00"))


def test_lines_without_a_heading_that_make_no_sum_are_no_table() -> None:
    assert read(*RECEIPT[:4], line(90, (50, "Oak shelf"), (200, "31.00")), *RECEIPT[6:]).tables == ()


def test_change_that_does_not_fit_is_doubtful() -> None:
    found = read(*RECEIPT[:-1], line(168, (50, "Change"), (200, "5.00")))
    assert {each.kind: each.doubt for each in found.fields if each.doubt} == dict.fromkeys(
        ("total", "paid", "change"), "paid"
    )


def test_a_statement() -> None:
    found = read(*STATEMENT)
    assert values(found) == {
        "bank": "Harbour Bank plc", "statement_number": "5/2026", "period_start": "2026-05-01",
        "period_end": "2026-05-31",
        "opening_balance": "100.00", "closing_balance": "540.00", "currency": "GBP", "iban": "GB82WEST12345698765432",
    }  # fmt: skip
    (table,) = found.tables
    assert (table.caption, table.columns) == ("Transactions", ("date", "description", "debit", "credit", "balance"))
    assert table.rows[1:] == (
        ("04/05/2026", "Rent", "60.00", "", "40.00"),
        ("14/05/2026", "Salary", "", "500.00", "540.00"),
    )
    assert [each.doubt for each in found.fields] == [None] * len(found.fields)


def test_balances_that_the_transactions_contradict_are_doubtful() -> None:
    found = read(*STATEMENT[:-1], line(206, (50, "31/05/2026"), (150, "Closing balance"), (460, "£640.00")))
    assert {each.kind for each in found.fields if each.doubt == "balance"} == {"opening_balance", "closing_balance"}


@pytest.mark.parametrize(
    ("cell", "amount"),
    [
        ("60.00-", "-60.00"),
        ("60.00 DR", "-60.00"),
        ("60.00 S", "-60.00"),
        ("+60.00", "60.00"),
        ("60.00 H", "60.00"),
    ],
)
def test_signs_of_a_balance(cell: str, amount: str) -> None:
    balances = (line(120, (50, "Opening balance"), (300, cell)), line(134, (50, "Closing balance"), (300, cell)))
    assert field(read(*STATEMENT[:4], *balances), "closing_balance").normalized == amount


def test_a_contract() -> None:
    found = read(*CONTRACT)
    assert [(each.name, each.value) for each in found.fields if each.kind == "party"] == [
        ("First party", "Oakfield Joinery Ltd"),
        ("Second party", "Fenwick Marine Ltd"),
    ]
    assert values(found) == {
        "party": "Fenwick Marine Ltd", "start_date": "2026-05-03", "end_date": "2027-05-02", "notice_period": "P3M",
    }  # fmt: skip


def test_a_contract_that_ends_before_it_begins_is_doubtful() -> None:
    late = line(100, (50, "It commences on 3 May 2028 and remains in force until 2 May 2027. Either side"))
    assert {each.kind for each in read(*CONTRACT[:3], late).fields if each.doubt == "term"} == {
        "start_date",
        "end_date",
    }


def test_a_letter() -> None:
    assert values(read(*LETTER)) == {
        "sender": "Oakfield Joinery Ltd", "recipient": "Emma Hartley", "letter_date": "2026-05-03",
        "subject": "Your new shelf",
    }  # fmt: skip


def test_a_mail_is_no_letter() -> None:
    assert find_fields([page(*LETTER)], OF_MAIL).fields == ()


NEARLY: dict[str, tuple[Line, ...]] = {
    "a receipt without a day": (*RECEIPT[:3], *RECEIPT[4:]),
    "a receipt without a total": RECEIPT[:7],
    "a statement without balances": (*STATEMENT[:6], *STATEMENT[7:9]),
    "a contract with one party": (CONTRACT[0], *CONTRACT[3:]),
    "a text about contracts": (line(20, (50, "We made a contract last year.")), *CONTRACT[1:]),
    "a letter without a date": (*LETTER[:5], *LETTER[6:]),
    "a letter without an end": LETTER[:9],
}


@pytest.mark.parametrize("name", NEARLY)
def test_what_lacks_a_part_is_of_no_kind(name: str) -> None:
    assert [each for each in read(*NEARLY[name]).fields if each.kind] == []
