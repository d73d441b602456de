"""Finds the fields and lines of a document in its words, whatever read those."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from webapp.readers.extraction import Field, Table
from webapp.readers.fields.choose import Paper
from webapp.readers.fields.contract import read_contract
from webapp.readers.fields.contract_words import TITLE_WORDS as CONTRACT_WORDS
from webapp.readers.fields.forms import PAGES_MAX as FORM_PAGES_MAX
from webapp.readers.fields.forms import read_form
from webapp.readers.fields.invoice import read_invoice
from webapp.readers.fields.labels import TITLE_WORDS
from webapp.readers.fields.letter import PAGES_MAX as LETTER_PAGES_MAX
from webapp.readers.fields.letter import read_letter
from webapp.readers.fields.letter_words import SALUTATIONS
from webapp.readers.fields.receipt import PAGES_MAX as RECEIPT_PAGES_MAX
from webapp.readers.fields.receipt import read_receipt
from webapp.readers.fields.receipt_words import CHANGE
from webapp.readers.fields.receipt_words import TITLES as RECEIPT_TITLES
from webapp.readers.fields.statement import read_statement
from webapp.readers.fields.statement_words import TITLES as STATEMENT_TITLES
from webapp.readers.fields.words import PageWords, Row, folded, rows_of
from webapp.readers.fields.wraps import unwrapped

PAGES_MAX = 60
WORDS_MAX = 60_000


@dataclass(frozen=True)
class KindReader:
    """What reads one kind of document, and which documents it is asked about: most have none of its words."""

    read: Callable[[Sequence[Row]], Paper | None]
    words: frozenset[str]
    pages_max: int = PAGES_MAX
    is_on_first_page: bool = False
    """Whether the words are on the first page."""

    def may_read(self, first_page: str, text: str, pages: int) -> bool:
        """Whether it is worth asking, told from the texts without spaces."""
        within = first_page if self.is_on_first_page else text
        return pages <= self.pages_max and any(word in within for word in self.words)


def _without_spaces(phrases: Iterable[str]) -> frozenset[str]:
    return frozenset("".join(map(folded, phrase.split())) for phrase in phrases)


# In this order: a statement lists payments of invoices, and a contract may have the form of a letter.
READERS = (
    KindReader(read_statement, _without_spaces(STATEMENT_TITLES), is_on_first_page=True),
    KindReader(read_receipt, _without_spaces((*RECEIPT_TITLES, *CHANGE)), RECEIPT_PAGES_MAX),
    KindReader(read_invoice, TITLE_WORDS),
    KindReader(read_contract, CONTRACT_WORDS, is_on_first_page=True),
    KindReader(read_letter, _without_spaces(SALUTATIONS), LETTER_PAGES_MAX, is_on_first_page=True),
)
# A mail says itself who wrote it to whom, when and about what.
OF_MAIL = tuple(each for each in READERS if each.read is not read_letter)


@dataclass(frozen=True)
class Found:
    """The fields of a document, its lines as a table, and where on which pages those are (top, bottom)."""

    fields: tuple[Field, ...] = ()
    rules: tuple[str, ...] = ()
    """The rule that found each field; forms have none."""
    tables: tuple[Table, ...] = ()
    boxes: tuple[tuple[int, float, float], ...] = ()


def find_fields(pages: Sequence[PageWords], readers: Sequence[KindReader] = READERS) -> Found:
    """Read an invoice, a receipt, a bank statement, a contract, a letter or a form; other documents have no fields."""
    if not pages or len(pages) > PAGES_MAX or sum(len(page.words) for page in pages) > WORDS_MAX:
        return Found()
    # Without spaces: the letters of some titles are placed one by one.
    texts = [folded.__wrapped__("".join(word.text for word in page.words)) for page in pages]
    asked = [reader for reader in readers if reader.may_read(texts[0], "".join(texts), pages[-1].number)]
    if not asked:
        return Found(read_form(rows_of(pages)) if len(pages) <= FORM_PAGES_MAX else ())
    rows = unwrapped(rows_of(pages))
    read = next((found for reader in asked if (found := reader.read(rows))), None)
    if read is None:
        return Found(read_form(rows))
    fields, rules = tuple(each.field for each in read.found), tuple(each.rule for each in read.found)
    items = read.items
    if items is None or not items.rows:
        return Found(fields, rules)
    heading = tuple(column.name for column in items.columns)
    kinds = tuple(column.kind for column in items.columns)
    table = Table(items.page, (heading, *map(tuple, items.rows)), read.caption, kinds)
    return Found(fields, rules, (table,), tuple(items.boxes))
