"""What a result says of its document as a whole: its title, kind and day, and how well it was read."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from webapp.library.field_dates import DOUBTFUL_FIELD, day_by_fields, day_of
from webapp.pipeline.markdown import find_headings, unmark
from webapp.readers.extraction import Extraction, Field
from webapp.readers.fields.kinds import KIND_BY_FIELD
from webapp.readers.filetypes import MAIL_FAMILY, filetype
from webapp.readers.page_reading import PageReading, Reading, page_readings
from webapp.readers.titles import title_in

TITLE_CHARACTERS_MAX = 300
# Nobody looks for a title behind this.
_HEAD_CHARACTERS = 5_000
# Where a document's date is from, if not from a field: the header of a mail, or, where nothing better is there, the
# file's own metadata. That and a doubtful field are guesses.
MAIL_HEADER, METADATA = "mail", "metadata"
GUESSED_DATES = frozenset({DOUBTFUL_FIELD, METADATA})


@dataclass(frozen=True)
class Description:
    """What a document's row says of it, and how each of its pages was read."""

    title: str | None
    title_is_guess: bool
    kind: str | None
    document_date: date | None
    document_date_from: str | None
    pages: Sequence[PageReading]
    reading: Reading

    @property
    def pages_read(self) -> int | None:
        """How many pages were read, well or in part; None where the format has no pages, or nothing is said of them."""
        # Never 0, which means a file that nothing reads: there is text, or this would not be published.
        return sum(page.reading is not Reading.NOT_READ for page in self.pages) or None


def description_of(extraction: Extraction, content_type: str) -> Description:
    """Describe what was read."""
    title, is_guess = _title(extraction)
    pages = page_readings(extraction.pages, extraction.page_count)
    is_whole = not extraction.partial and all(page.reading is Reading.WELL for page in pages)
    day, origin = next(_dates(extraction, content_type), (None, None))
    return Description(
        title=title,
        title_is_guess=is_guess,
        kind=_kind(extraction.fields, content_type),
        document_date=day,
        document_date_from=origin,
        pages=pages,
        reading=Reading.WELL if is_whole else Reading.IN_PART,
    )


def _title(extraction: Extraction) -> tuple[str | None, bool]:
    """The file's own title, else its first heading; none where the reader gave an empty one: the name says more."""
    if extraction.title is not None:
        return extraction.title[:TITLE_CHARACTERS_MAX] or None, extraction.title_is_guess
    headings = find_headings(unmark(extraction.markdown, extraction.page_count).text[:_HEAD_CHARACTERS])
    guess = title_in(headings.paths[0]) if headings.paths else None
    return guess, guess is not None


def _kind(fields: Sequence[Field], content_type: str) -> str | None:
    """What people call the document: by the fields that only one kind has, else by its family of files."""
    found = {field.kind for field in fields}
    return next((kind for field, kind in KIND_BY_FIELD.items() if field in found), filetype(content_type).family)


def _dates(extraction: Extraction, content_type: str) -> Iterator[tuple[date, str]]:
    """The days that the document may be of, and where each is from, the strongest first."""
    if found := day_by_fields(extraction.fields):
        yield found
    # A mailbox is of many days.
    if filetype(content_type).family == MAIL_FAMILY and (extraction.page_count or 1) == 1:
        yield from (
            (day, MAIL_HEADER) for each in extraction.fields if each.name == "Date" and (day := day_of(each.value))
        )
    if day := day_of(extraction.created):
        yield day, METADATA
