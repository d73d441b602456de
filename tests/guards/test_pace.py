"""The list of what is too slow for `make quick` names tests that exist: a new name would make one fast again."""

from tests.guards.sources import ROOT
from tests.pace import function_of, known_slow


def test_each_slow_test_is_there() -> None:
    gone = [name for name in sorted(known_slow()) if not _is_there(name)]
    assert gone == [], "run make pace, or take these lines out of tests/slow.txt"


def _is_there(name: str) -> bool:
    path, *_, function = name.split("::")
    return (ROOT / path).is_file() and f"def {function}(" in (ROOT / path).read_text(encoding="utf-8")


def test_a_test_is_known_whatever_its_parameters_and_its_group() -> None:
    for end in ("", "[sqlite-a::b@c]", "@azurite", "[postgresql]@sources"):
        assert function_of(f"tests/x.py::TestThis::test_that{end}") == "tests/x.py::TestThis::test_that"
