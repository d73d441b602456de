"""Names are for showing: whatever comes, something harmless and recognisable is shown."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webapp.library.filenames import FILENAME_CHARACTERS_MAX, NAMELESS, clean_filename


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("C:\\Users\\me\\report.pdf", "report.pdf"),
        ("folder/", "folder"),
        ("nul\0byte.pdf", "nulbyte.pdf"),
        ("line\nbreak\ttab.pdf", "line break tab.pdf"),
        ("invoice\u202efdp.exe", "invoicefdp.exe"),
        ("\u2066hidden\u2069\u200b.pdf", "hidden.pdf"),
        ("<script>alert(1)<\u2044script>.pdf", "<script>alert(1)<\u2044script>.pdf"),
        ("🍲 soup 👩\u200d🍳.pdf", "🍲 soup 👩\u200d🍳.pdf"),
        ("Счёт №5.pdf", "Счёт №5.pdf"),
        ("cafe\u0301.pdf", "café.pdf"),
        ("  spaces  .pdf ", "spaces .pdf"),
        ("lone\ud800surrogate.pdf", "lonesurrogate.pdf"),
        ("", NAMELESS),
        (None, NAMELESS),
        ("..", NAMELESS),
        ("...", NAMELESS),
        ("/", NAMELESS),
        ("\0", NAMELESS),
        (".gitignore", ".gitignore"),
    ],
)
def test_names_are_made_fit_to_be_shown(raw: str | None, shown: str) -> None:
    assert clean_filename(raw) == shown


def test_a_long_name_keeps_its_ending() -> None:
    name = clean_filename("x" * 300 + ".pdf")

    assert len(name) == FILENAME_CHARACTERS_MAX
    assert name.endswith("x….pdf")
    assert len(clean_filename("y" * 300)) == FILENAME_CHARACTERS_MAX
    assert len(clean_filename("a." + "z" * 300)) == FILENAME_CHARACTERS_MAX


@given(st.text(alphabet=st.characters(), max_size=400))
def test_any_name_can_be_shown_and_stored(raw: str) -> None:
    name = clean_filename(raw)

    assert 0 < len(name) <= FILENAME_CHARACTERS_MAX
    assert not any(character in name for character in "/\\\0\n\r")
    assert all(unicodedata.category(character) not in {"Cc", "Cs"} for character in name)
    name.encode()
