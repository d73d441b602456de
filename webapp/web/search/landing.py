"""The address of a passage in its document's text: what a hit links to, and what people send to each other.

It carries the passage's id and its first words. After a reprocess that changed the passage, the words find its place.
"""

from uuid import UUID

from flask import url_for

from webapp.pipeline.markdown import plain
from webapp.web.fragments import without

WORDS_MAX = 10
CHARACTERS_MAX = 100
ANCHOR = "passage"
"""The id of the place in the page."""


def first_words(passage: str) -> str:
    """The first words of a passage, as people read them."""
    return " ".join(plain(passage).split()[:WORDS_MAX])[:CHARACTERS_MAX]


def address(document_id: UUID, chunk_id: UUID, passage: str, *, q: str = "", time_from: float | None = None) -> str:
    """Where a passage is shown, marked; with `q` its words are marked, too, and the other hits are near."""
    named = without({"passage": chunk_id, "words": first_words(passage), "q": q})
    # The player of a recording begins at a time.
    anchor = ANCHOR if time_from is None else f"t={time_from:.1f}"
    return url_for("document.show", document_id=document_id, **named, _anchor=anchor)
