"""Which fault is injected when, and into which process: all of it follows from the seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

# How often each comes, in proportion.
POSTGRESQL = {
    "kill a worker": 8,
    "freeze a worker past its lease": 3,
    "freeze a worker for a moment": 3,
    "ask a worker to leave": 2,
    "kill a web process": 2,
    "cut connections": 6,
    "lose a commit on its way": 5,
    "lose the answer to a commit": 5,
    "swallow the network's packets": 2,
    "crash the database": 1,
    "kill a database session": 1,
    "make the provider fail": 3,
    "stop the database": 2,
    "fill the disk": 3,
    "freeze a worker in its transaction": 3,
    "cancel a run": 4,
}
BULLMQ = {
    **POSTGRESQL,
    "kill redis": 4,
    "restart redis empty": 4,
    "freeze redis": 4,
    "flush redis": 6,
}
SQLITE = {
    "kill a web process": 5,
    "kill the whole server": 3,
    "freeze the server for a moment": 3,
    "make the provider fail": 3,
    "fill the disk": 3,
    "cancel a run": 4,
}
GAP_SECONDS = 2.0
# Where one process is all there is, most faults end it, and it needs some seconds to come back.
LONG_GAP_SECONDS = 5.0
# The first documents have come in, the last ones are under way.
BEGINS_AT = 2.0


@dataclass(frozen=True)
class Fault:
    """A fault to inject. `choice` (0 to 1) selects its target, `strength` (0 to 1) how much or for how long."""

    at: float
    name: str
    choice: float
    strength: float


def plan(seed: int, seconds: float, weights: Mapping[str, int]) -> list[Fault]:
    """The same for the same seed, whatever happens meanwhile. Nothing is left out if there is time for it."""
    chance = random.Random(seed)
    faults, at = [], BEGINS_AT
    names = [name for name, weight in weights.items() if weight]
    gap_seconds = LONG_GAP_SECONDS if weights is SQLITE else GAP_SECONDS
    first = chance.sample(names, len(names))
    while at < seconds:
        name = first.pop() if first else chance.choices(names, [weights[name] for name in names])[0]
        faults.append(Fault(round(at, 3), name, chance.random(), chance.random()))
        at += chance.expovariate(1 / gap_seconds) + 0.2
    return faults
