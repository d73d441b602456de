"""The parsers' processes of a running installation: each file is read in one of its own."""

import contextlib
import os
from pathlib import Path

from tests.worker.bench import wait_for


def at_work(pid: int) -> list[int]:
    """The children in which a process (or one below it) reads files just now."""
    return [child for spawner in _below(pid) if _is_spawner(spawner) for child in _children(spawner)]


def strike(pid: int, number: int) -> int:
    """Send a signal to the next parser that is at work below this process; which one that was."""
    struck: list[int] = []

    def is_struck() -> bool:
        struck.extend(strike_all(pid, number))
        return bool(struck)

    wait_for(is_struck, "for a parser at work")
    return struck[0]


def strike_all(pid: int, number: int) -> list[int]:
    """Send a signal to all that are at work just now."""
    struck = []
    for child in at_work(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
            struck.append(child)
    return struck


def _below(pid: int) -> list[int]:
    own = _children(pid)
    return [*own, *(one for child in own for one in _below(child))]


def _children(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                found += [int(one) for one in (task / "children").read_text().split()]
    return found


def _is_spawner(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return b"webapp.sandbox.spawner" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False
