"""Running text in PDFs: paragraphs stay apart, and text is bold only where it differs from the rest."""

import pytest
from playwright.sync_api import Browser

from tests import samples, scans
from tests.chromium import with_browser
from tests.readers.conftest import Extract
from webapp.readers.filetypes import PDF

pytestmark = [pytest.mark.slow, pytest.mark.browser]
FIRST, SECOND, THIRD = scans.TEXTS["en"]
STYLES = {
    "as it comes": "",
    "another font": "body { font-family: 'DejaVu Sans' }",
    "wide lines": "body { line-height: 1.7 }",
    "small": "body { font-size: 11px }",
    "no gaps": "p { margin: 0; text-indent: 2em }",
}


@pytest.fixture(scope="module")
def printed() -> dict[str, bytes]:
    def print_all(browser: Browser) -> dict[str, bytes]:
        page, found = browser.new_page(), {}
        for name, style in STYLES.items():
            page.set_content(f"<style>{style}</style><p>{FIRST}</p><p>{SECOND}</p><p>{THIRD}</p>")
            found[name] = page.pdf(format="A4")
        return found

    return with_browser(print_all)


@pytest.mark.parametrize("style", STYLES)
def test_paragraphs_stay_apart(extract: Extract, printed: dict[str, bytes], style: str) -> None:
    found = extract(printed[style], PDF)
    assert found.markdown.split("\n\n") == ["<!-- page 1 -->", FIRST, SECOND, THIRD]


def test_bold_words_among_others_stay_bold(extract: Extract) -> None:
    page = [samples.Run(60, 80, "The first line is as it always was."), samples.Run(60, 120, "Take care.", bold=True)]
    assert extract(samples.pdf([page]), PDF).markdown.split("\n\n")[1:] == [page[0].text, "**Take care.**"]
