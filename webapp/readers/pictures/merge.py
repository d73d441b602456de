"""Puts what OCR read into a document's extraction: the pages that had no text of use get theirs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from webapp.provider_errors import BadInput, FailureCode, ParserCrashed
from webapp.readers.extraction import Extraction, Field, Page, PageState
from webapp.readers.language import guess_language
from webapp.readers.page_markdown import assemble, drop_running_heads, first_heading, taken_apart
from webapp.readers.pdf.windows import spans
from webapp.readers.pictures.scanned import PAGES_WITH_FIELDS_MAX, ScannedPage

# Below this, people had better look at the page itself.
SURE_LEAST = 0.85
LANGUAGE_PAGES = 12
_NOT_READ = frozenset({PageState.UNKNOWN_SCRIPT, PageState.LOST})

READ_BY_OCR = "OCR read page {pages} from its picture."
HARD_TO_READ = "Page {pages} is hard to read: its text may be wrong in places."
LOST_ON = "Page {pages} could not be read: OCR ended there."
NOTHING_ON = "No text was found on page {pages}."
UNKNOWN_LETTERS_ON = (
    "Page {pages} is written in letters that no installed data covers. The command make languages adds them: "
    'make languages LANGUAGES="ru uk el", with the languages of your documents.'
)


def bare(count: int) -> Extraction:
    """The extraction of a file of pictures, before any of its pages is read."""
    pages = tuple(Page(number, "", state=PageState.NEEDS_OCR) for number in range(1, count + 1))
    return Extraction("", "", assemble([""] * count), pages=pages, page_count=count)


def pages_to_read(extraction: Extraction) -> list[int]:
    """The numbers of the pages that have to be read by their looks."""
    return [page.number for page in extraction.pages if page.state is PageState.NEEDS_OCR]


def merged(extraction: Extraction, scanned: Sequence[ScannedPage]) -> Extraction:
    """Give each page that was read by OCR its text; BadInput or ParserCrashed where no page of the document has any."""
    found = {each.number: each for each in scanned}
    pages = tuple(_page(page, found.get(page.number)) for page in extraction.pages)
    # Others are those that could not be read as PDF either, which is said already.
    lost = {each.number for each in scanned if each.is_lost}
    _refuse_nothing(pages, has_lost=bool(lost))
    taken = {page.number for page in pages if page.state is PageState.OCR}
    own = taken_apart(extraction.markdown)
    texts = [found[page.number].markdown if page.number in taken else own.get(page.number, "") for page in pages]
    markdown = assemble(drop_running_heads(texts) if taken else texts)
    fields = [field for field in extraction.fields if field.page not in taken]
    # A long scan would have the fields of each letter and form in it.
    scans = [found[number] for number in sorted(taken)] if len(pages) <= PAGES_WITH_FIELDS_MAX else []
    return replace(
        extraction,
        markdown=markdown,
        pages=pages,
        title=extraction.title or first_heading(markdown),
        language=extraction.language or guess_language("\n".join(filter(None, texts[:LANGUAGE_PAGES]))),
        fields=tuple(_once([*fields, *(field for scan in scans for field in scan.fields)])),
        tables=(
            *(table for table in extraction.tables if table.page not in taken),
            *(table for scan in scans for table in scan.tables),
        ),
        partial=extraction.partial or any(page.state in _NOT_READ for page in pages),
        warnings=(*extraction.warnings, *_warnings(pages, lost)),
    )


def _once(fields: Iterable[Field]) -> Iterator[Field]:
    """The fields without those that repeat the meaning and value of an earlier one, as each page of a letter may."""
    seen = set()
    for field in fields:
        meaning = (field.kind, field.normalized)
        if field.kind is None or meaning not in seen:
            seen.add(meaning)
            yield field


def _page(page: Page, read: ScannedPage | None) -> Page:
    if read is None:
        return page
    if read.is_in_unknown_script or not read.text:
        if page.text.strip():
            # Some text, of whatever use, is better than none.
            return replace(page, state=PageState.OWN_TEXT)
        return replace(page, state=_why_without_text(read))
    return replace(
        page,
        text=read.text,
        width=read.width,
        height=read.height,
        words=read.words,
        state=PageState.OCR,
        confidence=read.confidence,
        turned=read.turned,
    )


def _why_without_text(read: ScannedPage) -> PageState:
    if read.is_lost:
        return PageState.LOST
    return PageState.UNKNOWN_SCRIPT if read.is_in_unknown_script else PageState.NO_TEXT


def _refuse_nothing(pages: Iterable[Page], *, has_lost: bool) -> None:
    states = {page.state for page in pages}
    if states & {PageState.OWN_TEXT, PageState.OCR}:
        return
    if PageState.UNKNOWN_SCRIPT in states:
        raise BadInput("letters that no installed data covers", code=FailureCode.UNKNOWN_SCRIPT)
    if has_lost:
        raise ParserCrashed("the reader of pictures ended on every page that may have text")
    raise BadInput("no page has text", code=FailureCode.NO_TEXT)


def _warnings(pages: Sequence[Page], lost: Collection[int]) -> list[str]:
    notes: Sequence[tuple[str, Callable[[Page], bool]]] = (
        (READ_BY_OCR, lambda page: page.state is PageState.OCR),
        (HARD_TO_READ, lambda page: page.confidence is not None and page.confidence < SURE_LEAST),
        (LOST_ON, lambda page: page.state is PageState.LOST and page.number in lost),
        (NOTHING_ON, lambda page: page.state is PageState.NO_TEXT),
        (UNKNOWN_LETTERS_ON, lambda page: page.state is PageState.UNKNOWN_SCRIPT),
    )
    chosen = [(words, [page.number for page in pages if fits(page)]) for words, fits in notes]
    return [words.format(pages=spans(numbers)) for words, numbers in chosen if numbers]
