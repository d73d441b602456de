"""A worker process of the product that freezes itself inside the transaction that publishes its first result.

It is stopped as by SIGSTOP from outside: right before the function that is named, whose callers have fenced the job,
locked the document and changed some of its rows by then. Woken up, it goes on as if nothing had happened.
"""

import importlib
import os
import signal
import sys
import time
from typing import Any

import worker


def freeze_before(module: str, name: str) -> None:
    """Stop this process at the first call."""
    place: Any = importlib.import_module(module)
    act = getattr(place, name)
    is_over: list[bool] = []

    def frozen(*arguments: Any, **more: Any) -> Any:
        if not is_over:
            is_over.append(True)
            os.kill(os.getpid(), signal.SIGSTOP)
            # On a busy machine another thread may be the one that stops the process, a moment later.
            time.sleep(0.5)
        return act(*arguments, **more)

    setattr(place, name, frozen)


if __name__ == "__main__":
    freeze_before(*sys.argv[1].rsplit(".", 1))
    os._exit(worker.main())
