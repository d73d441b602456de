"""Markdown's own marks: what is escaped in a text, and how tables, paragraphs and notes are written."""

import re
from collections.abc import Iterable, Sequence

_SPECIAL = re.compile(r"[\\`*]|<(?=[A-Za-z/!?])")
_LINE_START = re.compile(r"^(?:#{1,6}(?=\s)|>|[-+](?=\s)|\d{1,9}(?=[.)]\s))", re.MULTILINE)
_IS_ONE_WORD = re.compile(r"\S+(?:\s+[\"'(].*)?")
_CELL_ENDS = "\x1f"


def escaped(text: str) -> str:
    """Plain text in which nothing is Markdown by accident, except at the start of a line."""
    return _SPECIAL.sub(r"\\\g<0>", text)


def paragraph_of(lines: Iterable[str]) -> str:
    """Lines of escaped text as one paragraph that keeps them; none becomes a heading or a list."""
    return _LINE_START.sub(_escape_start, "  \n".join(line for line in lines if line))


def table_row(cells: Sequence[str]) -> str:
    """A row of cells that are Markdown on one line each."""
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plain_row(cells: Sequence[str]) -> str:
    """A row of cells that are plain text. All are escaped at once, since a sheet may have millions."""
    return table_row(escaped(_CELL_ENDS.join(cells)).replace("\n", " ").split(_CELL_ENDS))


def ruler(columns: int) -> str:
    """The line below a table's first row."""
    return f"|{' --- |' * columns}"


def table(rows: Sequence[str], columns: int) -> str:
    """A table of written rows, the first one its heading."""
    return "\n".join([rows[0], ruler(columns), *rows[1:]])


def note(mark: str, text: str) -> str:
    """What a note says, to be read at the end; nothing where it has no text."""
    if not text:
        return ""
    # One word would make it a link's address, which readers are not shown.
    start = "\\" if _IS_ONE_WORD.fullmatch(text) else ""
    return f"{start}[^{mark}]: " + text.replace("\n", "\n    ").replace("\n    \n", "\n\n")


def _escape_start(found: re.Match[str]) -> str:
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"
