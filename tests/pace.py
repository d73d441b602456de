"""Which tests are too slow for `make quick`: by measure, not by opinion.

A test that takes long by nature is marked `slow` in its own file. The others are measured now and
then: `make pace` runs them all and writes the names of those that took more than their share into
tests/slow.txt, and all that it names is marked `slow`, too.
"""

import statistics
from collections import defaultdict
from pathlib import Path

import pytest

LIST = Path(__file__).with_name("slow.txt")
SECONDS = 0.04
# A longer setup has started something that all the tests of a worker share.
SETUP_SECONDS_MAX = 0.4
_HEAD = f"# Tests that took more than {SECONDS:g} s, by the median of their parameters: see tests/pace.py.\n"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Only for `make pace`."""
    parser.addoption("--measure-pace", action="store_true", help="write tests/slow.txt anew")


def pytest_configure(config: pytest.Config) -> None:
    """The process that hears of all tests measures."""
    if config.getoption("--measure-pace") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Stopwatch(), "stopwatch")


def mark_slow(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what the list names; but not while it is being made."""
    if config.getoption("--measure-pace"):
        return
    listed = known_slow()
    for item in items:
        if function_of(item.nodeid) in listed:
            item.add_marker(pytest.mark.slow)


def known_slow() -> set[str]:
    """The list."""
    return {line for line in LIST.read_text(encoding="utf-8").splitlines() if not line.startswith("#")}


def function_of(nodeid: str) -> str:
    """A test's name without its parameters and without the group that it belongs to."""
    path, _, name = nodeid.partition("::")
    return f"{path}::{name.partition('[')[0].partition('@')[0]}"


class Stopwatch:
    """Adds up what each test took, and writes the list."""

    def __init__(self) -> None:
        self._seconds: dict[str, float] = defaultdict(float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setup, call and teardown of a test; the parts of a test that has several are in its call."""
        if type(report) is pytest.TestReport and not (report.when == "setup" and report.duration > SETUP_SECONDS_MAX):
            self._seconds[report.nodeid] += report.duration

    def pytest_sessionfinish(self) -> None:
        """All tests have run."""
        functions: dict[str, list[float]] = defaultdict(list)
        for nodeid, seconds in self._seconds.items():
            functions[function_of(nodeid)].append(seconds)
        slow = sorted(name for name, seconds in functions.items() if statistics.median(seconds) > SECONDS)
        LIST.write_text(_HEAD + "".join(f"{name}\n" for name in slow), encoding="utf-8")
