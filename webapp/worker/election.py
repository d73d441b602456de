"""Which worker is the relay of BullMQ's offers, and which one is its deputy: two advisory locks.

Both are held by the session that holds the worker's own lock (locks.py), so they are free again when it dies. The relay
and its deputy look at the locks of all workers; the others look at their own row alone, and less often.
"""

import threading
from enum import Enum, auto

from sqlalchemy import Connection, text

_RELAY_KEY = 0x646F636D_72656C61  # "docmrela": any numbers that nobody else uses as advisory locks
_DEPUTY_KEY = 0x646F636D_64657075  # "docmdepu"
_TRY = text("SELECT pg_try_advisory_lock(:key)")
_UNLOCK = text("SELECT pg_advisory_unlock(:key)")


class RelayRole(Enum):
    """What a worker process is to the relay."""

    NONE = auto()
    """It only takes what is offered."""
    DEPUTY = auto()
    """It becomes the relay when that one ends."""
    RELAY = auto()
    """It makes the offers."""


class Election:
    """This process's role. `look` and `lose` are for the one thread that has the session."""

    def __init__(self) -> None:
        self.role = RelayRole.NONE
        self.is_relay = threading.Event()

    def look(self, connection: Connection) -> None:
        """Take the place that is free: the deputy's, and then the relay's."""
        if self.role is RelayRole.NONE and connection.scalar(_TRY, {"key": _DEPUTY_KEY}):
            self.role = RelayRole.DEPUTY
        if self.role is RelayRole.DEPUTY and connection.scalar(_TRY, {"key": _RELAY_KEY}):
            self.role = RelayRole.RELAY
            self.is_relay.set()
            connection.execute(_UNLOCK, {"key": _DEPUTY_KEY})

    def lose(self) -> None:
        """The session is gone, and its locks with it."""
        self.role = RelayRole.NONE
        self.is_relay.clear()
