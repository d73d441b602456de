"""Chaos for a moment, on both databases and BullMQ: every promise holds in the end. `make chaos` is the long one."""

import subprocess
import sys

import pytest

from tests.postgres import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(400)]

MINUTES = "0.2"
SEED = "20"
# Faults and the way to rest; what is stuck longer than that has been told so by the run itself.
LONGEST_SECONDS = 380


@pytest.mark.parametrize(
    ("database", "queue"),
    [("postgresql", "database"), pytest.param("postgresql", "bullmq", marks=pytest.mark.redis), ("sqlite", "database")],
)
def test_everything_holds_whatever_is_done_to_it(database: str, queue: str) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--minutes", MINUTES, "--seed", SEED, "--database", database]
    command += ["--queue", queue]
    done = subprocess.run(
        command,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 0, done.stdout
    assert "verdict: everything holds" in done.stdout
