"""The words of a document with their places, kept beside its extraction: a line of JSON for each page.

They are by far the most of a result, and hardly ever asked for: so what is read in every step is
stored without them, and a page's words are found without reading those of the others.
"""

import json
from dataclasses import replace
from typing import Any

from webapp.providers.errors import BlobMissing
from webapp.providers.ports import BlobStore, Extraction, Page, Word


class PageWords:
    """Takes the words out of parts of an extraction, one part after the other."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._has_words = False

    def take(self, part: Extraction) -> Extraction:
        """Give the part back without its words."""
        self._lines += [_line(page) for page in part.pages]
        self._has_words = self._has_words or any(page.words for page in part.pages)
        return replace(part, pages=tuple(replace(page, words=()) for page in part.pages))

    def save(self, blobs: BlobStore, path: str) -> None:
        """Store them; nothing where there are none."""
        if self._has_words:
            blobs.put_bytes(path, b"".join(self._lines))


def load_words(blobs: BlobStore, path: str, page: int) -> tuple[Word, ...]:
    """The words of one page; none where the extractor said nothing about them."""
    try:
        with blobs.open(path) as lines:
            found: Any = next((plain for line in lines if (plain := json.loads(line))["page"] == page), None)
    except BlobMissing:
        return ()
    if found is None:
        return ()
    return tuple(Word(text, confidence, polygon and tuple(polygon)) for text, confidence, polygon in found["words"])


def _line(page: Page) -> bytes:
    words = [(word.text, word.confidence, word.polygon) for word in page.words]
    plain = {"page": page.number, "words": words}
    return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
