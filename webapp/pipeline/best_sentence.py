"""The one sentence that answers a question, where that is clear: copied from the first hits, never made up.

`python -m bench.best_sentence` prints how often a sentence is shown, and how often it is of the right text; the figures
below were chosen by it.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from webapp.pipeline.markdown import heading_in, plain
from webapp.search.query import Hit
from webapp.search.snippet import SnippetPart, snippet

# A question of a word or two asks for passages, not for a sentence.
QUESTION_WORDS_MIN = 3
WORDS_SHARE_MIN = 0.5
# Where another document has nearly as good a sentence, it is not clear which of them answers.
LEAD_MIN = 0.2
RIVALS_READ = 4
SENTENCE_WORDS = (5, 45)
# A sentence that says no more than the question is its heading, or the question itself.
NEW_WORDS_MIN = 3
# The wide full stop of Chinese and Japanese has no space behind it.
_END = re.compile(r"(?<=[.!?\u2026])[\"'\u201d\u2019\u00bb)]*\s+|(?<=\u3002)")
_SENTENCE_ENDS = tuple(
    f"{stop}{closing}" for stop in ".!\u2026\u3002" for closing in ("", '"', "\u201d", ")", "\u00bb")
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class BestSentence:
    """A sentence of a hit, with the words of the question set apart."""

    hit: Hit
    parts: Sequence[SnippetPart]


def best_sentence(
    hits: Sequence[Hit], words: Sequence[str], share_min: float = WORDS_SHARE_MIN, lead_min: float = LEAD_MIN
) -> BestSentence | None:
    """The sentence of the first hit that has most words of the question, if no other document comes near it."""
    if not hits or len(words) < QUESTION_WORDS_MIN:
        return None
    first, rivals = hits[0], hits[1 : 1 + RIVALS_READ]
    share, sentence = _best(first, words)
    if share < share_min:
        return None
    others = [_best(hit, words)[0] for hit in rivals if hit.document_id != first.document_id]
    if share - max(others, default=0.0) < lead_min:
        return None
    return BestSentence(first, tuple(snippet(sentence, words)))


def _best(hit: Hit, words: Sequence[str]) -> tuple[float, str]:
    """The sentence of a hit with most of these words; of equals the shortest."""
    rated = [(_share(sentence, words), sentence) for sentence in _sentences(hit.text)]
    return max(rated, key=lambda each: (each[0], -len(each[1])), default=(0.0, ""))


def _sentences(passage: str) -> Iterator[str]:
    """The sentences that could be shown alone."""
    for block in re.split(r"\n\s*\n", passage):
        lines = [line for line in block.splitlines() if heading_in(line) is None and "|" not in line]
        for sentence in _END.split(plain("\n".join(lines))):
            is_long_enough = SENTENCE_WORDS[0] <= len(_WORD.findall(sentence)) <= SENTENCE_WORDS[1]
            if is_long_enough and sentence.rstrip().endswith(_SENTENCE_ENDS):
                yield sentence.strip()


def _share(sentence: str, words: Sequence[str]) -> float:
    """The share of the question's words that it has; 0 where it says hardly anything else."""
    held = sum(any(part.is_match for part in snippet(sentence, [word])) for word in words)
    if len(_WORD.findall(sentence)) < held + NEW_WORDS_MIN:
        return 0.0
    return held / len(words)
