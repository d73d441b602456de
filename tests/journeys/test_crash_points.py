"""Some of the points at which a process can die; `python -m tests.crash_points` tries many more."""

import pytest

from tests.conftest import DatabaseUnderTest
from tests.crash_points import STEPS, run, world

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]


def test_nothing_is_lost_doubled_or_paid_for_again(database: DatabaseUnderTest) -> None:
    with world({"DATABASE_URL": database.url, "DATABASE_OWNER_URL": database.owner_url}) as made:
        tallies = run(made, points=4, seed=7)
        assert {step: tally.wrong for step, tally in tallies.items()} == {step: [] for step in STEPS}
        assert all(tally.deaths >= tally.points for tally in tallies.values())
        assert made.violations() == 0
