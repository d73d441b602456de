"""How well and how fast born-digital PDFs are read: words, columns and tables, beside other libraries in the same run.

Run as `python -m bench.pdf [--without-peers] [--pages N]`. Chromium prints the pages, so every word and cell is known;
columns are written line by line across the page, as some programs do. Ours go through the sandbox, as an upload does.
"""

import argparse
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from playwright.sync_api import Browser

from bench import _peers
from bench._table import row, title
from tests import printed_tables, samples, scans
from tests.chromium import with_browser
from tests.printed_tables import PrintedTable
from tests.samples import Run
from webapp.clock import monotonic
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.extraction import Extraction
from webapp.readers.filetypes import PDF
from webapp.readers.page_markdown import plain

TABLES: Mapping[str, Sequence[PrintedTable]] = {
    "rows of ruled tables": [printed_tables.ruled(number) for number in range(10)],
    "rows of tables without lines": [printed_tables.borderless(number) for number in range(10)],
    "rows of shaded tables": [printed_tables.shaded(number) for number in range(10)],
    "rows of tables with merged cells": [printed_tables.merged(number) for number in range(6)],
    "rows of tables over five pages": [printed_tables.long(columns) for columns in (2, 3, 4, 5, 6)],
}
LANGUAGES = ("en", "de", "pt", "ru")
REPEATED = 12
RECALL, PARAGRAPHS, ORDER, ROWS, MERGED, SPEED, RULED_PAGES_A_SECOND = 0.995, 0.9, 0.98, 0.98, 1.0, 0.55, 20


@dataclass(frozen=True)
class Sample:
    """A file, and how well a text in Markdown holds what was written into it."""

    path: Path
    score: Callable[[str], float]
    """From 0 to 1."""


def main(given: Sequence[str] | None = None) -> None:
    """Measure ours and the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-peers", action="store_true", help="ours alone, which needs no other packages")
    parser.add_argument("--pages", type=int, default=500, help="of the PDF whose reading is timed")
    measure(parser.parse_args(given))


def measure(arguments: argparse.Namespace) -> None:
    """Print each figure."""
    extractor = LocalExtractor()
    libraries = () if arguments.without_peers else _peers.LIBRARIES
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        title("PDFs from a program: the share that is read right")
        for name, (wanted, found) in _samples(folder).items():
            ours = _mean([each.score(_read(extractor, each.path).markdown) for each in found])
            beside = [
                f"{library} {_mean([each.score(text) for each, text in zip(found, texts, strict=True)]):.3f}"
                for library in libraries
                for texts in [_peers.texts(library, [each.path for each in found])]
            ]
            row(name, f"{ours:.3f}", wanted=f"≥ {wanted}", beside=", ".join(beside), holds=ours >= wanted, value=ours)
        title("PDFs from a program: how fast they are read, in the sandbox")
        _times(extractor, folder, arguments)
    extractor.close()


def _samples(folder: Path) -> dict[str, tuple[float, list[Sample]]]:
    texts = _print_texts(folder)
    found = {
        "words of running text, four languages": (RECALL, [Sample(path, _recall(said)) for path, said in texts]),
        "paragraphs that stay apart and whole": (PARAGRAPHS, [Sample(path, _whole(said)) for path, said in texts]),
    }
    for columns in (2, 3):
        path = folder / f"columns-{columns}.pdf"
        path.write_bytes(_columns(columns))
        found[f"order of {columns} columns written across"] = (ORDER, [Sample(path, _in_order(columns))])
    for name, tables in TABLES.items():
        paths = printed_tables.write_pdfs(tables, folder)
        wanted = MERGED if "merged" in name else ROWS
        found[name] = (wanted, [Sample(path, _rows(table)) for table, path in zip(tables, paths, strict=True)])
    return found


def _print_texts(folder: Path) -> list[tuple[Path, list[str]]]:
    def print_all(browser: Browser) -> list[tuple[Path, list[str]]]:
        page, found = browser.new_page(), []
        for language in LANGUAGES:
            # Numbered, since what comes again on top of each page is a running head.
            paragraphs = [f"{number}: {text}" for number in range(REPEATED) for text in scans.TEXTS[language]]
            page.set_content("".join(f"<p>{paragraph}</p>" for paragraph in paragraphs))
            path = folder / f"text-{language}.pdf"
            path.write_bytes(page.pdf(format="A4"))
            found.append((path, paragraphs))
        return found

    return with_browser(print_all)


def _recall(paragraphs: Sequence[str]) -> Callable[[str], float]:
    wanted = Counter(" ".join(paragraphs).split())
    return lambda text: sum((wanted & Counter(text.replace("*", "").split())).values()) / sum(wanted.values())


def _whole(paragraphs: Sequence[str]) -> Callable[[str], float]:
    def score(text: str) -> float:
        found = {" ".join(block.replace("*", "").split()) for block in text.split("\n\n")}
        return sum(paragraph in found for paragraph in paragraphs) / len(paragraphs)

    return score


def _columns(count: int, rows: int = 40, pages: int = 3) -> bytes:
    width = 500 / count
    return samples.pdf(
        [
            [
                Run(50 + width * column, 60 + 16 * line, f"p{page}c{column}r{line:02d} word of a line", 60 / count / 3)
                for line in range(rows)
                for column in range(count)
            ]
            for page in range(pages)
        ]
    )


def _in_order(count: int, rows: int = 40, pages: int = 3) -> Callable[[str], float]:
    places = [
        f"p{page}c{column}r{line:02d}" for page in range(pages) for column in range(count) for line in range(rows)
    ]
    following = dict(pairwise(places))

    def score(text: str) -> float:
        found = re.findall(r"p\dc\dr\d\d", text)
        right = [one for one, other in pairwise(found) if following.get(one) == other]
        return len(right) / len(following)

    return score


def _rows(table: PrintedTable) -> Callable[[str], float]:
    wanted = Counter(table.rows)

    def score(text: str) -> float:
        lines = (line for line in text.split("\n") if line.startswith("|"))
        found = Counter(tuple(plain(cell) for cell in line.strip("|").split("|")) for line in lines)
        return sum((wanted & found).values()) / len(table.rows)

    return score


def _times(extractor: LocalExtractor, folder: Path, arguments: argparse.Namespace) -> None:
    text, tables = folder / "long.pdf", folder / "tables.pdf"
    text.write_bytes(samples.report_pdf(arguments.pages, 9))
    seconds = min(_seconds(extractor, text) for _ in range(3))
    beside = "" if arguments.without_peers else _oxide_ratio(text, seconds)
    row(f"{arguments.pages} pages of text", f"{arguments.pages / seconds:.0f} pages/s", beside=beside)
    [tables] = printed_tables.write_pdfs([printed_tables.long(5)], folder)
    pages = _read(extractor, tables).page_count or 1
    speed = pages / min(_seconds(extractor, tables) for _ in range(3))
    wanted = f"≥ {RULED_PAGES_A_SECOND} pages/s"
    row("pages of ruled tables", f"{speed:.0f} pages/s", wanted=wanted, holds=speed >= RULED_PAGES_A_SECOND)


def _oxide_ratio(path: Path, seconds: float) -> str:
    peer = min(_peers.words(path)["seconds"] for _ in range(3))
    return f"{peer / seconds:.2f} of the speed of pdf_oxide's words with boxes (wanted ≥ {SPEED})"


def _seconds(extractor: LocalExtractor, path: Path) -> float:
    started = monotonic()
    _read(extractor, path)
    return monotonic() - started


def _read(extractor: LocalExtractor, path: Path) -> Extraction:
    return extractor.extract(path, PDF, timeout_seconds=600, progress=lambda _: None)


def _mean(shares: Sequence[float]) -> float:
    return sum(shares) / len(shares)


if __name__ == "__main__":
    main()
