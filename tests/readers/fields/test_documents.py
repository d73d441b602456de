"""Fields of whole files: Office documents, web pages, mail, and the labelled set of invoices, which Chromium prints."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.invoices.held_out import HELD_OUT
from tests.invoices.labelled import labelled, write_pdfs
from tests.invoices.layouts import LAYOUTS
from tests.invoices.manuals import MANUALS
from tests.invoices.noise import noisy
from tests.invoices.score import JUNK, MISSING, RIGHT, WRONG, are_lines_right, counted, judged
from tests.readers.office.files import EXCEL, WORD, cells, docx, p, row, xlsx
from webapp.readers.extraction import Extraction
from webapp.readers.fields.measured import GIVEN_MIN, share_of_right
from webapp.readers.fields.measured import RIGHT as MEASURED
from webapp.readers.filetypes import HTML, MAIL, PDF

Extract = Callable[[bytes, str], Extraction]
ASKED = ("invoice_number", "invoice_date", "due_date", "total")


@pytest.mark.parametrize("name", MANUALS)
def test_a_manual_has_no_fields(extract: Extract, name: str) -> None:
    assert extract(MANUALS[name](), PDF).fields == ()


def test_a_word_document(extract: Extract) -> None:
    rows = [("Description", "Qty", "Price", "Amount"), ("Oak shelf", "2", "50.00", "100.00")]
    table = "".join(cells(*row) for row in rows)
    body = (
        p("Invoice")
        + p("Invoice number: A-17")
        + p("Date: 3 May 2026")
        + f"<w:tbl>{table}</w:tbl>"
        + p("VAT 20%: 20.00")
        + p("Subtotal: 100.00")
        + p("Total: EUR 120.00")
    )
    found = extract(docx(body), WORD)
    said = {each.kind: each.normalized for each in found.fields if each.kind}
    assert said == {
        "invoice_number": "A-17", "invoice_date": "2026-05-03", "net": "100.00", "tax": "20.00", "total": "120.00",
        "currency": "EUR",
    }  # fmt: skip
    assert all(each.page is None and each.polygon is None for each in found.fields)
    (lines,) = found.tables
    assert lines.columns == ("description", "quantity", "price", "amount")
    assert lines.rows[1] == ("Oak shelf", "2", "50.00", "100.00")


def test_a_spreadsheet(extract: Extract) -> None:
    rows = (
        row(1, A="Rechnung"),
        row(2, A="Rechnungsnummer", B="R-17"),
        row(3, A="Rechnungsdatum", B="03.05.2026"),
        row(5, A="Bezeichnung", B="Menge", C="Einzelpreis", D="Betrag"),
        row(6, A="Regal", B="2", C="50,00", D="100,00"),
        row(7, A="Nettobetrag", D="100,00"),
        row(8, A="MwSt. 19 %", D="19,00"),
        row(9, A="Gesamtbetrag", D="119,00 EUR"),
    )
    found = extract(xlsx("".join(rows)), EXCEL)
    said = {each.kind: each.normalized for each in found.fields if each.kind}
    assert (said["invoice_number"], said["invoice_date"], said["total"]) == ("R-17", "2026-05-03", "119.00")
    assert {each.page for each in found.fields if each.kind} == {1}


def test_a_mail(extract: Extract) -> None:
    text = "Subject: Your bill\nFrom: a@oak.example\n\nInvoice No. 117 of 3 May 2026\n\nTotal due: £ 20.00\n"
    found = extract(text.encode(), MAIL)
    assert {each.kind: each.normalized for each in found.fields if each.kind in ASKED} == {
        "invoice_number": "117", "invoice_date": "2026-05-03", "total": "20.00",
    }  # fmt: skip


@pytest.mark.slow
def test_web_pages_of_all_layouts(extract: Extract) -> None:
    verdicts: Counter[tuple[str, str]] = Counter()
    lines = []
    for one in labelled((*LAYOUTS, *HELD_OUT), 1, seed=5):
        found = extract(one.html.encode(), HTML)
        verdicts += counted(judged(one, found.fields))
        lines.append(are_lines_right(one, found.tables))
    _hold(verdicts)
    assert sum(lines) >= 0.95 * len(lines)


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "layouts", [LAYOUTS, HELD_OUT, tuple(map(noisy, HELD_OUT))], ids=["known", "held out", "noisy"]
)
def test_the_labelled_set(extract: Extract, tmp_path: Path, layouts: tuple[Callable[..., str], ...]) -> None:
    verdicts: Counter[tuple[str, str]] = Counter()
    lines = []
    # Each third: the whole set is what bench/fields.py reads.
    invoices = list(labelled(layouts, 1, seed=4))[::3]
    for one, path in zip(invoices, write_pdfs(invoices, tmp_path), strict=True):
        found = extract(path.read_bytes(), PDF)
        verdicts += counted(judged(one, found.fields))
        lines.append(are_lines_right(one, found.tables))
    _hold(verdicts)
    assert sum(lines) >= 0.95 * len(lines)


def test_a_confidence_is_measured_or_there_is_none() -> None:
    assert share_of_right("a rule that nobody measured") is None
    for rule, (right, given) in MEASURED.items():
        assert 0 <= right <= given
        assert (share_of_right(rule) is None) == (given < GIVEN_MIN)


def _hold(verdicts: Counter[tuple[str, str]]) -> None:
    for kind in ASKED:
        true = sum(verdicts[kind, each] for each in (RIGHT, WRONG, MISSING))
        assert verdicts[kind, RIGHT] >= 0.97 * true > 0, kind
    assert sum(count for (_, verdict), count in verdicts.items() if verdict == WRONG) <= 0.01 * verdicts.total()
    assert [kind for kind, verdict in verdicts if verdict == JUNK] == []
