"""The words of names: how names are taken apart, and that documents are found by the beginnings of their words."""

from uuid import UUID

import pytest
from sqlalchemy import delete, select

from tests.documents.rows import new_document, new_org
from webapp.db import bounded, reading, transaction
from webapp.documents.model import DocumentWord
from webapp.library import deletion, grid, names, selection
from webapp.library.grid import Sort
from webapp.library.names import query_words, words_of
from webapp.library.selection import Matching
from webapp.library.status_filter import StatusFilter


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("invoice_2024-03.pdf", {"invoice", "2024", "03", "pdf"}),
        ("scan0001.PDF", {"scan", "0001", "pdf"}),
        ("MyInvoice.pdf", {"my", "invoice", "myinvoice", "pdf"}),
        ("XMLParser.txt", {"xml", "parser", "xmlparser", "txt"}),
        ("Café Ünïted.md", {"cafe", "united", "md"}),
        ("Cafe\u0301.md", {"cafe", "md"}),
        ("Straße.md", {"strasse", "md"}),
        ("請求書2024.pdf", {"請", "求", "書", "2024", "pdf"}),
        ("100% - sure!", {"100", "sure"}),
        ("…", set()),
    ],
)
def test_a_name_is_split_into_words(name: str, words: set[str]) -> None:
    assert words_of(name) == words


def test_a_hostile_name_makes_few_short_words() -> None:
    made = words_of(" ".join(f"word{number}" for number in range(10_000)), "x" * 10_000)
    assert len(made) <= names.WORDS_PER_DOCUMENT_MAX
    assert all(len(word) <= names.WORD_CHARACTERS_MAX for word in made)


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("Invoice 2024-03", ["invoice", "2024", "03"]),
        ("inv invoice", ["invoice"]),
        ("CAFÉ", ["cafe"]),
        ("%_*", []),
        (" ".join(f"{letter}x" for letter in "abcdefghijkl"), [f"{letter}x" for letter in "abcdefghijkl"]),
    ],
)
def test_a_query_is_beginnings_of_words(query: str, words: list[str]) -> None:
    assert query_words(query) == words


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("inv", {"invoice_2024-03.pdf", "MyInvoice.pdf"}),
        ("2024", {"invoice_2024-03.pdf"}),
        ("invoice 03", {"invoice_2024-03.pdf"}),
        ("MYINV", {"MyInvoice.pdf"}),
        ("cafe", {"Café.md"}),
        ("pdf", {"invoice_2024-03.pdf", "MyInvoice.pdf"}),
        ("voice", set()),
        ("lighthouse", {"scan0001.tif"}),
        ("scan keeping", {"scan0001.tif"}),
        ("'; DROP TABLE documents; --", set()),
    ],
)
def test_documents_are_found_by_beginnings_of_words(org_id: UUID, query: str, found: set[str]) -> None:
    for name in ("invoice_2024-03.pdf", "MyInvoice.pdf", "Café.md"):
        new_document(org_id, name)
    new_document(org_id, "scan0001.tif", title="Lighthouse Keeping")
    new_document(new_org(), "invoice of somebody else.pdf")
    with reading(org_id):
        assert {row.document.filename for row in grid.page(org_id, q=query).rows} == found
    with reading(org_id):
        assert len(selection.ids(org_id, Matching(q=query))) == len(found)
        assert selection.count(org_id, Matching(q=query)).number == len(found)


def test_a_document_is_found_by_its_newest_title(org_id: UUID) -> None:
    document_id = new_document(org_id, "lighthouse.txt", title="Old lighthouse keeping")
    with transaction(org_id):
        names.rename(org_id, document_id, {"title": "New harbour"})
    with reading(org_id) as session:
        words = set(session.scalars(select(DocumentWord.word).where(DocumentWord.document_id == document_id)))
    assert words == {"lighthouse", "txt", "new", "harbour"}


def test_a_document_without_words_gets_them_with_its_next_result(org_id: UUID) -> None:
    """An older version, which knows no words, may have added it while a newer one was rolled out."""
    document_id = new_document(org_id, "lighthouse.txt", title="Harbour")
    with transaction(org_id) as session:
        session.execute(delete(DocumentWord).where(DocumentWord.document_id == document_id))
        names.rename(org_id, document_id, {"title": "Harbour"})
    with reading(org_id) as session:
        words = set(session.scalars(select(DocumentWord.word).where(DocumentWord.document_id == document_id)))
    assert words == {"lighthouse", "txt", "harbour"}


def test_few_of_a_status_and_many_are_chosen_alike(org_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    made = [new_document(org_id, f"letter {number}.txt") for number in range(5)]
    wanted = Matching(status=StatusFilter.PROCESSING)
    for counted in (2, 100):
        monkeypatch.setattr(bounded, "COUNTED_MAX", counted)
        with reading(org_id):
            assert selection.ids(org_id, wanted, limit=3) == sorted(made)[:3]
            assert selection.ids(org_id, wanted, after=sorted(made)[2]) == sorted(made)[3:]
            assert selection.ids(org_id, Matching(status=StatusFilter.FAILED)) == []


def test_words_go_with_their_document(org_id: UUID) -> None:
    document_id = new_document(org_id, "lighthouse.txt")
    with transaction(org_id):
        deletion.delete_rows(org_id, document_id)
    with reading(org_id) as session:
        assert session.scalars(select(DocumentWord.word).where(DocumentWord.document_id == document_id)).all() == []


@pytest.mark.parametrize("sort", Sort)
@pytest.mark.parametrize("few", [0, 100], ids=["walked", "looked up"])
@pytest.mark.parametrize("walked", [1, 2, 3, 100])
def test_each_way_finds_the_same_however_little_a_page_looks_at(
    org_id: UUID, sort: Sort, few: int, walked: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        new_document(org_id, f"{'invoice' if number % 3 == 0 else 'letter'} {number}.txt", size_bytes=10 + number)
    with reading(org_id):
        every = [row.document.filename for row in grid.page(org_id, sort=sort).rows]
    monkeypatch.setattr(grid, "FEW", few)
    monkeypatch.setattr(grid, "WALKED_MAX", walked)
    found, cursor, pages = [], None, 0
    with reading(org_id):
        while pages == 0 or cursor is not None:
            page = grid.page(org_id, q="invoice", sort=sort, cursor=cursor, limit=1)
            found += [row.document.filename for row in page.rows]
            cursor, pages = page.next_cursor, pages + 1
    assert found == [name for name in every if "invoice" in name]
    assert pages <= 8
