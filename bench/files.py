"""How fast books, workbooks and tables of data are read, and how much memory a server takes for all of that.

Run as `python -m bench.files [--without-peers] [--pages N]`. The readers are timed in their sandbox, beside other
libraries in the same run; a CSV file, a long PDF and a scan go through a real server, from upload to READY. Memory is
the sum of all of the server's processes, what they share divided among them.
"""

import argparse
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bench import _peers
from bench._site import installation, is_ready, memory_mb, running, until, upload
from bench._table import row, title
from tests import samples, scans
from tests.books import long_book
from tests.journeys.site import Installation
from tests.readers.office.files import EXCEL, xlsx
from tests.readers.office.files import row as sheet_row
from webapp.clock import monotonic
from webapp.providers.local.extract import LocalExtractor
from webapp.readers.filetypes import EPUB

EPUB_SECONDS, XLSX_SECONDS, CSV_SECONDS = 0.2, 1.0, 5.0
MEMORY_MB, MEMORY_WITH_OCR_MB = 900, 2_000
BOOK_PAGES, SHEET_ROWS, CSV_ROWS = 534, 20_000, 50_000
PEERS = ("markitdown", "kreuzberg")
# Other readers look here for what the parts of a workbook are.
_TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml."
_CONTENT_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
    '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
    f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPES}sheet.main+xml"/>'
    f'<Override PartName="/xl/styles.xml" ContentType="{_TYPES}styles+xml"/>'
    f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{_TYPES}worksheet+xml"/></Types>'
)


def main(given: Sequence[str] | None = None) -> None:
    """Measure the readers, then the server."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--without-peers", action="store_true", help="ours alone, which needs no other packages")
    parser.add_argument("--pages", type=int, default=500, help="of the PDF that goes through the server")
    parser.add_argument("--scans", type=int, default=8, help="pages of the scan that goes through the server")
    arguments = parser.parse_args(given)
    with tempfile.TemporaryDirectory() as folder:
        _readers(Path(folder), () if arguments.without_peers else PEERS)
        _server(Path(folder), arguments.pages, arguments.scans)


def _readers(folder: Path, peers: Sequence[str]) -> None:
    title("Books and workbooks, in the sandbox")
    extractor = LocalExtractor()
    rows = (
        sheet_row(number, A=f"Lamp {number}", B=f"n:{number}", C=f"n:{number / 7:.2f}", D="Harbour", E="date:46085")
        for number in range(1, SHEET_ROWS + 1)
    )
    files = {
        f"EPUB of {300 * BOOK_PAGES:,} words": ("book.epub", long_book(BOOK_PAGES), EPUB, EPUB_SECONDS),
        f"XLSX of {SHEET_ROWS:,} rows": (
            "rows.xlsx",
            xlsx("".join(rows), more={"[Content_Types].xml": _CONTENT_TYPES}),
            EXCEL,
            XLSX_SECONDS,
        ),
    }
    for name, (file, data, content_type, wanted) in files.items():
        path = folder / file
        path.write_bytes(data)
        seconds = min(_seconds(partial(_read, extractor, path, content_type)) for _ in range(3))
        beside = ", ".join(f"{peer} {_peers.seconds(peer, path):.2f} s" for peer in peers)
        row(name, f"{seconds:.2f} s", wanted=f"≤ {wanted} s", beside=beside, holds=seconds <= wanted)
    extractor.close()


def _server(folder: Path, pages: int, scanned: int) -> None:
    title("From upload to READY, embedded")
    table = "number,name,place,amount\n" + "".join(
        f"{number},Lamp {number},Harbour,{number / 7:.2f}\n" for number in range(CSV_ROWS)
    )
    first, *others = (scans.page([f"Page {number} of the register"] * 12) for number in range(1, scanned + 1))
    site = installation(folder)
    with running(site) as server, _peak(server) as peaks:
        for name, file, data, wanted in (
            (f"CSV of {CSV_ROWS:,} rows", "rows.csv", table.encode(), CSV_SECONDS),
            (f"PDF of {pages} pages", "report.pdf", samples.report_pdf(pages, 9), None),
        ):
            seconds = _seconds(partial(_ready, site, file, data))
            holds = None if wanted is None else seconds <= wanted
            row(name, f"{seconds:.1f} s", wanted=f"≤ {wanted} s" if wanted else "", holds=holds)
        peak = max(peaks)
        row("memory at most, no OCR so far", f"{peak:.0f} MB", wanted=f"≤ {MEMORY_MB} MB", holds=peak <= MEMORY_MB)
        seconds = _seconds(partial(_ready, site, "scan.pdf", scans.as_bytes(first, "PDF", others)))
        row(f"scan of {scanned} pages", f"{seconds:.1f} s")
        peak = max(peaks)
        limit = MEMORY_WITH_OCR_MB
        row("memory at most, with OCR", f"{peak:.0f} MB", wanted=f"≤ {limit} MB", holds=peak <= limit)


@contextmanager
def _peak(server: object) -> Iterator[list[float]]:
    """The memory of the server, measured again and again."""
    found, ending = [memory_mb(server)], threading.Event()

    def look() -> None:
        while not ending.wait(0.2):
            found.append(memory_mb(server))

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield found
    finally:
        ending.set()
        looking.join()


def _ready(site: Installation, name: str, data: bytes) -> None:
    document_id = upload(site, name, data)
    until(lambda: is_ready(site, document_id), look_seconds=0.05)


def _read(extractor: LocalExtractor, path: Path, content_type: str) -> None:
    extractor.extract(path, content_type, timeout_seconds=600, progress=lambda _: None)


def _seconds(work: Callable[[], None]) -> float:
    started = monotonic()
    work()
    return monotonic() - started


if __name__ == "__main__":
    main()
