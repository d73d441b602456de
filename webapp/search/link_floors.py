"""How near two passages must be to be connected, for each embedding model.

`python -m bench.links` prints how many passages of unrelated texts would be connected at which cosine: of 100 passages
at most one may be. A model that is not listed here was not measured.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class LinkFloor:
    """The least cosines: of passages that speak of the same, and of passages that are the same text."""

    similar: float
    same_text: float


LINK_FLOORS = {"minilm-l6-v2-int8": LinkFloor(0.68, 0.97), "multilingual-e5-small-int8": LinkFloor(0.9, 0.985)}
_UNMEASURED = LinkFloor(0.55, 0.97)


def link_floor_of(model: str) -> LinkFloor:
    """The cosines that passages with vectors of this model must reach."""
    return LINK_FLOORS.get(model, _UNMEASURED)
