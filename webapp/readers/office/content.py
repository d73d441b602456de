"""What the readers of Office documents hand over, and the Extraction that it becomes."""

from dataclasses import dataclass, field

from webapp.provider_errors import BadInput, FailureCode
from webapp.readers.extraction import Extraction, Page, Table
from webapp.readers.office.properties import Properties
from webapp.readers.page_markdown import assemble, plain, without_marks
from webapp.readers.titles import title_of

NAME = "local"


@dataclass
class Content:
    """A document's text, and what should be known of it."""

    pages: list[str]
    """The Markdown of each slide or sheet; one text where a document has no pages."""
    is_paged: bool
    tables: list[Table] = field(default_factory=list)
    title: str | None = None
    """The title within the text, as Markdown."""
    warnings: list[str] = field(default_factory=list)
    is_partial: bool = False
    vectors_max: int | None = None
    """As in Extraction."""


def extraction(content: Content, properties: Properties) -> Extraction:
    """Make the result of what was read; BadInput where that holds no text."""
    pages = [without_marks(page).strip() for page in content.pages]
    if not any(pages):
        raise BadInput("the document holds no text", code=FailureCode.NO_TEXT)
    markdown = assemble(pages) if content.is_paged else pages[0]
    title, is_guess = title_of(properties.title or plain(content.title or ""), markdown)
    return Extraction(
        extractor=NAME,
        version="",
        markdown=markdown,
        pages=tuple(Page(number, text) for number, text in enumerate(pages, 1)) if content.is_paged else (),
        page_count=len(pages) if content.is_paged else None,
        title=title,
        title_is_guess=is_guess,
        created=properties.created,
        language=properties.language,
        fields=properties.fields,
        tables=tuple(content.tables),
        partial=content.is_partial,
        warnings=tuple(content.warnings),
        vectors_max=content.vectors_max,
    )
