"""`worker.py` itself, with handlers that sleep as long as real ones take, and write the queue's rows as real ones do.

A document's work is a sleep of FLEET_SECONDS, by its id up to half less or more; its follow-up takes no time.
"""

import logging
import os
import random
from typing import cast

import worker
from webapp.pipeline.handlers import HANDLERS, Handler
from webapp.pipeline.publish import end_published
from webapp.pipeline.steps import StageContext
from webapp.pipeline.unsaved import Stored
from webapp.runs.stages import CONNECT, DETECT_CONNECTIONS, EXTRACT, PROCESS_DOCUMENT, PUBLISH

_SECONDS = float(os.environ["FLEET_SECONDS"])


def seconds_of(document: int) -> float:
    """How long the work on a document takes."""
    return _SECONDS * random.Random(document).uniform(0.5, 1.5)


def _process(context: StageContext) -> None:
    seconds = seconds_of(context.document_id.int)
    context.step(EXTRACT, lambda: context.stopping.wait(seconds), lambda _: Stored())
    context.step(PUBLISH, lambda: None, lambda _: Stored(), end=lambda: end_published(context))


def _connect(context: StageContext) -> None:
    context.step(CONNECT, lambda: None, lambda _: Stored(), end=lambda: context.queue.complete(context.lease))


if __name__ == "__main__":
    handlers = cast("dict[str, Handler]", HANDLERS)
    handlers.clear()
    handlers.update({PROCESS_DOCUMENT: _process, DETECT_CONNECTIONS: _connect})
    status = worker.main()
    logging.shutdown()
    os._exit(status)
