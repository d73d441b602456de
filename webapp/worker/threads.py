"""Threads that report their death, and that let pages answer first."""

import os
import sys
import threading
from collections.abc import Callable
from typing import ParamSpec

from webapp import db

Arguments = ParamSpec("Arguments")

_NICENESS = 10


class Guarded(threading.Thread):
    """A daemon thread that can use the database. When its work ends by an exception, `on_death` is called.

    The traceback goes the usual way (threading.excepthook); nothing is caught here.
    """

    def __init__(self, name: str, work: Callable[[], None], on_death: Callable[[str], None]) -> None:
        super().__init__(name=name, daemon=True)
        self._work = with_database(work)
        self._on_death = on_death

    def run(self) -> None:
        ended = False
        try:
            self._work()
            ended = True
        finally:
            if not ended:
                self._on_death(f"thread {self.name} died")


def with_database(work: Callable[Arguments, None]) -> Callable[Arguments, None]:
    """Wrap a function for another thread, which then uses this thread's database."""
    opened = db.opener()

    def work_there(*args: Arguments.args, **kwargs: Arguments.kwargs) -> None:
        with opened():
            work(*args, **kwargs)

    return work_there


def yield_to_others() -> None:
    """Lower this thread's priority (Linux alone can do so for one thread), so that pages answer first."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), _NICENESS)
