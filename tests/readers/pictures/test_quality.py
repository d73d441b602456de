"""Pages are read nearly without a fault: clean, noisy or photographed, upright or not, in two alphabets."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PIL import Image

from tests import scans
from tests.local_providers import extract as read
from tests.local_providers import failure
from tests.readers.conftest import Extract
from webapp.provider_errors import FailureCode
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import PageState

pytestmark = pytest.mark.slow

# How many of its letters may be wrong.
BOUNDS = {"en": 0.002, "de": 0.003, "pt": 0.003, "ru": 0.005, "ru+en": 0.01}
CONDITIONS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "clean": lambda picture: picture,
    "noisy": scans.noisy,
    "photographed": scans.photographed,
}


def truth(language: str) -> str:
    return "\n".join(scans.TEXTS[language])


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("language", BOUNDS)
def test_hardly_a_letter_is_wrong(extract: Extract, language: str, condition: str) -> None:
    picture = CONDITIONS[condition](scans.page(scans.TEXTS[language]))
    found = extract(scans.as_bytes(picture), "image/png")
    [page] = found.pages
    assert scans.wrong_share(truth(language), page.text) <= BOUNDS[language]
    assert page.state is PageState.OCR
    assert page.confidence is not None
    assert page.confidence > 0.9


@pytest.mark.parametrize("degrees", [90, 180, 270])
@pytest.mark.parametrize("language", ["en", "ru"])
def test_a_page_may_lie_on_any_side(extract: Extract, language: str, degrees: int) -> None:
    turned = scans.noisy(scans.page(scans.TEXTS[language])).rotate(degrees, expand=True)
    [page] = extract(scans.as_bytes(turned), "image/png").pages
    assert scans.wrong_share(truth(language), page.text) <= BOUNDS[language]
    assert page.turned == 360 - degrees
    assert page.width is not None
    assert page.height is not None
    assert page.height > page.width


@pytest.mark.parametrize("angle", [-4.0, 4.0])
def test_a_slanted_page_is_read_in_order(extract: Extract, angle: float) -> None:
    slanted = scans.noisy(scans.page(scans.TEXTS["en"]), angle)
    [page] = extract(scans.as_bytes(slanted), "image/png").pages
    assert scans.wrong_share(truth("en"), page.text) <= BOUNDS["en"]


def test_paragraphs_become_paragraphs(extract: Extract) -> None:
    found = extract(scans.as_bytes(scans.noisy(scans.page(scans.TEXTS["de"]))), "image/png")
    blocks = found.markdown.split("\n\n")[1:]
    assert [scans.wrong_share(text, block) <= 0.005 for text, block in zip(scans.TEXTS["de"], blocks, strict=True)] == [
        True
    ] * 3


def test_each_word_has_its_place(extract: Extract) -> None:
    found = extract(scans.as_bytes(scans.page(["Somewhere else"], 40), dpi=(150, 150)), "image/png")
    first, second = found.pages[0].words
    assert (first.text, second.text) == ("Somewhere", "else")
    face, scale = scans.font(40), 72 / 150
    for word, start, end in (
        (first, 0.0, face.getlength("Somewhere")),
        (second, face.getlength("Somewhere "), face.getlength("Somewhere else")),
    ):
        assert word.polygon is not None
        left, right = min(word.polygon[0::2]), max(word.polygon[0::2])
        assert abs(left / scale - scans.MARGIN - start) < 16
        assert abs(right / scale - scans.MARGIN - end) < 16
        assert word.confidence is not None
        assert word.confidence > 0.9


@pytest.fixture
def without_russian() -> Iterator[LocalExtractor]:
    extractor = LocalExtractor(ocr=scans.reader(["en"]))
    yield extractor
    extractor.close()


def test_letters_without_data_are_no_text_and_the_command_is_named(
    without_russian: LocalExtractor, tmp_path: Path
) -> None:
    russian, english = (scans.page(scans.TEXTS[language]) for language in ("ru", "en"))
    found = read(without_russian, tmp_path, scans.as_bytes(russian, "TIFF", [english]), "image/tiff")
    assert [page.state for page in found.pages] == [PageState.UNKNOWN_SCRIPT, PageState.OCR]
    assert found.pages[0].text == ""
    assert found.partial
    assert "Page 1 is written in letters that no installed data covers." in found.warnings[-1]
    assert "make languages LANGUAGES=" in found.warnings[-1]

    error = failure(without_russian, tmp_path, scans.as_bytes(russian), "image/png")
    assert error.code is FailureCode.UNKNOWN_SCRIPT
