"""How near passages must come to a question, for each embedding model.

Something is always nearest, also to nonsense. `python -m bench.floors` prints what nonsense, unrelated questions and
right answers reach. A model that is not listed here was not measured: whatever is nearest to a question counts.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Floor:
    """The least cosines that count, and how far below the best one.

    Random strings come nearer to texts than unrelated questions do, but none of their words is in the library. So a
    question of which no passage has any word must be answered more clearly.
    """

    with_known_words: float
    without: float
    below_best: float = 2.0


# With multilingual-e5-small an answer in another language is no nearer than random strings come, so there the model's
# tokens tell what is no text (`Embedder.knows_words_of`). Of 100 right answers 99 are within .04 of the nearest
# passage. So are 6 of 551 passages in the median, and some 30 where question and answer are in different languages.
FLOORS = {"minilm-l6-v2-int8": Floor(0.35, 0.5), "multilingual-e5-small-int8": Floor(0.77, 0.77, below_best=0.04)}
_NONE = Floor(-1.0, -1.0)


def floor_of(model: str, best: float, *, has_known_words: bool) -> float:
    """The cosine that a passage must reach where `best` is the highest one.

    `has_known_words` where some passage has a word of the question.
    """
    floor = FLOORS.get(model, _NONE)
    return max(best - floor.below_best, floor.with_known_words if has_known_words else floor.without)
