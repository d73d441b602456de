"""Puts what OCR read into a document's extraction: the pages that had no text of use get theirs."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from webapp.provider_errors import BadInput, FailureCode, ParserCrashed
from webapp.readers.extraction import Extraction, Field, Page, PageState
from webapp.readers.page_markdown import assemble, drop_running_heads, taken_apart
from webapp.readers.page_reading import ReadingReason, page_reading, share_of_sure_letters
from webapp.readers.pdf.windows import spans
from webapp.readers.pictures.scanned import PAGES_WITH_FIELDS_MAX, ScannedPage
from webapp.readers.titles import guessed_title

_LOST = frozenset({PageState.LOST, PageState.OCR_ENDED, PageState.OUT_OF_TIME})
_NOT_READ = _LOST | {PageState.UNKNOWN_SCRIPT}

READ_BY_OCR = "OCR read page {pages} from its picture."
HARD_TO_READ = "Page {pages} is hard to read: its text may be wrong in places."
LOST_ON = "Page {pages} could not be read: OCR ended there."
OUT_OF_TIME_ON = "Page {pages} could not be read: OCR took too long there."
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
    lost = {each.number for each in scanned if each.lost_as}
    _refuse_nothing(pages, has_lost=bool(lost))
    taken = {page.number for page in pages if page.state is PageState.OCR}
    own = taken_apart(extraction.markdown)
    texts = [found[page.number].markdown if page.number in taken else own.get(page.number, "") for page in pages]
    markdown = assemble(drop_running_heads(texts) if taken else texts)
    guess = guessed_title(markdown) if extraction.title is None else None
    fields = [field for field in extraction.fields if field.page not in taken]
    # A long scan would have the fields of each letter and form in it.
    scans = [found[number] for number in sorted(taken)] if len(pages) <= PAGES_WITH_FIELDS_MAX else []
    return replace(
        extraction,
        markdown=markdown,
        pages=pages,
        title=extraction.title or guess,
        title_is_guess=extraction.title_is_guess or guess is not None,
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
        # Some text, of whatever use, is better than none: where the page has any, it keeps that.
        return replace(page, state=_why_without_text(read, has_text=bool(page.text.strip())))
    return replace(
        page,
        text=read.text,
        width=read.width,
        height=read.height,
        words=read.words,
        state=PageState.OCR,
        confidence=read.confidence,
        sure_share=share_of_sure_letters(read.words),
        turned=read.turned,
    )


def _why_without_text(read: ScannedPage, *, has_text: bool) -> PageState:
    if read.lost_as:
        return read.lost_as
    if read.is_in_unknown_script:
        return PageState.UNKNOWN_SCRIPT
    if has_text:
        return PageState.OWN_TEXT
    return PageState.BLANK if read.is_blank else PageState.NO_TEXT


def _refuse_nothing(pages: Sequence[Page], *, has_lost: bool) -> None:
    if any(page.text.strip() for page in pages):
        return
    states = {page.state for page in pages}
    if PageState.UNKNOWN_SCRIPT in states:
        raise BadInput("letters that no installed data covers", code=FailureCode.UNKNOWN_SCRIPT)
    if has_lost:
        raise ParserCrashed("the reader of pictures ended on every page that may have text")
    raise BadInput("no page has text", code=FailureCode.NO_TEXT)


def _warnings(pages: Sequence[Page], lost: Collection[int]) -> list[str]:
    notes: Sequence[tuple[str, Callable[[Page], bool]]] = (
        (READ_BY_OCR, lambda page: page.state is PageState.OCR),
        (HARD_TO_READ, lambda page: page_reading(page).reason is ReadingReason.LOW_CONFIDENCE),
        (LOST_ON, lambda page: page.state in {PageState.LOST, PageState.OCR_ENDED} and page.number in lost),
        (OUT_OF_TIME_ON, lambda page: page.state is PageState.OUT_OF_TIME),
        (NOTHING_ON, lambda page: page.state in {PageState.NO_TEXT, PageState.BLANK}),
        (UNKNOWN_LETTERS_ON, lambda page: page.state is PageState.UNKNOWN_SCRIPT),
    )
    chosen = [(words, [page.number for page in pages if fits(page)]) for words, fits in notes]
    return [words.format(pages=spans(numbers)) for words, numbers in chosen if numbers]
