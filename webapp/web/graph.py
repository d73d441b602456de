"""A small picture of a document among those that it is connected with: places and lines, for a template to draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.search.connections import Neighbour

WIDTH, HEIGHT = 680, 400
_RADII = (245.0, 140.0)
_LINE_WIDTHS = (1.0, 7.0)
_LABEL_CHARACTERS_MAX = 26


@dataclass(frozen=True)
class Node:
    """A document in the picture: its place, its name in short, and how thick the line to the middle is."""

    neighbour: Neighbour
    x: float
    y: float
    label: str
    width: float


def ring(found: Sequence[Neighbour]) -> list[Node]:
    """All around the middle, the most connected on top."""
    most = max((each.connections for each in found), default=1)
    return [_node(each, place / len(found), most) for place, each in enumerate(found)]


def short(name: str) -> str:
    """A name that fits below a point."""
    return name if len(name) <= _LABEL_CHARACTERS_MAX else name[: _LABEL_CHARACTERS_MAX - 1].rstrip() + "…"


def _node(found: Neighbour, turn: float, most: int) -> Node:
    angle = 2 * math.pi * turn - math.pi / 2
    thin, thick = _LINE_WIDTHS
    # Of a hundred and of a thousand connections the eye sees: many.
    share = math.log1p(found.connections) / math.log1p(most)
    return Node(
        neighbour=found,
        x=round(_RADII[0] * math.cos(angle), 1),
        y=round(_RADII[1] * math.sin(angle), 1),
        label=short(found.document.title or found.document.filename),
        width=round(thin + (thick - thin) * share, 1),
    )
