"""A letterbox on the database under test."""

import pytest
from flask import Flask

from tests.jobs.letterbox import SqlLetterbox


@pytest.fixture
def letterbox(bare_app: Flask) -> SqlLetterbox:
    return SqlLetterbox(bare_app)
