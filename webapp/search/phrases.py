"""Passages that hold words in a row, word for word, also where the row goes on in the next passage.

The indexes find words in their stems, so what they find is compared again here. Where a row crosses from a passage into
the next one, the first or the last half of its words is in one of the two: these are found, and put together with the
passage before or behind.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import aliased

from webapp.batches import batches
from webapp.db import session
from webapp.search.match import Atom, TermMatch
from webapp.search.model import Chunk
from webapp.search.scope import SearchScope
from webapp.search.stems import plain_words
from webapp.search.words import holding, in_a_row, which_hold

# Of passages with the words of a phrase that none has in a row.
SCATTERED_MAX = 300
# Of each half of a row that crosses.
HALVES_MAX = 300
# A phrase that is longer beyond the end of a passage is not found across it.
EDGE_CHARACTERS = 600
LONGER_HALVES = 4
_ROWS_PER_STATEMENT = 400
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class _Read:
    """A passage and its place."""

    id: UUID
    document_id: UUID
    ordinal: int
    text: str

    @property
    def first_words(self) -> list[str]:
        """Its first words, more than a phrase has beyond a passage."""
        return plain_words(self.text[:EDGE_CHARACTERS])

    @property
    def last_words(self) -> list[str]:
        """Its last words; the very first of these may be cut."""
        return plain_words(self.text[-EDGE_CHARACTERS:])


def exactly(scope: SearchScope, ids: Collection[UUID], phrases: Sequence[Sequence[str]]) -> list[UUID]:
    """Of these passages, in their order, those that have one phrase of each tuple word for word."""
    if not phrases or not ids:
        return list(ids)
    rows = [[plain_words(phrase) for phrase in group] for group in phrases]
    read = {each.id: plain_words(each.text) for each in _read(scope.org_id, ids)}
    return [
        chunk_id
        for chunk_id in ids
        if chunk_id in read and all(any(in_a_row(row, read[chunk_id]) for row in group) for group in rows)
    ]


def with_phrase(scope: SearchScope, phrase: str, limit: int, without: tuple[Atom, ...] = ()) -> list[UUID]:
    """The passages that hold a phrase, best first; then those where it begins, and goes on in the next one."""
    whole = TermMatch(((Atom(phrase),),), without=without)
    found = exactly(scope, holding(scope, whole, limit), [[phrase]])
    if not found:
        # The address of a link may be between them, and PostgreSQL reads some words together, such as "and/or".
        words = tuple((Atom(word),) for word in dict.fromkeys(_WORD.findall(phrase)))
        found = exactly(scope, holding(scope, TermMatch(words, without=without), SCATTERED_MAX), [[phrase]])
    return list(dict.fromkeys([*found, *_crossing(scope, phrase, without)]))


def with_question(
    scope: SearchScope, question: str, without: tuple[Atom, ...], all_words: Sequence[UUID] | None, limit: int
) -> list[UUID]:
    """The same for a question that nobody put into quotation marks, at less cost: most are no phrase of any text.

    `all_words` are all the passages that have its words; None where there are more of them than were looked up.
    """
    whole = TermMatch(((Atom(question),),), without=without)
    if all_words is None:
        return exactly(scope, holding(scope, whole, limit), [[question]])
    if not all_words:
        # What crosses from one passage into the next is in none of them as a whole.
        return _crossing(scope, question, without)
    held = which_hold(scope, whole, all_words)
    return exactly(scope, [chunk_id for chunk_id in all_words if chunk_id in held], [[question]])


def _crossing(scope: SearchScope, phrase: str, without: tuple[Atom, ...]) -> list[UUID]:
    """Where a phrase begins in one passage and ends in the next: both, the first one first."""
    row, parts = plain_words(phrase), [part for part in phrase.split() if plain_words(part)]
    if len(parts) < 2:
        return []
    half = (len(parts) + 1) // 2
    ends_at = range(half, min(len(parts), half + LONGER_HALVES))
    # The longer ones say nothing more, but where an index leaves out the words of the shortest one.
    begins = _read(scope.org_id, _with(scope, [parts[:end] for end in ends_at], without))
    ends = _read(scope.org_id, _with(scope, [parts[-end:] for end in ends_at], without))
    begins = [each for each in begins if _overlap(each.last_words, row)]
    ends = [each for each in ends if _overlap(row, each.first_words)]
    behind, before = _neighbours(scope, begins, 1), _neighbours(scope, ends, -1)
    pairs = [(each, behind[each.id]) for each in begins if each.id in behind]
    pairs += [(before[each.id], each) for each in ends if each.id in before]
    crossing = [(one, other) for one, other in pairs if _crosses(row, one, other)]
    found = list(dict.fromkeys(each.id for pair in crossing for each in pair))
    if not without:
        return found
    excluded = which_hold(scope, TermMatch(any_of=without), found)
    return [chunk_id for chunk_id in found if chunk_id not in excluded]


def _with(scope: SearchScope, rows: Sequence[Sequence[str]], without: tuple[Atom, ...]) -> list[UUID]:
    one_of = tuple(Atom(" ".join(parts)) for parts in rows)
    return holding(scope, TermMatch((one_of,), without=without), HALVES_MAX)


def _overlap(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether one text ends with what the other begins with."""
    return any(one[-first:] == other[:first] for first in range(1, min(len(one), len(other)) + 1))


def _crosses(row: Sequence[str], one: _Read, other: _Read) -> bool:
    """Whether the row begins in the last words of one passage and ends in the first words of the next."""
    before, after = one.last_words, other.first_words
    return any(
        before[-first:] == row[:first] and after[: len(row) - first] == row[first:] for first in range(1, len(row))
    )


def _read(org_id: UUID, ids: Iterable[UUID]) -> list[_Read]:
    columns: Any = select(Chunk.id, Chunk.document_id, Chunk.ordinal, Chunk.text)
    return [
        _Read(row.id, row.document_id, row.ordinal, row.text)
        for part in batches(ids, _ROWS_PER_STATEMENT)
        for row in session().execute(columns.where(Chunk.org_id == org_id, Chunk.id.in_(part)))
    ]


def _neighbours(scope: SearchScope, read: Sequence[_Read], step: int) -> dict[UUID, _Read]:
    """The passages right behind these (1) or before them (-1), by their ids."""
    beside = aliased(Chunk)
    is_beside = (beside.document_id == Chunk.document_id) & (beside.ordinal == Chunk.ordinal + step)
    columns: Any = select(Chunk.id.label("of"), beside.id, beside.document_id, beside.ordinal, beside.text)
    columns = columns.join_from(Chunk, beside, is_beside).where(beside.org_id == scope.org_id)
    return {
        row.of: _Read(row.id, row.document_id, row.ordinal, row.text)
        for part in batches([each.id for each in read], _ROWS_PER_STATEMENT)
        for row in session().execute(columns.where(Chunk.org_id == scope.org_id, Chunk.id.in_(part)))
    }
