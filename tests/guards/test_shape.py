"""Nothing outgrows the reader: modules of at most 400 lines, functions of at most 50."""

import ast

import pytest

from tests.guards.sources import Source, python_sources

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("sources")]

MODULE_LINES_MAX = 400
FUNCTION_LINES_MAX = 50


def test_no_module_is_longer_than_a_reader_likes() -> None:
    long = [
        f"{source.path}: {lines} lines"
        for source in python_sources()
        if (lines := source.text.count("\n")) > MODULE_LINES_MAX
    ]
    assert long == []


def test_no_function_is_longer_than_a_screen() -> None:
    long = [
        f"{source.at(function)} {function.name}: {lines} lines"
        for source in python_sources()
        for function in _functions(source)
        if (lines := _lines(function)) > FUNCTION_LINES_MAX
    ]
    assert long == []


def _functions(source: Source) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    return [node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]


def _lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1
