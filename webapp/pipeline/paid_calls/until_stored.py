"""Retries the write of a paid answer while the database or the blob store is away."""

import logging
import threading
from collections.abc import Callable
from typing import TypeVar

from webapp.clock import monotonic
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.pipeline.steps import StageContext
from webapp.provider_errors import ProviderError

_log = logging.getLogger(__name__)

Stored = TypeVar("Stored")

FIRST_PAUSE_SECONDS, LONGEST_PAUSE_SECONDS = 0.1, 5.0
# The rest of a drain's grace period is for releasing the job.
_PART_OF_DRAIN = 0.8


def until_stored(context: StageContext, store: Callable[[], Stored]) -> Stored:
    """Call `store` until it works; raise its error if that is permanent, or when the lease may have ended.

    A commit may have happened although its answer was lost, so `store` must be safe to repeat.
    """
    pause, began, stopped = FIRST_PAUSE_SECONDS, monotonic(), None
    while True:
        try:
            return store()
        except (*DATABASE_ERRORS, ProviderError) as error:
            if not _passes(error):
                raise
            if context.stopping.is_set():
                stopped = stopped or monotonic()
            if monotonic() + pause > _end(context, began, stopped):
                raise
            what = "the files' store" if isinstance(error, ProviderError) else "the database"
            _log.warning("job %s waits for %s: %s", context.lease.job_id, what, type(error).__name__)
        # Not `stopping.wait`: in a drain that returns at once.
        threading.Event().wait(pause)
        pause = min(LONGEST_PAUSE_SECONDS, pause * 2)


def _passes(error: BaseException) -> bool:
    return not error.permanent if isinstance(error, ProviderError) else trouble_of(error) is not None


def _end(context: StageContext, began: float, stopped: float | None) -> float:
    end = began + context.times.keep_seconds
    return end if stopped is None else min(end, stopped + _PART_OF_DRAIN * context.times.drain_seconds)
