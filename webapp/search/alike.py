"""Passages that say nearly the same: told by a signature of 64 bits, of which nearly the same texts share most.

A signature is kept with the words of a passage (webapp/search/word_rows.py). Each pair of neighbouring words votes on
every bit (a "simhash"), so a word or two more change few bits; those of unrelated texts differ in half of them.
"""

import hashlib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Uuid, bindparam, text

from webapp.db import is_postgresql, session

# Of the first hits; behind them nobody looks for what is twice there.
COMPARED_MAX = 200
BITS_MAX = 9
# Shorter texts are compared as a whole: one word more or less is much of them.
WORDS_MIN = 20
_BITS = 64
_ODD = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)


def signature(words: Sequence[str]) -> int:
    """The signature of a text, as a number with a sign, which both databases can hold."""
    if len(words) < WORDS_MIN:
        return int.from_bytes(_hash(" ".join(words)), "big", signed=True)
    hashes = np.frombuffer(b"".join(map(_hash, words)), dtype=">u8").astype(np.uint64)
    # Each once: what a text repeats would outvote what is different in it.
    pairs = np.unique((hashes[:-1] * _ODD) ^ hashes[1:])
    pairs = (pairs ^ (pairs >> _SHIFT)) * _ODD
    votes = np.unpackbits(pairs.view(np.uint8).reshape(-1, 8), axis=1).sum(axis=0)
    return int.from_bytes(np.packbits(2 * votes > len(pairs)).tobytes(), "big", signed=True)


@lru_cache(50_000)
def _hash(word: str) -> bytes:
    return hashlib.blake2b(word.encode(), digest_size=_BITS // 8).digest()


def under_the_first(ids: Sequence[UUID]) -> Mapping[UUID, Sequence[UUID]]:
    """Of passages in an order the first ones of those that are alike, and the others that stand behind each."""
    compared = list(ids[:COMPARED_MAX])
    known = _signatures(compared)
    compared = [chunk_id for chunk_id in compared if chunk_id in known]
    if len(compared) < 2:
        return {}
    numbers = np.array([known[chunk_id] for chunk_id in compared], dtype=np.int64).view(np.uint64)
    is_near: NDArray[np.bool_] = np.bitwise_count(numbers[:, None] ^ numbers[None, :]) <= BITS_MAX
    found: dict[UUID, list[UUID]] = {}
    taken: set[int] = set()
    for place in range(len(compared)):
        if place in taken:
            continue
        behind = (np.flatnonzero(is_near[place, place + 1 :]) + place + 1).tolist()
        others = [other for other in behind if other not in taken]
        taken.update(others)
        if others:
            found[compared[place]] = [compared[other] for other in others]
    return found


def _signatures(ids: Sequence[UUID]) -> dict[UUID, int]:
    asked = _ON_POSTGRESQL if is_postgresql() else _ON_SQLITE
    return {row.chunk_id: row.signature for row in session().execute(asked, {"ids": ids}) if row.signature is not None}


_ON_POSTGRESQL, _ON_SQLITE = (
    text(f"SELECT chunk_id, signature FROM {table} WHERE chunk_id IN :ids")  # noqa: S608 - our own names
    .bindparams(bindparam("ids", type_=Uuid, expanding=True))
    .columns(chunk_id=Uuid)
    for table in ("chunk_words", "chunks_fts_ids")
)
