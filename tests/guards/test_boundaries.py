"""Some things are done in one package only: settings, time, commits, vendors' clients."""

import ast
from collections.abc import Callable, Iterator

import pytest

from tests.guards.sources import Source, product_sources

# One worker of a test run reads all the sources; test_shape.py stays with it.
pytestmark = pytest.mark.xdist_group("sources")

ENVIRONMENT = {"os.environ", "os.environb", "os.getenv", "os.putenv"}
WALL_CLOCKS = {
    "datetime.now",
    "datetime.utcnow",
    "datetime.today",
    "datetime.datetime.now",
    "datetime.datetime.utcnow",
    "datetime.date.today",
    "date.today",
    "time.time",
    "time.time_ns",
}


def _dotted(node: ast.expr) -> str:
    """`a.b.c` as text; empty for anything that is not plain names."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        inner = _dotted(node.value)
        return f"{inner}.{node.attr}" if inner else ""
    return ""


def _imported(node: ast.AST) -> list[str]:
    """Full names that an import statement brings in."""
    if isinstance(node, ast.Import):
        return [name.name for name in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{node.module}.{name.name}" for name in node.names]
    return []


def environment_readers(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        reads = isinstance(node, ast.Attribute) and _dotted(node) in ENVIRONMENT
        if isinstance(node, ast.expr) and reads:
            yield source.at(node)
        if isinstance(node, ast.stmt) and ENVIRONMENT & set(_imported(node)):
            yield source.at(node)


def clock_readers(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Attribute) and _dotted(node) in WALL_CLOCKS:
            yield source.at(node)
        if isinstance(node, ast.stmt) and WALL_CLOCKS & set(_imported(node)):
            yield source.at(node)


def committers(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "commit":
            yield source.at(node)


def vendor_importers(source: Source) -> Iterator[str]:
    for node in ast.walk(source.tree):
        if isinstance(node, ast.stmt) and any(name.split(".")[0] in {"azure", "openai"} for name in _imported(node)):
            yield source.at(node)


RULES = [
    pytest.param(environment_readers, ("webapp/config/", "gunicorn.conf.py", "conftest.py"), id="environment"),
    pytest.param(clock_readers, ("webapp/clock.py",), id="clock"),
    pytest.param(committers, ("webapp/db/",), id="commit"),
    pytest.param(vendor_importers, ("webapp/providers/",), id="vendors"),
]


@pytest.mark.parametrize(("rule", "allowed"), RULES)
def test_it_is_done_in_its_package_only(rule: Callable[[Source], Iterator[str]], allowed: tuple[str, ...]) -> None:
    found = [place for source in product_sources() if not source.path.startswith(allowed) for place in rule(source)]
    assert found == []


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (environment_readers, "import os; os.environ.get('A')"),
        (environment_readers, "from os import getenv"),
        (clock_readers, "datetime.now(UTC)"),
        (clock_readers, "from time import time"),
        (committers, "session.commit()"),
        (vendor_importers, "import openai"),
        (vendor_importers, "from azure.storage.blob import BlobClient"),
    ],
)
def test_the_guard_would_notice(rule: Callable[[Source], Iterator[str]], line: str) -> None:
    assert list(rule(Source("webapp/x.py", line, ast.parse(line))))


def test_time_that_only_grows_is_free_to_all() -> None:
    line = "import time; time.monotonic(); time.perf_counter()"
    assert not list(clock_readers(Source("webapp/x.py", line, ast.parse(line))))
