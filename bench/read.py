"""How well and how fast scanned pages are read, beside plain Tesseract on the same pages in the same run.

Run as `python -m bench.read [--pages N]`. Pages are generated, so every wrong letter counts: clean, noisy and
photographed, in Latin and Cyrillic letters. Ours go through the sandbox, as an upload does, with two cores; the peer is
Debian's `tesseract` where it is installed, else the same Tesseract inside liteparse on the page as it is, one page on
each core. On a busy machine only the ratio of the times means something.
"""

import argparse
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from liteparse import LiteParse
from PIL import Image

from bench._table import row, title
from tests import scans
from tests.readers.pictures.test_quality import BOUNDS, CONDITIONS
from webapp.clock import monotonic
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.models import ocr

CORES = 2
SECONDS_A_PAGE = 0.8
PEERS_LANGUAGE = {"en": "eng", "de": "eng", "pt": "eng", "ru": "rus", "ru+en": "rus+eng"}
Reader = Callable[[Sequence[Path]], list[str]]


def timed(read: Reader, pages: Sequence[Path], truth: str) -> tuple[float, float]:
    """The share of wrong letters over all pages, and the seconds a page."""
    started = monotonic()
    texts = read(pages)
    seconds = (monotonic() - started) / len(pages)
    return sum(scans.wrong_share(truth, text) for text in texts) / len(texts), seconds


def ours(extractor: LocalExtractor) -> Reader:
    """Read all pages as one TIFF."""

    def read(pages: Sequence[Path]) -> list[str]:
        first, *others = (Image.open(page) for page in pages)
        source = pages[0].with_suffix(".tiff")
        source.write_bytes(scans.as_bytes(first, "TIFF", others))
        found = extractor.extract(source, "image/tiff", timeout_seconds=600, progress=lambda _: None)
        return [page.text for page in found.pages]

    return read


def tesseract(data: Path, languages: str) -> Reader:
    """Read each page as it is, one on each core."""
    program = shutil.which("tesseract")

    def read_one(page: Path) -> str:
        if program is None:
            with Image.open(page) as picture:
                file = scans.as_bytes(picture.convert("L"), "PDF", quality=95)
            parser = LiteParse(
                ocr_enabled=True, ocr_language=languages, tessdata_path=str(data), dpi=scans.DPI, quiet=True
            )
            return str(parser.parse(file).text)
        command = [program, str(page), "-", "-l", languages, "--tessdata-dir", str(data), "--dpi", str(scans.DPI)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    def read(pages: Sequence[Path]) -> list[str]:
        with ThreadPoolExecutor(CORES) as pool:
            return list(pool.map(read_one, pages))

    return read


def main(given: Sequence[str] | None = None) -> None:
    """Measure each language in each condition."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=4, help="of each kind")
    count = parser.parse_args(given).pages
    reading = scans.reader()
    extractor = LocalExtractor(ocr=reading)
    beside = "Debian's Tesseract" if shutil.which("tesseract") else "liteparse's Tesseract"
    title("Scanned pages: the share of wrong letters")
    with tempfile.TemporaryDirectory() as folder:
        for language, bound in BOUNDS.items():
            truth = "\n".join(scans.TEXTS[language])
            peer = tesseract(ocr.data_folder(reading.models), PEERS_LANGUAGE[language])
            for condition, spoil in CONDITIONS.items():
                pages = [Path(folder, f"{number}.png") for number in range(count)]
                for page in pages:
                    spoil(scans.page(scans.TEXTS[language])).convert("RGB").save(page)
                wrong, seconds = timed(ours(extractor), pages, truth)
                peers_wrong, peers_seconds = timed(peer, pages, truth)
                row(
                    f"{language}, {condition}",
                    f"{wrong:.2%}, {seconds:.2f} s a page",
                    wanted=f"{bound:.1%}, {SECONDS_A_PAGE} s",
                    beside=f"{beside} {peers_wrong:.2%}, time ratio {seconds / peers_seconds:.2f}",
                    holds=wrong <= bound and seconds <= SECONDS_A_PAGE,
                    value=wrong,
                    is_less_better=True,
                )
    extractor.close()


if __name__ == "__main__":
    main()
