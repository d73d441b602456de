"""Notes of a conversation by rules, on this machine: sentences are picked out, none is written.

The summary is made of the sentences that share most words with the rest; topics are the terms
that come up again and again. Action items, questions and promises are recognised by how such
sentences are made, in English; in other languages, questions alone are, by their mark.
"""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import islice, pairwise

import numpy as np

from webapp.providers.speech_ports import Analysis, Point, Segment
from webapp.providers.speech_text import cleaned_analysis
from webapp.readers.small_words import SMALL_WORDS

# Part of the cache's key: count it up when the same words would give another result.
RULES = "2"
SUMMARY_SENTENCES = 4
SUMMARY_SHARE = 0.3
TOPICS = 8
POINTS_MAX = 30
SENTENCE_WORDS_MIN = 4
# Power iterations over a matrix of sentences: more than this is more than a summary needs.
SENTENCES_MAX = 1_500
DAMPING, ROUNDS = 0.85, 30

_WORD = re.compile(r"[^\W\d_](?:[\w'\u2019-]*\w)?")
_SPOKEN = """
a about after all also am any because been but can could did do does don't get getting going gonna got had has he her
here him his how i i'll i'm i've if into it's its just know let let's like me more my no now oh ok okay one our out
really right said say she so some than that's them then there there's these they thing things think this time to up us
very want was we we'll we're well were what what's when where who why will would yeah yes you're your
afternoon evening everybody everyone good hello morning please remember somebody someone thank thanks today tomorrow
"""
_SMALL = frozenset((" ".join(SMALL_WORDS.values()) + _SPOKEN).split())
_QUESTION = re.compile(
    r"(?i)^(?:who|what|when|where|why|how|which|can|could|shall|should|would|will|do|does|did|is|are|has|have)\b"
)
_PROMISE = re.compile(
    r"(?i)\b(?:i|we)(?:\s+(?:will|shall|promise|guarantee|commit)|['\u2019]ll|\s+am going to|['\u2019]m going to)\b"
    r"|\b(?:you have my word|count on (?:me|us)|leave (?:it|that) (?:to|with) (?:me|us))\b"
)
_ACTION = re.compile(
    r"(?i)^(?:please|let['\u2019]s|make sure|remember to|don['\u2019]t forget)\b"
    r"|\b(?:please (?!note)\w+|(?:you|he|she|they|we|i|somebody|someone) (?:need|needs|have|has|ought|got) to"
    r"|(?:you|he|she|they|we|somebody|someone) (?:must|should)|make sure|don['\u2019]t forget|remember to"
    r"|action item|to-do|todo|follow up|by (?:monday|tuesday|wednesday|thursday|friday|saturday|sunday|tomorrow|tonight"
    r"|next week|the end of))\b"
)


class LocalAnalyst:
    """An Analyst that picks out."""

    name = "local"
    version = RULES

    def options_key(self) -> str:
        """There is nothing to choose."""
        return "rules"

    def check(self) -> None:
        """It is always ready."""

    def analyze(self, segments: Sequence[Segment], *, timeout_seconds: float) -> Analysis:
        """Read what was said; the work is bounded by the number of sentences."""
        texts = [segment.text for segment in segments]
        words = [_content_words(text) for text in texts]
        found = Analysis(
            analyst=self.name,
            version=self.version,
            summary=" ".join(texts[index] for index in _central(texts, words)),
            topics=tuple(_topics(texts, words)),
            action_items=_points(texts, lambda text: bool(_ACTION.search(text)) and not _is_question(text)),
            questions=_points(texts, _is_question),
            promises=_points(texts, _is_promise),
        )
        return cleaned_analysis(found, len(texts))


def _content_words(text: str) -> list[str]:
    words = (word.lower() for word in _WORD.findall(text))
    return [word for word in words if len(word) > 2 and word not in _SMALL]


def _central(texts: Sequence[str], words: Sequence[list[str]]) -> list[int]:
    """The sentences that are nearest to all others, in the order in which they were said."""
    long = [index for index, text in enumerate(texts) if len(text.split()) >= SENTENCE_WORDS_MIN and words[index]]
    candidates = [index for index in long if not _is_question(texts[index])] or long or list(range(min(1, len(texts))))
    step = -(-len(candidates) // SENTENCES_MAX) or 1
    candidates = candidates[::step]
    count = max(1, min(SUMMARY_SENTENCES, round(len(texts) * SUMMARY_SHARE)))
    ranks = _ranks([words[index] for index in candidates])
    best = sorted(range(len(candidates)), key=lambda place: (-ranks[place], place))
    chosen: list[int] = []
    for place in best:
        if not any(set(words[candidates[place]]) == set(words[other]) for other in chosen):
            chosen.append(candidates[place])
        if len(chosen) == count:
            break
    return sorted(chosen)


def _ranks(sentences: Sequence[list[str]]) -> list[float]:
    """PageRank over sentences that share words; rare words tie closer."""
    if not sentences:
        return []
    within = Counter(word for sentence in sentences for word in set(sentence))
    places = {word: place for place, word in enumerate(within)}
    weights = np.zeros((len(sentences), max(1, len(places))), np.float32)
    for row, sentence in enumerate(sentences):
        for word, times in Counter(sentence).items():
            weights[row, places[word]] = times * np.log(1 + len(sentences) / within[word])
    weights /= np.maximum(np.linalg.norm(weights, axis=1, keepdims=True), 1e-9)
    near = weights @ weights.T
    np.fill_diagonal(near, 0)
    near /= np.maximum(near.sum(axis=1, keepdims=True), 1e-9)
    rank = np.full(len(sentences), 1 / len(sentences))
    for _ in range(ROUNDS):
        rank = (1 - DAMPING) / len(sentences) + DAMPING * (near.T @ rank)
    return [float(value) for value in rank]


def _topics(texts: Sequence[str], words: Sequence[list[str]]) -> list[str]:
    """Pairs and single words that come up more than once; of a pair its words are not named again."""
    singles = Counter(word for sentence in words for word in sentence)
    pairs: Counter[str] = Counter()
    for text in texts:
        tokens = [word.lower() for word in _WORD.findall(text)]
        for one, other in pairwise(tokens):
            if one in singles and other in singles and one != other:
                pairs[f"{one} {other}"] += 1
    found = [pair for pair, times in pairs.most_common(TOPICS) if times > 1]
    taken = {word for pair in found for word in pair.split()}
    rest = [word for word, times in singles.most_common() if word not in taken and (times > 1 or len(texts) < 30)]
    ordered = sorted(rest, key=lambda word: (-singles[word], -len(word)))
    return (found + ordered)[:TOPICS]


def _points(texts: Sequence[str], is_one: Callable[[str], bool]) -> tuple[Point, ...]:
    found = (Point(text, index) for index, text in enumerate(texts) if len(text.split()) > 2 and is_one(text))
    return tuple(islice(found, POINTS_MAX))


def _is_question(text: str) -> bool:
    end = text.rstrip("\"'\u201d\u00bb) ")
    if end.endswith(("?", "\uff1f", "\u061f")):
        return True
    # A recogniser that writes no marks.
    return not end.endswith((".", "!", ",")) and bool(_QUESTION.match(text))


def _is_promise(text: str) -> bool:
    return bool(_PROMISE.search(text)) and not _is_question(text)
