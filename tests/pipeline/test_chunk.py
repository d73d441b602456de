"""Passages: of a readable size, with pages and headings, and the same ids for the same text."""

from dataclasses import replace
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pipeline.workplace import prose
from webapp.clock import monotonic
from webapp.pipeline.chunk import CHUNK_CHARACTERS, PIECE_CHARACTERS, make_chunks
from webapp.readers.extraction import Extraction

DOCUMENT = UUID(int=1)


def extraction(markdown: str, page_count: int | None = None) -> Extraction:
    return Extraction("test", "1", markdown, page_count=page_count)


def texts(markdown: str) -> list[str]:
    return [chunk.text for chunk in make_chunks(DOCUMENT, extraction(markdown))]


def test_passages_are_of_a_readable_size() -> None:
    found = texts(
        "\n\n".join(f"Paragraph {number} tells of harbours and lights at length. " * 4 for number in range(99))
    )

    assert all(len(text) <= CHUNK_CHARACTERS[1] for text in found)
    assert sum(len(text) >= CHUNK_CHARACTERS[0] for text in found) > 0.7 * len(found)


def test_nothing_is_lost() -> None:
    text = prose(200).decode()
    assert len(text) > 2 * PIECE_CHARACTERS

    assert "".join("".join(texts(text)).split()) == "".join(text.split())


@given(st.text(max_size=3000))
def test_nothing_is_lost_of_any_text(text: str) -> None:
    found = texts(text)

    assert letters("".join(found)) == letters(text)
    assert all(letters(chunk) for chunk in found)


def letters(text: str) -> str:
    """What a text says, without the rulers and dots that may be in no passage."""
    return "".join(filter(str.isalnum, text))


def test_what_has_neither_letter_nor_digit_is_no_passage() -> None:
    words = "word " * 150
    ruled = f"{words}\n\n{'* * *' * 150}\n\n{'…' * 700}\n\n漢字 {words}\n\n{'—' * 900}"
    found = make_chunks(DOCUMENT, extraction(ruled))

    assert [letters(chunk.text)[:4] for chunk in found] == ["word", "漢字wo"]
    assert [chunk.ordinal for chunk in found] == [0, 1]
    assert found[0].id == make_chunks(DOCUMENT, extraction(words))[0].id
    assert make_chunks(DOCUMENT, extraction("* * *\n\n…")) == []


def test_dots_of_a_table_of_contents_are_left_out() -> None:
    contents = "1 Introduction ........ 5\n\n1.1 Wheat . . . . . . . . . xii\n\nBarley \\.\\.\\.\\.\\. 9"
    assert texts(contents) == ["1 Introduction 5\n\n1.1 Wheat xii\n\nBarley 9"]
    for plain in ("Wait... no.", "And so on.....", "x = a[...]\ny = .....z", "One. Two. Three. Four. 5"):
        assert texts(plain) == [plain]


def test_tables_lists_and_code_stay_whole_where_they_fit() -> None:
    rows = "\n".join(f"| {number} | wheat and rye |" for number in range(30))
    items = "\n".join(f"- wheat and rye of field {number}" for number in range(25))
    blocks = [f"| No | What |\n| --- | --- |\n{rows}", f"```\n{rows}\n\n{rows[:80]}\n```", items]
    between = [prose(number).decode() for number in (1, 2, 3)]
    found = texts("\n\n".join(text for pair in zip(between, blocks, strict=True) for text in pair))
    assert [block for block in blocks if not any(block in text for text in found)] == []


def test_ids_follow_from_document_text_and_occurrence() -> None:
    text = "\n\n".join(["word " * 150] * 3)
    first, second = make_chunks(DOCUMENT, extraction(text)), make_chunks(DOCUMENT, extraction(text))
    other = make_chunks(uuid4(), extraction(text))

    assert [chunk.id for chunk in first] == [chunk.id for chunk in second]
    assert len({chunk.sha256 for chunk in first}) == 1
    assert len({chunk.id for chunk in first} | {chunk.id for chunk in other}) == 6


def test_unchanged_text_keeps_its_ids() -> None:
    before = make_chunks(DOCUMENT, extraction(prose(40).decode()))
    after = make_chunks(DOCUMENT, extraction("# New\n\nA beginning.\n\n" + prose(40).decode()))

    kept = {chunk.id for chunk in before} & {chunk.id for chunk in after}
    assert len(kept) >= 0.8 * len(before)


def test_passages_know_pages_and_headings() -> None:
    pages = [
        f"<!-- page {number} -->\n\n## Part {number}\n\n" + f"Words of page {number}. " * 40 for number in (1, 2, 3)
    ]

    chunks = make_chunks(DOCUMENT, extraction("\n\n".join(pages), page_count=3))

    assert [chunk.ordinal for chunk in chunks] == list(range(len(chunks)))
    for chunk in chunks:
        assert "<!--" not in chunk.text
        assert chunk.page_from is not None
        assert f"page {chunk.page_from}." in chunk.text
        assert f"page {chunk.page_to}." in chunk.text
        assert chunk.heading == f"Part {chunk.page_from}"
    assert {chunk.page_from for chunk in chunks} == {1, 2, 3}


def test_the_first_passages_of_each_sheet_get_vectors() -> None:
    sheets = [f"<!-- page {number} -->\n\n" + "A row of cells. " * 400 for number in (1, 2)]
    limited = replace(extraction("\n\n".join(sheets), page_count=2), vectors_max=3)

    chunks = make_chunks(DOCUMENT, limited)

    for page in (1, 2):
        of_page = [chunk.has_vector for chunk in chunks if chunk.page_from == page]
        assert len(of_page) > 3
        assert of_page == [True] * 3 + [False] * (len(of_page) - 3)


def test_a_passage_can_run_over_a_page() -> None:
    pages = [f"<!-- page {number} -->\n\nShort page {number}." for number in (1, 2)]

    (chunk,) = make_chunks(DOCUMENT, extraction("\n\n".join(pages), page_count=2))

    assert (chunk.page_from, chunk.page_to) == (1, 2)


@pytest.mark.parametrize("blank", ["", "\n\n", "<!-- page 1 -->\n\n<!-- page 2 -->\n\n", " \t "])
def test_no_text_makes_no_passages(blank: str) -> None:
    assert make_chunks(DOCUMENT, extraction(blank, page_count=2)) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "hostile",
    [
        "x" * 2_000_000,
        "> " * 200_000,
        "[" * 500_000,
        "|a|b|\n|-|-|\n" + "|c|d|\n" * 100_000,
        "\n" * 500_000 + "x",
        "é" * 999,
    ],
    ids=["unbroken", "quotes", "brackets", "table", "empty lines", "accents"],
)
def test_time_is_bounded(hostile: str) -> None:
    started = monotonic()

    found = texts(hostile)

    assert bool(found) == bool(letters(hostile))
    assert all(len(text) <= CHUNK_CHARACTERS[1] for text in found)
    assert monotonic() - started < 15


def test_a_long_text_can_be_given_up_between_two_pieces() -> None:
    looks: list[None] = []

    def check() -> None:
        looks.append(None)
        if len(looks) == 3:
            raise TimeoutError

    with pytest.raises(TimeoutError):
        make_chunks(DOCUMENT, extraction("word " * PIECE_CHARACTERS), check=check)
