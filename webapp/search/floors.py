"""How near a passage must come to a question to answer it by its meaning alone.

Something is always nearest, also to nonsense. `python -m bench.floors` prints what nonsense, unrelated questions and
right answers reach. A model that is not listed here was not measured: whatever is nearest counts.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Floor:
    """The least cosines that count.

    Random strings come nearer to texts than unrelated questions do, but none of their words is in the library. So a
    question of which no passage has any word must be answered more clearly.
    """

    with_known_words: float
    without: float


FLOORS = {"minilm-l6-v2-int8": Floor(0.35, 0.5)}
_NONE = Floor(-1.0, -1.0)


def floor_of(model: str, *, has_known_words: bool) -> float:
    """The cosine that a passage must reach; `has_known_words` where some passage has a word of the question."""
    floor = FLOORS.get(model, _NONE)
    return floor.with_known_words if has_known_words else floor.without
