"""Long documents in embedded mode: they become READY by themselves, and a killed one goes on with the next pages.

Run as `python -m bench.long [--pages 2415] [--window 20] [--scans 100] [--kill-at 60]`. A real server on SQLite has a
short time limit for runs (`--window` seconds). It gets a PDF of so many pages and is left alone until that is READY.
Then it gets a scan, is killed with SIGKILL when so many pages are read, and started again; a person chooses Reprocess.
"""

import argparse
import os
import signal
import tempfile
import time
from pathlib import Path

from bench._site import installation, running, until, upload
from bench._table import row, title
from tests import samples, scans
from tests.journeys.site import Installation

WINDOW_PAGES = 8


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=2415)
    parser.add_argument("--window", type=float, default=20.0)
    parser.add_argument("--scans", type=int, default=100)
    parser.add_argument("--kill-at", type=int, default=60)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        site = installation(Path(folder), RUN_TIMEOUT_SECONDS=str(arguments.window))
        if arguments.pages:
            title(f"a PDF of {arguments.pages} pages, runs of {arguments.window:g} s")
            _book(site, arguments.pages)
        if arguments.scans:
            title(f"a scan of {arguments.scans} pages, killed at page {arguments.kill_at}")
            _scan(site, Path(folder), arguments.scans, arguments.kill_at)


def _book(site: Installation, pages: int) -> None:
    with running(site):
        began = time.monotonic()
        document_id = upload(site, "book.pdf", samples.report_pdf(pages, 9))
        statuses, falls = _follow(site, document_id)
        took = time.monotonic() - began
        runs = site.get(f"/documents/{document_id}/runs")["runs"]
        read = site.get(f"/documents/{document_id}")["pages_read"]
    continued = sum(run["trigger"] == "CONTINUED" for run in runs)
    row("ends as", statuses[-1], wanted="READY", holds=statuses[-1] == "READY")
    row("pages read", f"{read} of {pages}", wanted=str(pages), holds=read == pages)
    row("runs", f"{len(runs)}, {continued} continued", wanted="one row", holds=len(runs) == continued + 1)
    row("statuses on the way", " ".join(statuses), wanted="no TIMED_OUT", holds="TIMED_OUT" not in statuses)
    row("steps back of the progress", str(falls), wanted="0", holds=not falls)
    row("from upload to READY", f"{took:.1f} s")


def _scan(site: Installation, folder: Path, pages: int, kill_at: int) -> None:
    first, *others = (scans.page([f"Page {number} of the register"] * 12) for number in range(1, pages + 1))
    with running(site) as server:
        document_id = upload(site, "scan.pdf", scans.as_bytes(first, "PDF", others))
        until(lambda: _pages_done(site, document_id) > kill_at - WINDOW_PAGES)
        # In the middle of the window that holds the page.
        until(lambda: _progress_pages(site, document_id, pages) >= kill_at)
        seen = _pages_done(site, document_id)
        os.killpg(server.pid, signal.SIGKILL)
    before = _windows(folder)
    with running(site):
        until(lambda: site.get(f"/documents/{document_id}/status")["status"] != "PROCESSING")
        failure = site.get(f"/documents/{document_id}")["run"]["failure_type"]
        site.post(f"/documents/{document_id}/reprocess")
        statuses, _ = _follow(site, document_id)
    after = _windows(folder)
    unchanged = sum(after[name] == moment for name, moment in before.items())
    goes_on = min(first for first, _ in (_span(name) for name in after.keys() - before.keys()))
    row("after the kill", str(failure), wanted="PROCESS_TERMINATED", holds=failure == "PROCESS_TERMINATED")
    row("pages saved at the kill", str(seen), wanted=f"> {kill_at - WINDOW_PAGES}", holds=seen > kill_at - WINDOW_PAGES)
    row("goes on at page", str(goes_on), wanted=str(seen + 1), holds=goes_on == seen + 1)
    row("windows read a second time", str(len(before) - unchanged), wanted="0", holds=unchanged == len(before))
    again = max(0, kill_at - seen)
    row("pages begun before and read again", f"<= {again}", wanted=f"<= {WINDOW_PAGES}", holds=again <= WINDOW_PAGES)
    row("ends as", statuses[-1], wanted="READY", holds=statuses[-1] == "READY")


def _windows(folder: Path) -> dict[str, int]:
    """The windows that are stored, and when each was written."""
    return {path.name: path.stat().st_mtime_ns for path in (folder / "data").rglob("ocr-*.json")}


def _span(name: str) -> tuple[int, int]:
    _, first, last, _ = name.split("-")
    return int(first), int(last)


def _pages_done(site: Installation, document_id: str) -> int:
    pages = site.get(f"/documents/{document_id}/status")["pages"]
    return pages["done"] if pages else 0


def _progress_pages(site: Installation, document_id: str, pages: int) -> float:
    """How many pages the progress bar stands for: reading is its first 40 %, of which the text layer takes a tenth."""
    progress = float(site.get(f"/documents/{document_id}/status")["progress"])
    return (progress / 0.4) * pages


def _follow(site: Installation, document_id: str) -> tuple[list[str], int]:
    """The statuses until it is not worked on any more, and how often the progress fell."""
    statuses, highest, falls = list[str](), 0.0, 0

    def look() -> bool:
        nonlocal highest, falls
        found = site.get(f"/documents/{document_id}/status")
        if not statuses or statuses[-1] != found["status"]:
            statuses.append(found["status"])
        falls += found["progress"] < highest
        highest = max(highest, found["progress"])
        return bool(found["status"] != "PROCESSING")

    until(look)
    return statuses, falls


if __name__ == "__main__":
    main()
