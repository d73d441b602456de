"""Requests that wait for something to happen: at most a quarter of the threads, and none while the process ends."""

import threading

from flask import Flask, current_app

from webapp.config import Settings

_ending = threading.Event()


class LongPolls:
    """The threads that may wait at once; who finds none free gets an answer at once."""

    def __init__(self, threads: int) -> None:
        # With fewer than four threads none may wait.
        self._free = threading.BoundedSemaphore(threads // 4) if threads >= 4 else None

    def take(self) -> bool:
        """Take a thread to wait in, if one is free."""
        return self._free is not None and self._free.acquire(blocking=False)

    def give_back(self) -> None:
        """The wait is over."""
        if self._free is not None:
            self._free.release()

    def pause(self, seconds: float) -> bool:
        """Wait for so long; False if the process ends."""
        return not _ending.wait(seconds)


def init_long_polls(app: Flask, settings: Settings) -> None:
    """They are the application's: each web process has its own."""
    app.extensions["docmill_long_polls"] = LongPolls(settings.server.web_threads)


def long_polls() -> LongPolls:
    """Those of this application."""
    found: LongPolls = current_app.extensions["docmill_long_polls"]
    return found


def end_long_polls() -> None:
    """Answer all who wait: the process ends."""
    _ending.set()
