"""`worker.py` itself, which also prints the CPU of each step: of this process and of the readers that it starts.

A step's results may be stored by a later one; most are stored by the last.
"""

import logging
import os
import time
from collections.abc import Callable
from typing import Any, cast

import worker
from bench._server_costs import cpu_of_children
from webapp.pipeline.handlers import STEP_FUNCTIONS
from webapp.pipeline.steps import StageContext


def _measured(stage: str, step: str, function: Callable[[StageContext], None]) -> Callable[[StageContext], None]:
    def measured(context: StageContext) -> None:
        began = time.process_time() + cpu_of_children(os.getpid())
        try:
            function(context)
        finally:
            seconds = time.process_time() + cpu_of_children(os.getpid()) - began
            os.write(1, f"{stage} {step} {seconds:.6f}\n".encode())

    return measured


if __name__ == "__main__":
    for stage, functions in STEP_FUNCTIONS.items():
        for step, function in functions.items():
            cast("dict[Any, Any]", functions)[step] = _measured(stage, step.doing, function)
    status = worker.main()
    logging.shutdown()
    os._exit(status)
