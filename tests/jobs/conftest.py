"""A rig on the database under test."""

import pytest
from flask import Flask

from tests.jobs.rig import SqlQueueRig


@pytest.fixture
def rig(bare_app: Flask) -> SqlQueueRig:
    return SqlQueueRig(bare_app)
