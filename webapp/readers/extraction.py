"""What a reader makes of a file's bytes: an Extraction, as plain data that travels as JSON.

It lies with the readers, since the sandboxed ones build it too and import nothing of the providers.
"""

from dataclasses import dataclass

from webapp.typed_json import TypedJson

PAGE_MARK = "<!-- page {number} -->"


@dataclass(frozen=True, slots=True)
class Field:
    """A named value found in a document.

    `polygon` is x, y of the four corners, clockwise from the top left, in the unit of the page's
    width and height with the origin at its top left.
    """

    name: str
    value: str
    confidence: float | None = None
    page: int | None = None
    polygon: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table as rows of cell texts; the first row is the heading where there is one."""

    page: int | None
    rows: tuple[tuple[str, ...], ...]
    caption: str | None = None


@dataclass(frozen=True, slots=True)
class Word:
    """One word and its position on its page; `polygon` as that of a field."""

    text: str
    confidence: float | None = None
    polygon: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """One page's plain text and size, and its words where the extractor gives their positions."""

    number: int
    text: str
    width: float | None = None
    height: float | None = None
    words: tuple[Word, ...] = ()


@dataclass(frozen=True, slots=True)
class Extraction(TypedJson):
    """All that was read out of a file.

    `markdown` holds a line `<!-- page N -->` where page N begins, so that passages know their
    pages; formats without pages have no such line. `partial` means that something is known to
    be missing; `warnings` say what a reader should know either way. `vectors_max` is how many
    passages, from the first one on, get vectors; the others are found by their words alone. An empty
    `title` means that the file's name says more than its first heading.
    """

    extractor: str
    version: str
    markdown: str
    pages: tuple[Page, ...] = ()
    page_count: int | None = None
    title: str | None = None
    language: str | None = None
    fields: tuple[Field, ...] = ()
    tables: tuple[Table, ...] = ()
    partial: bool = False
    warnings: tuple[str, ...] = ()
    vectors_max: int | None = None
