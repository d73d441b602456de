"""Reads printed documents for the benches of fields, and stores how often each rule was right."""

from collections import Counter
from collections.abc import Collection
from pathlib import Path

from tests.invoices.score import RIGHT
from webapp.readers.fields import measured
from webapp.readers.fields.find import PAGES_MAX
from webapp.readers.fields.words import PageWords
from webapp.readers.pdf.layout import layout_pages

INVOICE = "invoice"
_ALL = range(1, PAGES_MAX + 1)
_NAME = "RIGHT: dict[str, tuple[int, int]] = "


def _paper(rule: str) -> str:
    """The kind of document that a rule is for: an invoice's rules do not say it."""
    return rule.split(" ", maxsplit=1)[0] if rule.count(" ") > 2 else INVOICE


def printed_pages(path: Path) -> list[PageWords]:
    """The words of a PDF's pages, as the rules for fields get them."""
    return [page.words for page in layout_pages(str(path), _ALL, with_words=True) if page.words]


def write_rules(rules: Counter[tuple[str, str]], papers: Collection[str]) -> None:
    """Store the shares of the rules for these kinds of documents; those of other kinds stay."""
    shares = {rule: counts for rule, counts in measured.RIGHT.items() if _paper(rule) not in papers}
    for rule in {rule for rule, _ in rules}:
        given = sum(count for (other, _), count in rules.items() if other == rule)
        shares[rule] = (rules[rule, RIGHT], given)
    path = Path(measured.__file__)
    before, _, after = path.read_text(encoding="utf-8").partition(f"{_NAME}{{")
    lines = "".join(f'\n    "{rule}": {shares[rule]},' for rule in sorted(shares))
    path.write_text(f"{before}{_NAME}{{{lines}\n}}{after[after.index('}') + 1 :]}", encoding="utf-8")
