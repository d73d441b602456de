"""Document Intelligence's Markdown -> ours: tables with bars, no comments of its own, no marks but ours."""

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from webapp.readers.page_markdown import without_marks

# Headers and footers are in comments. Their text stays, since it may be nowhere else. A comment's beginning and
# its end are looked for apart, in one walk: a pattern for the whole would read on to the line's end from each of them.
_SAID = re.compile(r'(?P<begin><!--\s*+Page(?:Header|Footer)=")|(?P<end>"\s*+-->)|\n')
_NUMBER = re.compile(r"(?P<begin><!--\s*+PageNumber=)|(?P<end>(?:\n\s*+)?+-->)|\n\s*+")
_UNSAID = re.compile(r"<!--\s*+Page(?:Break|Header|Footer)\s*+-->")
_TAGS = re.compile(r"</?(?:figure|figcaption|table|caption|thead|tbody|tr|th|td)\b[^<>]{0,200}>", re.IGNORECASE)
_MANY_BLANKS = re.compile(r"\n[ \t]*(?:\n[ \t]*)+\n")


@dataclass(frozen=True, slots=True)
class Edit:
    """A piece of the content, and what takes its place."""

    start: int
    end: int
    text: str


def page_markdown(content: str, start: int, end: int, edits: Sequence[Edit]) -> str:
    """Give one page's Markdown: the content from start to end, with the edits that begin in it."""
    parts, place = [], start
    for edit in sorted(edits, key=lambda edit: edit.start):
        if place <= edit.start < end:
            parts += [_tidy(content[place : edit.start]), f"\n\n{without_marks(edit.text)}\n\n"]
            place = edit.end
    parts.append(_tidy(content[place:end]))
    return _MANY_BLANKS.sub("\n\n", "".join(parts)).strip()


def pipe_table(rows: Sequence[Sequence[str]]) -> str:
    """Write a table as Markdown does; its first row is the heading."""
    first, *others = (f"| {' | '.join(_cell(cell) for cell in row)} |" for row in rows)
    return "\n".join([first, f"|{' --- |' * len(rows[0])}", *others])


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("\\", "\\\\").replace("|", "\\|")


def _tidy(text: str) -> str:
    text = _without_comments(text, _SAID, html.unescape)
    text = _UNSAID.sub("", _without_comments(text, _NUMBER, lambda _: ""))
    # Last, so that no removed tag or comment leaves a mark of ours behind.
    return without_marks(_TAGS.sub("", text))


def _without_comments(text: str, marks: re.Pattern[str], kept: Callable[[str], str]) -> str:
    """Put what is `kept` of a comment in its place; one that does not end on its line is none."""
    parts: list[str] = []
    place = 0
    begin: re.Match[str] | None = None
    for mark in marks.finditer(text):
        if mark.lastgroup == "begin":
            begin = begin or mark
        elif mark.lastgroup == "end" and begin is not None:
            parts += [text[place : begin.start()], kept(text[begin.end() : mark.start()])]
            place, begin = mark.end(), None
        elif mark.lastgroup is None:
            begin = None
    return "".join([*parts, text[place:]])
