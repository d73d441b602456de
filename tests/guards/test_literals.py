"""No key occurs twice in a literal: the second one would win without a word."""

import ast
from collections import Counter

import pytest

from tests.guards.sources import Source, python_sources

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sources")]


def test_no_key_and_no_element_occurs_twice() -> None:
    assert [found for source in python_sources() for found in _repeated(source)] == []


@pytest.mark.parametrize(
    ("literal", "repeated"),
    [
        ("{'a': 1, 'a': 2}", "'a'"),
        ("{Code.LOST: 1, Code.FOUND: 2, Code.LOST: 3}", "Code.LOST"),
        ("{(1, Code.LOST): 1, (1, Code.LOST): 2}", "(1, Code.LOST)"),
        ("{'a', 'b', 'a'}", "'a'"),
        ("frozenset({1, 2, 1})", "1"),
        ("{1: 'a', **others, 1: 'b'}", "1"),
        ("{name: 1, name: 2}", "name"),
    ],
)
def test_the_guard_would_notice(literal: str, repeated: str) -> None:
    source = Source("some.py", literal, ast.parse(literal))
    assert _repeated(source) == [f"some.py:1 {repeated} occurs twice"]


@pytest.mark.parametrize("literal", ["{'a': 1, 'b': 1}", "{1: 'a', True: 'b'}", "{**a, **a}", "{next(a), next(a)}"])
def test_the_guard_leaves_others_alone(literal: str) -> None:
    assert _repeated(Source("some.py", literal, ast.parse(literal))) == []


def _repeated(source: Source) -> list[str]:
    found = []
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Dict | ast.Set):
            members = node.keys if isinstance(node, ast.Dict) else node.elts
            counts = Counter(name for member in members if member is not None and (name := _name(member)))
            found += [f"{source.at(node)} {name} occurs twice" for name, count in counts.items() if count > 1]
    return found


def _name(node: ast.expr) -> str:
    """How a value is written, if it means the same in every place; a call may not."""
    match node:
        case ast.Constant():
            return repr(node.value)
        case ast.Name():
            return node.id
        case ast.Attribute() if value := _name(node.value):
            return f"{value}.{node.attr}"
        case ast.Tuple() if node.elts and all(parts := [_name(each) for each in node.elts]):
            return f"({', '.join(parts)})"
        case ast.UnaryOp() if value := _name(node.operand):
            return f"{type(node.op).__name__} {value}"
    return ""
