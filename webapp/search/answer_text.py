"""Checks what a chat model answers, line by line: each sentence names its sources, and they hold its numbers."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from webapp.readers.cleaning import clean_line

SENTENCE_CHARACTERS_MAX = 600
LINE_CHARACTERS_MAX = 2 * SENTENCE_CHARACTERS_MAX
SENTENCES_MAX = 12
# At the end of a line, before or behind its full stop: one or more numbers in square brackets.
_MARKS = re.compile(r"(?:\s?\[\d{1,3}(?:, ?\d{1,3}){0,5}\]){1,6}([.!?]?)$")
_BULLET = re.compile(r"(?:[-*\u2022]|\d{1,2}[.)]) ")
_NUMBER = re.compile(r"\d+(?:[.,'\u00a0\u202f]\d+)*")


@dataclass(frozen=True)
class AnswerSentence:
    """A sentence of an answer, and the numbers of the passages that it comes from, counted from 1."""

    text: str
    sources: tuple[int, ...]


def lines_of(pieces: Iterable[str]) -> Iterator[str]:
    """The lines of a text that comes in pieces, each as soon as it is whole."""
    rest = ""
    for piece in pieces:
        *whole, rest = (rest + piece).split("\n")
        yield from whole
    yield rest


def sentence_of(line: str, passages: Sequence[str]) -> AnswerSentence | None:
    """The sentence of a line; None where it names no source, or no source holds one of its numbers."""
    line = " ".join(line[:LINE_CHARACTERS_MAX].split())
    marks = _MARKS.search(line)
    if marks is None:
        return None
    text = _BULLET.sub("", line[: marks.start()], count=1).strip()
    text += "" if text.endswith((".", "!", "?")) else marks[1]
    sources = tuple(dict.fromkeys(int(number) for number in re.findall(r"\d+", marks[0])))
    text = clean_line(text, LINE_CHARACTERS_MAX) or ""
    if not text or len(text) > SENTENCE_CHARACTERS_MAX or not all(1 <= each <= len(passages) for each in sources):
        return None
    known = {digits for each in sources for number in _NUMBER.findall(passages[each - 1]) for digits in _forms(number)}
    return AnswerSentence(text, sources) if all(_is_known(each, known) for each in _NUMBER.findall(text)) else None


def _forms(number: str) -> set[str]:
    """A number's digits as one, however they are grouped, and in parts, as those of a date."""
    return {_plain(re.sub(r"\D", "", number)), *map(_plain, re.findall(r"\d+", number))}


def _is_known(number: str, known: set[str]) -> bool:
    return _plain(re.sub(r"\D", "", number)) in known or set(map(_plain, re.findall(r"\d+", number))) <= known


def _plain(digits: str) -> str:
    return digits.lstrip("0") or "0"
