"""What CI repeats after a failure: few tests, and what fails again stays a failure."""

import json
from pathlib import Path

import pytest

from tests import again

ONCE = """
from pathlib import Path

def test_of_the_clock():
    there = Path("seen").exists()
    Path("seen").touch()
    assert there

def test_of_a_fault():
    assert False
"""


@pytest.fixture
def failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_it.py").write_text(ONCE)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "seen").touch()
    found = tmp_path / ".pytest_cache/v/cache/lastfailed"
    found.parent.mkdir(parents=True)
    return found


@pytest.mark.parametrize(
    ("names", "status"),
    [
        (["test_it.py::test_of_the_clock"], 0),
        (["test_it.py::test_of_the_clock@browser"], 0),
        (["test_it.py::test_of_the_clock", "test_it.py::test_of_a_fault"], 1),
        ([f"test_it.py::test_of_the_clock[{number}]" for number in range(again.MOST + 1)], 1),
        ([], 1),
    ],
    ids=["passes", "of a group", "a fault", "too many", "none"],
)
def test_only_what_passes_alone_is_forgiven(failed: Path, names: list[str], status: int) -> None:
    failed.write_text(json.dumps(dict.fromkeys(names, True)))
    assert again.main() == status


def test_without_tests_nothing_is_forgiven(failed: Path) -> None:
    assert again.main() == 1
