"""Tests that belong together stay with one worker of `pytest -n`."""

import pytest

pytestmark = pytest.mark.xdist_group("sources")


def test_a_group_reaches_the_scheduler(request: pytest.FixtureRequest, worker_id: str) -> None:
    assert worker_id == "master" or request.node.nodeid.endswith("@sources")
