"""`worker.py` itself, which also prints the moment and the id of each document that it begins.

The line is printed by the first line of the document's first stage. By then the claim is committed, and the timeline
says RUN_STARTED.
"""

import logging
import os
import time
from typing import cast

import worker
from webapp.pipeline.handlers import HANDLERS, Handler
from webapp.pipeline.steps import StageContext
from webapp.runs.stages import PROCESS_DOCUMENT

_process = HANDLERS[PROCESS_DOCUMENT]


def _begin(context: StageContext) -> None:
    moment = time.monotonic_ns()
    os.write(1, b"%d %s\n" % (moment, context.lease.document_id.hex.encode()))
    _process(context)


if __name__ == "__main__":
    cast("dict[str, Handler]", HANDLERS)[PROCESS_DOCUMENT] = _begin
    status = worker.main()
    logging.shutdown()
    os._exit(status)
