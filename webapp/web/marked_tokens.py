"""Marks a passage in the tokens of Markdown before they become HTML, and in it the words that were looked for.

A passage is found by its words, not by its place in the file: pages are rendered one by one, and in parts.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from markdown_it.token import Token
from markupsafe import escape

from webapp.search.places import WordAt, find_run, placed_words
from webapp.search.snippet import snippet

# What the page's own marks may look like: all other attributes are removed from a text.
MARK_ATTRIBUTES = {"span": {"class": {"here"}, "id": {"passage"}}, "mark": {"id": {"passage"}}}
MARK_TAGS = frozenset({"span", "mark"})
# Matches within so many words are seen together.
WORDS_NEAR = 30


@dataclass(frozen=True)
class Marking:
    """The words of a passage, and the words in it that were looked for."""

    passage: Sequence[str]
    looked_for: Sequence[str] = ()


@dataclass(slots=True)
class _Place:
    """A token of text in the list that holds it."""

    tokens: list[Token]
    index: int
    token: Token = field(init=False)

    def __post_init__(self) -> None:
        self.token = self.tokens[self.index]

    def replace(self, html: str) -> None:
        """Put this instead; it is escaped already, and cleaned later like all else."""
        if self.token.type == "code_inline":
            html = f"<code>{html}</code>"
        elif self.token.type in {"fence", "code_block"}:
            html = f"<pre><code>{html}</code></pre>\n"
        kind = "html_block" if self.token.block and self.token.type != "text" else "html_inline"
        self.tokens[self.index] = Token(kind, "", 0, content=html)


@dataclass(frozen=True, slots=True)
class _MarkedWord:
    """A word of the passage in its token; `is_target` where the page is to be scrolled to it."""

    place: _Place
    at: WordAt
    is_match: bool
    is_target: bool


def mark(texts: Sequence[list[Token]], marking: Marking) -> bool:
    """Mark the passage in texts that follow each other; whether it was found."""
    placed = [
        (place, word) for tokens in texts for place in _places(tokens) for word in placed_words(place.token.content)
    ]
    run = find_run([word.word for _, word in placed], marking.passage)
    if run is None:
        return False
    words = _words(placed[run.start : run.end], marking.looked_for)
    for _, found in groupby(words, key=lambda each: id(each.place)):
        of_token = list(found)
        content = of_token[0].place.token.content
        # Spaces between two pieces of the passage belong to it.
        start = of_token[0].at.start if of_token[0] is words[0] else 0
        end = of_token[-1].at.end if of_token[-1] is words[-1] else len(content)
        of_token[0].place.replace(_marked(content, start, end, of_token))
    return True


def _words(placed: Sequence[tuple[_Place, WordAt]], looked_for: Sequence[str]) -> list[_MarkedWord]:
    matches = [_is_looked_for(place.token.content[word.start : word.end], looked_for) for place, word in placed]
    target = _target([number for number, is_match in enumerate(matches) if is_match])
    return [
        _MarkedWord(place, word, is_match, number == target)
        for number, ((place, word), is_match) in enumerate(zip(placed, matches, strict=True))
    ]


def _target(matches: Sequence[int]) -> int:
    """The first of the matches that are nearest to each other; the first word where there are none."""
    return max(matches, key=lambda first: sum(first <= each < first + WORDS_NEAR for each in matches), default=0)


def _places(tokens: list[Token]) -> Iterator[_Place]:
    for index, token in enumerate(tokens):
        if token.type == "inline" and token.children is not None:
            yield from _places(token.children)
        elif token.type in {"text", "code_inline", "fence", "code_block"}:
            yield _Place(tokens, index)


def _marked(text: str, start: int, end: int, words: Sequence[_MarkedWord]) -> str:
    """A text as HTML, with a span of it marked as the passage."""
    if text[end:].strip() and not any(map(str.isalnum, text[end:])):
        # The full stop belongs to the sentence.
        end = len(text)
    pieces, at = [], start
    for word in words:
        if word.is_match:
            opening = '<mark id="passage">' if word.is_target else "<mark>"
            pieces += [escape(text[at : word.at.start]), opening, escape(text[word.at.start : word.at.end]), "</mark>"]
            at = word.at.end
    pieces.append(escape(text[at:end]))
    is_target = any(word.is_target and not word.is_match for word in words)
    opening = '<span class="here" id="passage">' if is_target else '<span class="here">'
    return f"{escape(text[:start])}{opening}{''.join(pieces)}</span>{escape(text[end:])}"


def _is_looked_for(word: str, looked_for: Sequence[str]) -> bool:
    return any(part.is_match for part in snippet(word, looked_for))
