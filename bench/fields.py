"""How well the fields of invoices are read: a labelled set in six languages, beside a naive reader.

Run as `python -m bench.fields [--rounds 3] [--scans N] [--write]`. Chromium prints the invoices of tests/invoices: the
layouts that the rules were made with, those held out, and both with what real invoices carry besides. A value is right
if it means the same; the lines count only as a whole. `--scans` reads each so-many-th invoice of a round as a poor
scan, too. `--write` stores how often each rule was right on the printed ones, which people see as a field's confidence.
"""

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from bench._naive_fields import ASKED, naive_fields
from bench._rules import INVOICE, printed_pages, write_rules
from bench._table import row, title
from tests.invoices.held_out import HELD_OUT
from tests.invoices.labelled import Labelled, labelled, write_pdfs
from tests.invoices.layouts import LAYOUTS
from tests.invoices.manuals import MANUALS
from tests.invoices.noise import noisy
from tests.invoices.scanned import scanned_pages
from tests.invoices.score import JUNK, MISSING, RIGHT, WRONG, are_lines_right, counted, judged
from webapp.readers.fields.find import PAGES_MAX, find_fields
from webapp.readers.fields.words import PageWords

MUST_SCANNED = dict.fromkeys(("invoice_number", "invoice_date", "due_date", "total"), 0.92)
MUST = {"invoice_number": 0.97, "invoice_date": 0.97, "due_date": 0.97, "total": 0.97}
SETS = {
    "layouts that the rules were made with": LAYOUTS,
    "the same with noise": tuple(map(noisy, LAYOUTS)),
    "held out layouts": HELD_OUT,
    "held out layouts with noise": tuple(map(noisy, HELD_OUT)),
}
LINES_MUST, WRONG_MAX = 0.95, 0.01
Reader = Callable[[Path], list[PageWords]]
_ALL = range(1, PAGES_MAX + 1)


@dataclass
class Measured:
    """What came of a set of invoices."""

    name: str
    number: int = 0
    pages: int = 0
    verdicts: Counter[tuple[str, str]] = field(default_factory=Counter)
    naive: Counter[tuple[str, str]] = field(default_factory=Counter)
    rules: Counter[tuple[str, str]] = field(default_factory=Counter)
    lines_right: int = 0
    doubted: int = 0
    reading_seconds: float = 0.0
    finding_seconds: float = 0.0

    def share(self, kind: str, verdict: str, of: Counter[tuple[str, str]]) -> float:
        """The share of a kind's true values that had this verdict."""
        return of[kind, verdict] / max(1, sum(of[kind, each] for each in (RIGHT, WRONG, MISSING)))


def main(given: Sequence[str] | None = None) -> None:
    """Measure both sets, and documents that have no fields."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3, help="invoices of each layout in each language")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--scans", type=int, default=0, help="scan each so-many-th invoice of a round, too; 0 for none")
    parser.add_argument("--write", action="store_true", help="store each rule's share of right answers")
    arguments = parser.parse_args(given)
    found = []
    for name, layouts in SETS.items():
        one = _measure(name, list(labelled(layouts, arguments.rounds, arguments.seed)))
        _show(one)
        found.append(one)
    _manuals()
    if arguments.scans:
        for name, layouts in (("scans of known layouts", LAYOUTS), ("scans of held out layouts", HELD_OUT)):
            invoices = list(labelled(layouts, 1, arguments.seed))[:: arguments.scans]
            _show(_measure(name, invoices, read=scanned_pages), wanted=MUST_SCANNED)
    if arguments.write:
        write_rules(sum((one.rules for one in found), Counter()), {INVOICE})


def _measure(name: str, invoices: Sequence[Labelled], read: Reader = printed_pages) -> Measured:
    one = Measured(name, number=len(invoices))
    with tempfile.TemporaryDirectory() as folder:
        for invoice, path in zip(invoices, write_pdfs(invoices, Path(folder)), strict=True):
            started = time.process_time()
            pages = read(path)
            done = time.process_time()
            found = find_fields(pages)
            one.finding_seconds += time.process_time() - done
            one.reading_seconds += done - started
            one.pages += len(pages)
            verdicts = judged(invoice, found.fields)
            rule = {id(each): rule for each, rule in zip(found.fields, found.rules, strict=True)}
            one.verdicts += counted(verdicts)
            one.naive += counted(each for each in judged(invoice, naive_fields(str(path))) if each[0] in ASKED)
            one.rules += Counter((rule[id(each)], verdict) for _, verdict, each in verdicts if each)
            one.lines_right += are_lines_right(invoice, found.tables)
            one.doubted += any(each.doubt for each in found.fields)
    return one


def _show(one: Measured, wanted: Mapping[str, float] = MUST) -> None:
    title(f"Invoices, {one.name}")
    for kind in dict.fromkeys(kind for kind, _ in sorted(one.verdicts)):
        right, wrong = one.share(kind, RIGHT, one.verdicts), one.share(kind, WRONG, one.verdicts)
        counts = [one.verdicts[kind, verdict] for verdict in (RIGHT, WRONG, MISSING, JUNK)]
        naive = (
            f"{one.share(kind, RIGHT, one.naive):.3f}, wrong {one.share(kind, WRONG, one.naive):.3f}"
            if kind in ASKED
            else ""
        )
        holds = right >= wanted.get(kind, 0) and wrong <= WRONG_MAX and not counts[3]
        words = "{} right, {} wrong, {} missing, {} junk".format(*counts)
        row(
            kind,
            f"{right:.3f} ({words})",
            wanted=f"≥ {wanted[kind]}" if kind in wanted else "",
            beside=naive,
            holds=holds,
            value=right,
        )
    wrong = sum(count for (_, verdict), count in one.verdicts.items() if verdict == WRONG) / max(
        1, sum(one.verdicts.values())
    )
    junk = sum(count for (_, verdict), count in one.verdicts.items() if verdict == JUNK)
    row("invoices read", str(one.number))
    row(
        "wrong values of all",
        f"{wrong:.4f}",
        wanted=f"≤ {WRONG_MAX}",
        holds=wrong <= WRONG_MAX,
        value=wrong,
        is_less_better=True,
    )
    row("junk fields", str(junk), wanted="0", holds=junk == 0, value=junk, is_less_better=True)
    share = one.lines_right / one.number
    row("all lines exactly right", f"{share:.3f}", wanted=f"≥ {LINES_MUST}", holds=share >= LINES_MUST, value=share)
    row("invoices with a doubtful mark, all of them right", str(one.doubted))
    fields, reading = (1000 * seconds / one.pages for seconds in (one.finding_seconds, one.reading_seconds))
    row("CPU for fields, ms a page", f"{fields:.2f}", beside=f"the layout's parser {reading:.2f}")


def _manuals() -> None:
    title("Documents without fields")
    for name, write in MANUALS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "document.pdf")
            path.write_bytes(write())
            found = find_fields(printed_pages(path))
        number = len(found.fields)
        row(name, f"{number} fields", wanted="0", holds=not number, value=number, is_less_better=True)


if __name__ == "__main__":
    main()
