"""Finds the fields and lines of a document in its words, whatever read those."""

from collections.abc import Sequence
from dataclasses import dataclass

from webapp.readers.extraction import Field, Table
from webapp.readers.fields.forms import PAGES_MAX as FORM_PAGES_MAX
from webapp.readers.fields.forms import read_form
from webapp.readers.fields.invoice import read_invoice
from webapp.readers.fields.labels import TITLE_WORDS
from webapp.readers.fields.words import PageWords, folded, rows_of
from webapp.readers.fields.wraps import unwrapped

PAGES_MAX = 60
WORDS_MAX = 60_000


@dataclass(frozen=True)
class Found:
    """The fields of a document, its lines as a table, and where on which pages those are (top, bottom)."""

    fields: tuple[Field, ...] = ()
    rules: tuple[str, ...] = ()
    """The rule that found each field; forms have none."""
    tables: tuple[Table, ...] = ()
    boxes: tuple[tuple[int, float, float], ...] = ()


def find_fields(pages: Sequence[PageWords]) -> Found:
    """Read an invoice or a form; any other document has no fields."""
    if not pages or len(pages) > PAGES_MAX or sum(len(page.words) for page in pages) > WORDS_MAX:
        return Found()
    if not _names_an_invoice(pages):
        return Found(read_form(rows_of(pages)) if len(pages) <= FORM_PAGES_MAX else ())
    rows = unwrapped(rows_of(pages))
    read = read_invoice(rows)
    if read is None:
        return Found(read_form(rows))
    fields, rules = tuple(each.field for each in read.found), tuple(each.rule for each in read.found)
    items = read.items
    if items is None:
        return Found(fields, rules)
    heading = tuple(column.name for column in items.columns)
    kinds = tuple(column.kind for column in items.columns)
    table = Table(items.page, (heading, *map(tuple, items.rows)), "Line items", kinds)
    return Found(fields, rules, (table,), tuple(items.boxes))


def _names_an_invoice(pages: Sequence[PageWords]) -> bool:
    """Whether any word may begin the name of an invoice; most documents are told apart here, at little cost."""
    # Without spaces: the letters of some titles are placed one by one.
    text = folded.__wrapped__("".join(word.text for page in pages for word in page.words))
    return any(word in text for word in TITLE_WORDS)
