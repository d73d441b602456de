"""Nothing outgrows the reader: modules of at most 400 lines, functions of at most 50."""

import pytest

from tests import shape
from tests.guards.sources import functions, lines_of, python_sources

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
        for function in functions(source)
        if (lines := lines_of(function)) > FUNCTION_LINES_MAX
    ]
    assert long == []


def test_each_figure_of_the_shape_can_be_counted() -> None:
    """An empty one means that what `make shape` looks for was moved or renamed."""
    assert [name for name, words in shape.figures() if not words] == []
