"""Waiting for processes that are not our children."""

import os
import select
from contextlib import suppress

WAIT_SECONDS = 20


def wait_until_gone(pid: int) -> None:
    """Wait for the end of any process; AssertionError when it does not come."""
    with suppress(ProcessLookupError):
        number = os.pidfd_open(pid)
        try:
            # Not select(): it knows the first 1,024 descriptors only.
            waiting = select.poll()
            waiting.register(number, select.POLLIN)
            gone = waiting.poll(WAIT_SECONDS * 1000)
        finally:
            os.close(number)
        assert gone, f"process {pid} is still there after {WAIT_SECONDS} s"
