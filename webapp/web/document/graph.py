"""A small picture of a document among those that it is connected with: places and lines, for a template to draw."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.search.connections import Neighbour

WIDTH = 680
# Above and below the outermost points there is space for their names.
_MARGIN = 50
_RADII = (245.0, 140.0)
_LINE_WIDTHS = (1.0, 7.0)
_LABEL_CHARACTERS_MAX = 26
_LABEL_BELOW, _LABEL_ABOVE = 27, -16
# Nearer to the middle than this a name is centred on its point.
_SIDE = 60


@dataclass(frozen=True)
class Node:
    """A document in the picture: its place, its name in short, and how thick the line to the middle is."""

    neighbour: Neighbour
    x: float
    y: float
    label: str
    label_y: float
    side: str
    """Where on a narrow page the name is anchored, so that it grows towards the middle."""
    width: float


def circle(found: Sequence[Neighbour]) -> list[Node]:
    """All around the middle, the most connected on top. None right below it: there is its own name."""
    most = max((each.connections for each in found), default=1)
    aside = 0.0 if len(found) % 2 else 0.5
    return [_node(each, (place + aside) / len(found), most) for place, each in enumerate(found)]


def frame(nodes: Sequence[Node]) -> tuple[float, float, float, float]:
    """Left, top, width and height of the picture: no higher than what is in it."""
    top = min((node.y for node in nodes), default=0.0) - _MARGIN
    bottom = max((node.y for node in nodes), default=0.0)
    return (-WIDTH / 2, top, WIDTH, max(0.0, bottom) + _MARGIN - top)


def short(name: str) -> str:
    """A name that fits beside a point. It is cut in the middle, since what tells volumes apart is at the end."""
    if len(name) <= _LABEL_CHARACTERS_MAX:
        return name
    head = _LABEL_CHARACTERS_MAX // 2 + 1
    return f"{name[:head].rstrip()}…{name[head + 1 - _LABEL_CHARACTERS_MAX :].lstrip()}"


def _node(found: Neighbour, turn: float, most: int) -> Node:
    angle = 2 * math.pi * turn - math.pi / 2
    thin, thick = _LINE_WIDTHS
    # Of a hundred and of a thousand connections the eye sees: many.
    share = math.log1p(found.connections) / math.log1p(most)
    x, y = round(_RADII[0] * math.cos(angle), 1), round(_RADII[1] * math.sin(angle), 1)
    return Node(
        neighbour=found,
        x=x,
        y=y,
        # Away from the line to the middle.
        label_y=y + (_LABEL_ABOVE if y < 1 else _LABEL_BELOW),
        side="end" if x > _SIDE else "start" if x < -_SIDE else "middle",
        label=short(found.document.chosen_title or found.document.filename),
        width=round(thin + (thick - thin) * share, 1),
    )
