"""How jobs reach the workers, for the ops page and for `flask doctor`: by the database, or through BullMQ on Redis."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from flask import current_app

from webapp.config import SettingsError
from webapp.web.access import services
from webapp.wiring import bull_queues

if TYPE_CHECKING:
    from webapp.jobs.dispatch.bullmq.queues import BullQueues

_QUEUES = "docmill_bull_queues"


@dataclass(frozen=True)
class DispatchState:
    """Whether Redis answers this process, which worker is the relay, and how many offers there are."""

    queue: str
    redis: str
    """`ok`, `away` or `not installed`: then this process can't ask Redis, and says nothing about the workers."""
    relay: str | None = None
    waiting: int = 0
    active: int = 0


def dispatch_state() -> DispatchState | None:
    """The state of Redis and the relay; None where the database alone feeds the workers."""
    settings = services().settings.dispatch
    if not settings.uses_bullmq:
        return None
    try:
        queues = _queues()
    except SettingsError:
        return DispatchState(settings.queue.value, "not installed")
    # Known to be installed by now.
    from webapp.jobs.dispatch.bullmq.client import RedisAway  # noqa: PLC0415

    try:
        relay, counts = queues.relay(), queues.counts().values()
    except RedisAway:
        return DispatchState(settings.queue.value, "away")
    waiting, active = (sum(each[name] for each in counts) for name in ("waiting", "active"))
    return DispatchState(settings.queue.value, "ok", relay, waiting, active)


def _queues() -> "BullQueues":
    """Connected once in a process, when somebody asks: a web process needs no Redis for anything else."""
    if _QUEUES not in current_app.extensions:
        current_app.extensions[_QUEUES] = bull_queues(services().settings)
    return cast("BullQueues", current_app.extensions[_QUEUES])
