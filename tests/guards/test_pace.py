"""What is too slow for `make quick`: tests that exist, and not so many that little is left of a package."""

import re
from collections import Counter
from pathlib import Path

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


def test_enough_tests_of_each_package_are_fast() -> None:
    """A list that was measured on a busy machine would leave `make quick` with little to say."""
    slow = Counter(Path(name.split("::")[0]).parts[1] for name in known_slow())
    packages = [path.parent.name for path in (ROOT / "webapp").glob("*/__init__.py")]
    packages = [name for name in packages if (ROOT / "tests" / name).is_dir()]
    assert len(packages) >= 8
    shares = {name: slow[name] / _number_of_tests(ROOT / "tests" / name) for name in [*packages, "contracts", "guards"]}
    assert {name: share for name, share in shares.items() if share > 2 / 3} == {}


def _number_of_tests(folder: Path) -> int:
    return sum(len(re.findall(r"^ *def test_", path.read_text(), re.MULTILINE)) for path in folder.rglob("test_*.py"))
