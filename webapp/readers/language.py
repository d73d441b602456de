"""The language of each page of an extraction, and of its whole text."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from webapp.readers.extraction import Extraction

# A text without pages is looked at in so many places, each so long.
PLACES_MAX, PLACE_CHARACTERS = 40, 2_000

LanguageOf = Callable[[str], str | None]
"""Names the language of a text by its two-letter code; None where that is not plain."""


def with_languages(extraction: Extraction, language_of: LanguageOf, known: Sequence[str]) -> Extraction:
    """The extraction with the language of each page that shows one, and the document's: that of most of its text.

    What the file says of itself counts where its text shows nothing, or where it names none of the `known` languages,
    among which `language_of` chooses: programs write their user's language into files of any other.
    """
    pages = tuple(replace(page, language=language_of(page.text)) for page in extraction.pages)
    declared = extraction.language
    if declared and declared not in known:
        return replace(extraction, pages=pages)
    if pages:
        texts, languages = [page.text for page in pages], [page.language for page in pages]
    else:
        texts = _places(extraction.markdown)
        languages = [language_of(text) for text in texts]
    found = _of_most(zip(languages, map(len, texts), strict=True)) or language_of("\n".join(texts))
    return replace(extraction, pages=pages, language=found or declared)


def _places(markdown: str) -> list[str]:
    """Pieces from all over a text without pages."""
    step = max(PLACE_CHARACTERS, -(-len(markdown) // PLACES_MAX))
    return [markdown[start : start + PLACE_CHARACTERS] for start in range(0, len(markdown), step)]


def _of_most(found: Iterable[tuple[str | None, int]]) -> str | None:
    """The language of most characters."""
    counts: Counter[str] = Counter()
    for language, characters in found:
        if language is not None:
            counts[language] += characters
    return counts.most_common(1)[0][0] if counts else None
