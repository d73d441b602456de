"""Where a search looks: in an org's passages, all of them or those of some documents."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

Matching = Callable[[Collection[UUID]], Collection[UUID]]
"""Tells which of these documents fulfil the filters."""


@dataclass(frozen=True)
class SearchScope:
    """An org; `documents` where only these are searched; `matching` where what was found is looked through.

    Few documents are searched by themselves. Where many documents fulfil a filter, the best passages of all are
    found first, and `matching` tells which of their documents fulfil it.
    """

    org_id: UUID
    documents: Sequence[UUID] | None = None
    matching: Matching | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no document fulfils the filters."""
        return self.documents is not None and not self.documents
