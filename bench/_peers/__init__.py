"""The queues that are measured, each behind the same few functions; one that is not installed is left out.

`pip install -r bench/_peers/requirements.txt` brings the others; nothing of the product or its tests needs them.
"""

import os
import time
from importlib import import_module
from typing import Protocol, cast

PEERS = ("docmill", "pgqueuer", "procrastinate", "raw")


class Peer(Protocol):
    """One queue on PostgreSQL; `url` is its superuser's, of a database of the queue's own."""

    def install(self, url: str) -> None:
        """Make its tables."""

    def one_by_one(self, url: str, number: int) -> list[float]:
        """Add so many, each with a commit of its own; the moment (monotonic) before each, 20 ms apart where few."""

    def work(self, url: str) -> None:
        """Work at its best setting until the process is ended; says "ready" and waits for a line first."""


def peer(name: str) -> Peer | None:
    """A queue by its name."""
    try:
        return cast("Peer", import_module(f"bench._peers.on_{name}"))
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith(("bench", "webapp")):
            raise
        return None


def wait_for_go() -> None:
    """All processes begin at the same moment."""
    os.write(1, b"ready\n")
    os.read(0, 1)


def tell() -> None:
    """What a job does: nothing, or say when it began."""
    if TELLS:
        os.write(1, b"%d\n" % time.monotonic_ns())


TELLS = bool(os.environ.get("BENCH_TELL"))
