"""One name, one class: two classes of one name send a reader to the wrong one."""

import ast
from collections import defaultdict

import pytest

from tests.guards.sources import product_sources

# One worker of a test run reads all the sources; test_shape.py stays with it.
pytestmark = pytest.mark.xdist_group("sources")


def test_no_public_class_name_occurs_twice() -> None:
    homes = defaultdict(list)
    for source in product_sources():
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(source.at(node))
    assert {name: found for name, found in homes.items() if len(found) > 1} == {}
