"""Document Intelligence's Markdown -> ours: tables with bars, no comments of its own, no marks but ours."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.providers.pdf_markdown import without_marks

# Headers and footers are said in comments. Their text stays, since it may stand nowhere else.
_SAID = re.compile(r'<!--\s*Page(?:Header|Footer)="(?P<text>[^\n]*?)"\s*-->')
_UNSAID = re.compile(r"<!--\s*Page(?:Number=[^\n]*?|Break|Header|Footer)\s*-->")
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
    text = _SAID.sub(lambda found: html.unescape(found["text"]), text)
    # Last, so that no tag or comment that is taken out leaves a mark of ours behind.
    return without_marks(_TAGS.sub("", _UNSAID.sub("", text)))
