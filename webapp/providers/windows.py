"""Puts the windows of a file together again."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

from webapp.providers.ports import Extraction, Window
from webapp.providers.text import clean_extraction


def joined(parts: Sequence[Extraction], windows: Sequence[Window]) -> Extraction:
    """Make one extraction of those of all windows, in their order. Their pages know their own numbers."""
    first = parts[0]
    markdown = "\n\n".join(part.markdown for part in parts)
    last = windows[-1].last
    whole = replace(
        first,
        markdown=markdown,
        pages=tuple(chain.from_iterable(part.pages for part in parts)),
        page_count=sum(part.page_count or 0 for part in parts) if last is None else last,
        title=next((part.title for part in parts if part.title), None),
        language=_most_common([part.language for part in parts]),
        fields=tuple(chain.from_iterable(part.fields for part in parts)),
        tables=tuple(chain.from_iterable(part.tables for part in parts)),
        partial=any(part.partial for part in parts),
        warnings=tuple(chain.from_iterable(part.warnings for part in parts)),
    )
    # Each part was clean; together they may be too much.
    return clean_extraction(whole)


def _most_common(languages: Sequence[str | None]) -> str | None:
    known = [language for language in languages if language]
    return max(known, key=known.count) if known else None
