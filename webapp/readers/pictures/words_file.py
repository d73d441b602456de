"""The words that OCR read, with their places: a packed file with one line a page, so that it is read page by page."""

import gzip
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from webapp.readers.extraction import Page, PageState, Word
from webapp.typed_json import TypedJson

# A page full of the smallest letters is far below this.
LINE_BYTES_MAX = 32 << 20


@dataclass(frozen=True, slots=True)
class WordsOfPage(TypedJson):
    """The words of one page; sizes and places are in points, of the page upright."""

    number: int
    width: float
    height: float
    turned: int
    """By how many degrees, against the clock, the page's picture is turned to be upright."""
    words: tuple[Word, ...]


def packed(pages: Iterable[Page]) -> bytes | None:
    """The file for the pages that OCR read; None where there are none. Equal pages make equal files."""
    lines = [_of(page).to_json() for page in pages if page.state is PageState.OCR and page.words]
    return gzip.compress(b"\n".join(lines), 6, mtime=0) if lines else None


def unpacked(path: Path) -> Iterator[WordsOfPage]:
    """The pages of a file, one after the other; ValueError for anything else."""
    with gzip.open(path) as file:
        while line := file.readline(LINE_BYTES_MAX):
            yield WordsOfPage.from_json(line)


def _of(page: Page) -> WordsOfPage:
    return WordsOfPage(page.number, page.width or 0.0, page.height or 0.0, page.turned, page.words)
