"""What a query means in the library: names, titles and properties, alone and together, in the grid and for actions."""

from datetime import UTC, date, datetime
from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from tests.search.passages import new_document, new_org
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.library import filtered, grid, names, selection, tags
from webapp.library.selection import Matching
from webapp.search.filters import BadValue
from webapp.search.grammar import Mistake, parse

SHELF: dict[str, dict[str, Any]] = {
    "annual-report.pdf": {
        "content_type": "application/pdf", "kind": "text", "language": "en", "page_count": 120,
        "document_date": date(2025, 6, 30), "document_date_from": "metadata",
    },
    "rechnung-7.pdf": {
        "content_type": "application/pdf", "kind": "invoice", "language": "de", "page_count": 1, "status": "FAILED",
    },
    "report annual.txt": {"language": "en-GB", "created_at": datetime(2024, 5, 1, tzinfo=UTC)},
    "book.epub": {"content_type": "application/epub+zip", "page_count": 300},
}  # fmt: skip


@pytest.fixture
def org_id(bare_app: Flask) -> UUID:
    """An org with these four documents; the first two have tags."""
    org = new_org()
    for filename, known in SHELF.items():
        document_id = new_document(org, filename)
        with transaction(org) as opened:
            names.add(org, document_id, filename)
            document = opened.get_one(Document, document_id)
            for name, value in known.items():
                setattr(document, name, value)
            if filename.endswith(".pdf"):
                tags.replace(org, document_id, ["Tax", "to pay"] if "7" in filename else ["tax"])
    return org


def found(org_id: UUID, query: str) -> set[str]:
    """The names that the grid shows; whatever acts on all that match acts on the same ones."""
    with reading(org_id):
        rows = [row.document for row in grid.page(org_id, q=query).rows]
        assert sorted(selection.ids(org_id, Matching(q=query))) == sorted(row.id for row in rows)
        assert selection.count(org_id, Matching(q=query)).number == len(rows)
    return {row.filename for row in rows}


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("kind:pdf", {"annual-report.pdf", "rechnung-7.pdf"}),
        ("kind:invoice", {"rechnung-7.pdf"}),
        ("kind:book", {"book.epub"}),
        ("kind:epub OR kind:txt", {"book.epub", "report annual.txt"}),
        ("-kind:pdf", {"book.epub", "report annual.txt"}),
        ("lang:en", {"annual-report.pdf", "report annual.txt"}),
        ("-lang:en", {"rechnung-7.pdf", "book.epub"}),
        ("pages:>100", {"annual-report.pdf", "book.epub"}),
        ("pages:1", {"rechnung-7.pdf"}),
        ("-pages:>100", {"rechnung-7.pdf", "report annual.txt"}),
        ("before:2025", {"report annual.txt"}),
        ("before:2025-07-01", {"annual-report.pdf", "report annual.txt"}),
        ("after:2024-05 before:2025-07", {"annual-report.pdf"}),
        ("after:2025-06-29 kind:text kind:pdf", {"annual-report.pdf"}),
        ("status:failed", {"rechnung-7.pdf"}),
        ("status:kept", set()),
        ("is:partly-read", set()),
        ("tag:TAX", {"annual-report.pdf", "rechnung-7.pdf"}),
        ('tag:"to pay"', {"rechnung-7.pdf"}),
        ("tag:tax -tag:“to  pay”", {"annual-report.pdf"}),
        ("tag:unknown", set()),
        ("in:report", {"annual-report.pdf", "report annual.txt"}),
        ('in:"annual report" kind:pdf', {"annual-report.pdf"}),
        ("annual rep", {"annual-report.pdf", "report annual.txt"}),
        ("annu*", {"annual-report.pdf", "report annual.txt"}),
        ('"annual report"', {"annual-report.pdf"}),
        ("report -annual", set()),
        ("book OR rechnung", {"book.epub", "rechnung-7.pdf"}),
        ("report pages:>100", {"annual-report.pdf"}),
        ("", set(SHELF)),
        ("- &", set()),
    ],
)
def test_the_library_shows_what_is_meant(org_id: UUID, query: str, wanted: set[str]) -> None:
    assert found(org_id, query) == wanted


def test_a_mistake_is_said_and_not_ignored(org_id: UUID) -> None:
    with reading(org_id), pytest.raises(Mistake):
        grid.page(org_id, q="colour:red")


def test_few_documents_are_named_and_many_are_asked_one_by_one(org_id: UUID) -> None:
    query = parse("soup kind:pdf")
    with reading(org_id):
        pdf = filtered.few(org_id, query, 2)
        everything = [row.document.id for row in grid.page(org_id).rows]
        assert pdf is not None
        assert filtered.few(org_id, query, 1) is None
        assert filtered.which(org_id, query, everything) == set(pdf)


def test_tags_are_replaced_and_told_apart_by_their_words_alone(org_id: UUID) -> None:
    other = new_org()
    theirs, mine = new_document(other), new_document(org_id)
    with transaction(org_id):
        tags.replace(org_id, mine, [" To  Pay ", "to pay", "Äpfel"])
        assert tags.of_document(org_id, mine) == ["to pay", "Äpfel"]
        tags.replace(org_id, mine, [])
        assert tags.of_document(org_id, mine) == []
        # "tax", "to pay" and "Äpfel": none was made twice.
        assert tags.count(org_id) == 3
    with reading(other):
        assert tags.of_document(other, theirs) == []
        assert tags.count(other) == 0


def test_tags_have_bounds(org_id: UUID) -> None:
    document_id = new_document(org_id)
    for bad in (["  "], ["x" * 101], [f"tag {number}" for number in range(51)]):
        with transaction(org_id), pytest.raises(BadValue):
            tags.replace(org_id, document_id, bad)
