"""Whose turn it is: which orgs this process has served, so that no org waits behind the bulk of another."""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

_REMEMBERED = 256
# So many orgs of a stage and a priority are looked at by a claim. Where more were served, the next claim begins behind
# the one that was served last, so that each org is looked at in its turn.
LINES_MAX = 64
NOBODY = UUID(int=0)


@dataclass(frozen=True)
class Standing:
    """Orgs, how many seats each has now, and when it was served last: later ones have higher numbers."""

    orgs: list[UUID]
    busy: list[int]
    served: list[int]
    behind: UUID = NOBODY
    """The org that was served last, where there are more of them than a claim looks at."""


class Turns:
    """Remembers the orgs that were served last. One that is not remembered goes first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._served: dict[UUID, int] = {}
        self._serial = 0

    def standing(self, busy: Mapping[UUID, int] | None = None) -> Standing:
        """For a claim, as lists of equal length."""
        busy = busy or {}
        with self._lock:
            served = dict(self._served)
        orgs = list({**served, **busy})
        last = next(reversed(served)) if len(served) >= LINES_MAX else NOBODY
        return Standing(orgs, [busy.get(org, 0) for org in orgs], [served.get(org, 0) for org in orgs], last)

    def note(self, orgs: Iterable[UUID]) -> None:
        """These were served, in this order."""
        with self._lock:
            for org in dict.fromkeys(orgs):
                self._serial += 1
                self._served.pop(org, None)
                self._served[org] = self._serial
            while len(self._served) > _REMEMBERED:
                del self._served[next(iter(self._served))]
