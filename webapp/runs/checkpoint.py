"""What a run's checkpoint says beside its steps: how much the run has saved, and how many pages are read."""

from collections.abc import Mapping
from typing import Any

from webapp.jobs.queue import WAITS_FOR

# How many windows of pages, batches of passages and steps this run has saved. A later run begins at none.
PIECES = "pieces_saved"
# How many pages are read, and of how many.
PAGES = "pages"
# The step in which the job began to wait, and since when it waits for others.
WAITS_IN, WAITS_SINCE = "waits_in", "waits_for_others_since"

# The language that a person chose for the recording of this run: two letters.
SPOKEN_LANGUAGE = "spoken_language"

_OF_ONE_RUN = frozenset({PIECES, WAITS_FOR, WAITS_IN, WAITS_SINCE})


def inherited(checkpoint: Mapping[str, Any]) -> dict[str, Any]:
    """What a run takes over that goes on where another one ended."""
    return {name: value for name, value in checkpoint.items() if name not in _OF_ONE_RUN}


def count_piece(checkpoint: dict[str, Any]) -> None:
    """Note one window, batch or step more; it counts once the checkpoint is committed."""
    checkpoint[PIECES] = pieces(checkpoint) + 1


def pieces(checkpoint: Mapping[str, Any]) -> int:
    """How much the run has saved."""
    return int(checkpoint.get(PIECES, 0))


def note_pages(checkpoint: dict[str, Any], done: int, total: int) -> None:
    """Note how many pages are read. The number never falls, even where a page is read again."""
    before = pages(checkpoint)
    checkpoint[PAGES] = [max(done, before[0]) if before and before[1] == total else done, total]


def pages(checkpoint: Mapping[str, Any]) -> tuple[int, int] | None:
    """How many pages are read, and of how many; None where nothing is read by windows of pages."""
    found = checkpoint.get(PAGES)
    return (int(found[0]), int(found[1])) if found else None
