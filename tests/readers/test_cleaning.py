"""Text out of files is fit for any database once it is through here."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.readers import cleaning as text_module
from webapp.readers.cleaning import clean_extraction, clean_line, clean_text, looks_binary
from webapp.readers.extraction import Extraction, Field, Page, Table


def test_what_databases_refuse_is_gone() -> None:
    assert clean_text("a\0b\ud800c\x1bd\x7fe\ufffff") == "abcdef"


def test_line_ends_become_one_kind() -> None:
    assert clean_text("a\r\nb\rc\x0cd\u2028e\x85f\tg") == "a\nb\nc\nd\ne\nf\tg"


def test_marks_that_turn_text_around_are_gone() -> None:
    assert clean_text("invoice\u202efdp.exe\u2069") == "invoicefdp.exe"


def test_letters_of_all_kinds_stay() -> None:
    kept = "Ünïcödé Привет 漢字 🙂 e\u0301 \u00a0"
    assert clean_text(kept) == kept


def test_lengths_are_cut() -> None:
    assert clean_text("abcdef", 3) == "abc"
    assert clean_line(" a \n title \t", 5) == "a tit"
    assert clean_line("\0 \n") is None
    assert clean_line(None) is None


@given(st.text(st.characters(), max_size=200))
def test_anything_becomes_text_that_can_be_stored(value: str) -> None:
    cleaned = clean_text(value)
    cleaned.encode("utf-8")
    assert "\0" not in cleaned
    assert clean_text(cleaned) == cleaned


def test_every_text_of_a_result_is_cleaned() -> None:
    dirty = "x\0\ud800"
    extraction = Extraction(
        extractor="e",
        version="1",
        markdown=dirty,
        pages=(Page(1, dirty),),
        title=dirty,
        fields=(Field(dirty, dirty, 1.0, 1),),
        tables=(Table(1, ((dirty,),), dirty),),
        warnings=(dirty,),
    )
    assert clean_extraction(extraction) == Extraction(
        extractor="e",
        version="1",
        markdown="x",
        pages=(Page(1, "x"),),
        title="x",
        fields=(Field("x", "x", 1.0, 1),),
        tables=(Table(1, (("x",),), "x"),),
        warnings=("x",),
    )


def test_a_cut_text_is_partial_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_module, "DOCUMENT_CHARACTERS_MAX", 10)
    cleaned = clean_extraction(Extraction("e", "1", "x" * 11))
    assert cleaned.markdown == "x" * 10
    assert cleaned.partial
    assert "10 characters" in cleaned.warnings[0]


def test_text_does_not_look_binary() -> None:
    assert not looks_binary(b"")
    assert not looks_binary("Текст\n\twith tabs".encode())
