"""A program of its own that uses a sandbox: to be killed, or to fork, as the tests need it."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from webapp.sandbox.sandbox import Sandbox

JOBS = "tests.sandbox.jobs"


def identity(sandbox: Sandbox) -> tuple[int, int]:
    child = sandbox.run(f"{JOBS}:identity", {}, timeout_seconds=20)
    assert isinstance(child, dict)
    return int(child["parent"]), int(child["pid"])


def say(*numbers: int) -> None:
    sys.stdout.write(" ".join(map(str, numbers)) + "\n")
    sys.stdout.flush()


def die(sandbox: Sandbox) -> None:
    """Print who works for us while a job hangs, and wait to be killed."""
    spawner, _ = identity(sandbox)
    sandbox.run(f"{JOBS}:hold_and_tell", {}, timeout_seconds=60, progress=lambda pid: tell(spawner, pid))


def tell(spawner: int, coded_pid: float) -> None:
    say(spawner, round(coded_pid * (1 << 32)))


def fork(sandbox: Sandbox) -> None:
    before, _ = identity(sandbox)
    say(before)
    pid = os.fork()
    if pid == 0:
        say(identity(sandbox)[0])
        sandbox.close()
        os._exit(0)
    os.waitpid(pid, 0)
    say(identity(sandbox)[0])
    sandbox.close()


if __name__ == "__main__":
    {"die": die, "fork": fork}[sys.argv[1]](Sandbox((JOBS,)))
