"""A short run on each database, with blows that follow from a seed; `make chaos` runs longer ones."""

import os
import subprocess
import sys

import pytest

from tests.chaos.plan import POSTGRESQL, SQLITE, plan
from tests.postgres import ROOT

SEED = 20


def test_a_seed_deals_the_same_blows_again() -> None:
    first, again, other = (plan(seed, 60, POSTGRESQL) for seed in (SEED, SEED, SEED + 1))
    assert first == again
    assert first != other


@pytest.mark.parametrize("weights", [POSTGRESQL, SQLITE])
def test_a_minute_has_time_for_everything(weights: dict[str, int]) -> None:
    assert {blow.name for blow in plan(SEED, 60, weights)} == set(weights)


@pytest.mark.slow
@pytest.mark.journey
@pytest.mark.timeout(400)
@pytest.mark.parametrize(("database", "minutes"), [("postgresql", "0.6"), ("sqlite", "0.4")])
def test_no_promise_is_broken(database: str, minutes: str) -> None:
    command = [sys.executable, "-m", "tests.chaos", "--minutes", minutes, "--seed", str(SEED), "--database", database]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verdict: everything holds" in done.stdout
