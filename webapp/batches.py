"""Cutting what may be long into pieces of a size that one statement takes."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Give the items in lists of this size; the last one may be shorter."""
    rest = iter(items)
    while batch := list(islice(rest, size)):
        yield batch
