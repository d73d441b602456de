"""A page's own text counts only where it is what people see on the page."""

from pathlib import Path

import pypdfium2
import pytest
from PIL import Image

from tests import scans
from webapp.readers.pdf.text_layer import is_of_use, is_picture_with_little_text

PROSE = "The harbour opens at seven o'clock, and ships that arrive before that time wait outside the breakwater."


@pytest.mark.parametrize(
    "text",
    [
        PROSE,
        "Der Hafen öffnet um sieben Uhr; Schiffe, die früher ankommen, warten außerhalb der Mole.",
        "2026-114 45.80 12.35 9,500 14.10.2026 58.15 EUR 3 % 1632 960 018 114 2026 45.80 12.35",
        "HTTP TCP DNS XML PDF: " + PROSE,
        "Page 3",
        "",
    ],
)
def test_what_people_write_is_of_use(text: str) -> None:
    assert is_of_use(text)


@pytest.mark.parametrize(
    "text",
    [
        "".join(chr(ord(letter) + 3) if letter.isalpha() else letter for letter in PROSE),
        "\ufffd" * 30 + " harbour",
        "\ue001\ue002\ue003 \ue004\ue005" * 10,
        "\x01\x02\x03\x04\x05 \x06\x07" * 10,
    ],
)
def test_signs_without_meaning_are_not(text: str) -> None:
    assert not is_of_use(text)


def test_a_stamp_on_a_scan_is_not_its_text(tmp_path: Path) -> None:
    (tmp_path / "scan.pdf").write_bytes(scans.as_bytes(Image.new("L", (620, 877), 240), "PDF"))
    with pypdfium2.PdfDocument(tmp_path / "scan.pdf") as document:
        page = document[0]
        assert is_picture_with_little_text(page, "Scanned by a program")
        assert not is_picture_with_little_text(page, PROSE * 3)
        page.close()
