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
MARK_ATTRIBUTES = {"span": {"class": {"here"}, "id": {"passage"}}}
MARK_TAGS = frozenset({"span", "mark"})


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


def mark(texts: Sequence[list[Token]], marking: Marking) -> bool:
    """Mark the passage in texts that follow each other; whether it was found."""
    placed = [
        (place, word) for tokens in texts for place in _places(tokens) for word in placed_words(place.token.content)
    ]
    run = find_run([word.word for _, word in placed], marking.passage)
    if run is None:
        return False
    marked = placed[run.start : run.end]
    for _, found in groupby(marked, key=lambda each: id(each[0])):
        of_token = list(found)
        place, words = of_token[0][0], [word for _, word in of_token]
        is_first, is_last = of_token[0] is marked[0], of_token[-1] is marked[-1]
        # Spaces between two pieces of the passage belong to it.
        start = words[0].start if is_first else 0
        end = words[-1].end if is_last else len(place.token.content)
        place.replace(_marked(place.token.content, (start, end), words, marking.looked_for, is_first=is_first))
    return True


def _places(tokens: list[Token]) -> Iterator[_Place]:
    for index, token in enumerate(tokens):
        if token.type == "inline" and token.children is not None:
            yield from _places(token.children)
        elif token.type in {"text", "code_inline", "fence", "code_block"}:
            yield _Place(tokens, index)


def _marked(
    text: str, span: tuple[int, int], words: Sequence[WordAt], looked_for: Sequence[str], *, is_first: bool
) -> str:
    """A text as HTML, with a span of it marked as the passage."""
    start, end = span
    if text[end:].strip() and not any(map(str.isalnum, text[end:])):
        # The full stop belongs to the sentence.
        end = len(text)
    pieces, at = [], start
    for word in words:
        if _is_looked_for(text[word.start : word.end], looked_for):
            pieces += [str(escape(text[at : word.start])), f"<mark>{escape(text[word.start : word.end])}</mark>"]
            at = word.end
    pieces.append(str(escape(text[at:end])))
    opening = '<span class="here" id="passage">' if is_first else '<span class="here">'
    return f"{escape(text[:start])}{opening}{''.join(pieces)}</span>{escape(text[end:])}"


def _is_looked_for(word: str, looked_for: Sequence[str]) -> bool:
    return any(part.is_match for part in snippet(word, looked_for))
