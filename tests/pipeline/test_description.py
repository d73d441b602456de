"""What a result says of its document as a whole, and from what it knows that."""

from datetime import date

import pytest

from webapp.pipeline.description import Description, description_of
from webapp.readers.extraction import Extraction, Field, Page, PageState
from webapp.readers.filetypes import CSV, EPUB, FILE_TYPES, HTML, MAIL, MAILBOX, OFFICE, OPEN, PDF, PLAIN, ZIP

SENT = Field("Date", "2026-03-05 10:11+01:00")
INVOICED = Field("Invoice date", "4 March 2026", kind="invoice_date", normalized="2026-03-04")
TOTAL = Field("Total", "12.00", kind="total", normalized="12.00")


def described(content_type: str = PDF, *fields: Field, created: str | None = None, **more: object) -> Description:
    found = Extraction("tests", "1", "Some text.", fields=fields, created=created, **more)  # type: ignore[arg-type]
    return description_of(found, content_type)


@pytest.mark.parametrize(
    ("content_type", "kind"),
    [
        (PDF, "text"), (PLAIN, "text"), (HTML, "text"), (EPUB, "book"), (CSV, "spreadsheet"), (MAIL, "mail"),
        (OFFICE + "spreadsheetml.sheet", "spreadsheet"), (OFFICE + "presentationml.presentation", "slides"),
        (OFFICE + "wordprocessingml.document", "text"), (OPEN + "presentation", "slides"), (OPEN + "text", "text"),
        (OPEN + "spreadsheet", "spreadsheet"), ("image/png", "picture"), ("audio/wav", "recording"), (ZIP, "archive"),
    ],
)  # fmt: skip
def test_the_kind_is_that_of_the_file_where_its_fields_say_nothing(content_type: str, kind: str | None) -> None:
    assert described(content_type).kind == kind


def test_all_that_is_read_has_a_kind() -> None:
    assert [each.content_type for each in FILE_TYPES if each.reader and each.family is None] == []


def test_an_invoice_is_one_in_whatever_file() -> None:
    assert described("image/png", INVOICED, TOTAL).kind == "invoice"


@pytest.mark.parametrize(
    ("field", "kind", "has_day"),
    [
        ("purchase_date", "receipt", True), ("closing_balance", "bank_statement", False),
        ("opening_balance", "bank_statement", False), ("party", "contract", False), ("letter_date", "letter", True),
    ],
)  # fmt: skip
def test_the_kind_is_told_by_the_field_that_no_other_kind_has(field: str, kind: str, has_day: bool) -> None:
    found = described(PDF, TOTAL, Field("Whatever", "4 March 2026", kind=field, normalized="2026-03-04"))
    assert (found.kind, found.document_date_from) == (kind, field if has_day else None)


@pytest.mark.parametrize(
    ("content_type", "fields", "created", "day", "origin"),
    [
        (PDF, [INVOICED], "2026-03-06", date(2026, 3, 4), "invoice_date"),
        (PDF, [], "2026-03-06", date(2026, 3, 6), "metadata"),
        (PDF, [], None, None, None),
        (PDF, [SENT], None, None, None),
        (MAIL, [SENT], None, date(2026, 3, 5), "mail"),
        (MAIL, [INVOICED, SENT], None, date(2026, 3, 4), "invoice_date"),
        (MAIL, [Field("Date", "on Tuesday")], None, None, None),
    ],
)
def test_the_strongest_date_counts(
    content_type: str, fields: list[Field], created: str | None, day: date | None, origin: str | None
) -> None:
    found = described(content_type, *fields, created=created)
    assert (found.document_date, found.document_date_from) == (day, origin)


def test_a_date_that_may_be_another_is_a_guess() -> None:
    doubtful = Field("Date", "04/03/2026", kind="invoice_date", normalized="2026-03-04", doubt="order")
    assert described(PDF, doubtful).document_date_from == "doubtful_field"


def test_a_mailbox_is_of_no_day() -> None:
    assert described(MAILBOX, SENT, page_count=2).document_date is None
    assert described(MAILBOX, SENT, page_count=1).document_date_from == "mail"


def test_a_title_that_nobody_gave_is_a_guess() -> None:
    assert _title("# Harbour rules\n\nText") == ("Harbour rules", True)
    assert _title("# Contents\n\nText") == (None, False)
    assert _title("# Harbour rules", title="") == (None, False)
    assert _title("# Harbour rules", title="Rules") == ("Rules", False)
    assert _title("# Harbour rules", title="Rules", title_is_guess=True) == ("Rules", True)


def test_a_document_is_read_as_well_as_its_worst_page() -> None:
    text, blank, lost = Page(1, "Text"), Page(2, "", state=PageState.BLANK), Page(2, "", state=PageState.LOST)
    for pages, read, reading in (([text], 1, "well"), ([text, blank], 2, "well"), ([text, lost], 1, "in_part")):
        found = described(pages=tuple(pages), page_count=len(pages))
        assert (found.pages_read, found.reading) == (read, reading)
    assert (described().pages_read, described().reading) == (None, "well")
    assert described(partial=True).reading == "in_part"


def _title(markdown: str, **more: object) -> tuple[str | None, bool]:
    found = description_of(Extraction("tests", "1", markdown, **more), PDF)  # type: ignore[arg-type]
    return found.title, found.title_is_guess
