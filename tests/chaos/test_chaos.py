"""A minute of chaos, shared by both databases, with every promise checked in the end: `make chaos` is the long one."""

import subprocess
import sys

import pytest

from tests.postgres import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.journey, pytest.mark.timeout(400)]

MINUTES = "0.5"
SEED = "20"
# Blows and the way to rest; what is stuck longer than that has been told so by the run itself.
LONGEST_SECONDS = 380


@pytest.mark.parametrize("database", ["postgresql", "sqlite"])
def test_everything_holds_whatever_is_done_to_it(database: str) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--minutes", MINUTES, "--seed", SEED, "--database", database]
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
