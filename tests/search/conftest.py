"""A searcher on each database."""

from pathlib import Path

import pytest
from flask import Flask

from tests.search.passages import Searcher, new_org


@pytest.fixture
def searcher(bare_app: Flask, tmp_path: Path) -> Searcher:
    return Searcher(new_org(), tmp_path / "index")


only_sqlite = pytest.mark.parametrize("database", ["sqlite"], indirect=True)
only_postgresql = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
