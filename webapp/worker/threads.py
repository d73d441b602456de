"""Threads that nobody may lose without noticing, and that let pages answer first."""

import os
import sys
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

AppContext = Callable[[], AbstractContextManager[Any]]

_NICENESS = 10


class Guarded(threading.Thread):
    """A daemon thread. When its work ends by an exception, the process is told by `on_death`.

    The traceback goes the usual way (threading.excepthook); nothing is caught here.
    """

    def __init__(self, name: str, work: Callable[[], None], on_death: Callable[[str], None]) -> None:
        super().__init__(name=name, daemon=True)
        self._work = work
        self._on_death = on_death

    def run(self) -> None:
        ended = False
        try:
            self._work()
            ended = True
        finally:
            if not ended:
                self._on_death(f"thread {self.name} died")


def yield_to_others() -> None:
    """Lower this thread's priority (Linux alone can do so for one thread), so that pages answer first."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
