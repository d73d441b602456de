"""Which stages no living worker takes: they wait for a worker that does, or for a program over HTTP."""

from collections.abc import Iterable

from sqlalchemy import select

from webapp.clock import after
from webapp.db import session
from webapp.jobs.model import Worker


def untaken(stages: Iterable[str], silent_seconds: float) -> set[str]:
    """Those of these stages; none where no worker is alive at all, since then it is not about stages."""
    alive = select(Worker.stages).where(Worker.ended_at.is_(None), Worker.last_seen > after(-silent_seconds))
    taken = list(session().scalars(alive))
    if not taken:
        return set()
    return {stage for stage in stages if all(each is not None and stage not in each for each in taken)}
