"""How a claim is made: freely where nothing is said about any stage, else after counting what is at work."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from webapp.jobs import postgresql
from webapp.jobs.connections import hot
from webapp.jobs.hot import Hot, Taken, Wanted

# Others hold what they are about to take for less than a millisecond, but one that was frozen meanwhile holds it for
# as long as the server lets it: a try looks at so many lines more than the one before.
_MORE_LINES = (0, 16, 1_000)
# A smaller statement takes from the first line alone. Where it could not, so many claims do without trying.
_WEIGHED_CLAIMS = 16


class Claims:
    """Makes claims, and remembers what the last ones met. Safe to use from many threads."""

    def __init__(self, stage_limits: Mapping[str, int]) -> None:
        self._limits = stage_limits
        self._are_controlled = bool(stage_limits)
        self._weighs_for = 0

    def claim(self, wanted: Wanted) -> Taken:
        """The jobs that could be had."""
        for more_lines in _MORE_LINES:
            taken = self._try(replace(wanted, more_lines=more_lines) if more_lines else wanted)
            if taken.leases or not taken.is_contended:
                return taken
        return Taken([])

    def _try(self, wanted: Wanted) -> Taken:
        with hot() as here:
            if not here.is_own and here.statements is postgresql:
                here.cursor.execute(postgresql.PLAN_FOR_THIS_TRANSACTION)
            if not self._are_controlled:
                taken = self._take_freely(here, wanted)
                if not taken.is_controlled:
                    return taken
            with _together(here):
                rooms = here.statements.rooms(here.cursor, self._limits)
                self._are_controlled = bool(self._limits) or rooms is None or bool(rooms)
                return Taken([]) if rooms is None else _weighed(here, wanted, rooms)

    def _take_freely(self, here: Hot, wanted: Wanted) -> Taken:
        if here.statements is postgresql and self._weighs_for <= 0:
            if (taken := postgresql.claim_from_first_line(here, wanted)) is not None:
                return taken
            self._weighs_for = _WEIGHED_CLAIMS
        self._weighs_for -= 1
        return _weighed(here, wanted, None)


def _weighed(here: Hot, wanted: Wanted, rooms: Mapping[str, int] | None) -> Taken:
    taken: Taken = here.statements.claim(here, wanted, rooms)
    return taken


@contextmanager
def _together(here: Hot) -> Iterator[None]:
    """Counting and taking are one transaction; on SQLite they always are."""
    if here.is_own and here.statements is postgresql:
        with here.cursor.connection.transaction():
            yield
    else:
        yield
