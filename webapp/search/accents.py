"""Accents as somebody typed them: both databases find words without, and exact ones come first."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import select

from webapp.db import session
from webapp.search.model import Chunk
from webapp.search.stems import folded, written_words


def otherwise(org_id: UUID, ids: Collection[UUID], words: Sequence[str]) -> set[UUID]:
    """Those of these passages that have a word with other accents, and nowhere with those that were typed."""
    typed = {word for each in words for word in written_words(each)}
    texts = session().execute(select(Chunk.id, Chunk.text).where(Chunk.org_id == org_id, Chunk.id.in_(ids)))
    return {chunk_id for chunk_id, text in texts if _is_otherwise(text, typed)}


def _is_otherwise(text: str, typed: Collection[str]) -> bool:
    if text.isascii() and all(map(str.isascii, typed)):
        return False
    held = set(written_words(text))
    missing = {folded(word) for word in typed if word not in held}
    return not missing.isdisjoint(map(folded, held))
