"""How plain text is shown: as what it is, with its own lines, and with their numbers where it is code."""

import re
from enum import StrEnum
from pathlib import PurePosixPath

from webapp.readers.filetypes import PLAIN

_CODE = frozenset({
    ".bash", ".bat", ".c", ".cc", ".cfg", ".cmake", ".conf", ".cpp", ".cs", ".css", ".diff", ".dockerfile", ".go",
    ".gradle", ".h", ".hpp", ".ini", ".java", ".js", ".json", ".jsonl", ".jsx", ".kt", ".log", ".lua", ".m", ".mk",
    ".patch", ".php", ".pl", ".ps1", ".py", ".r", ".rb", ".rs", ".scala", ".sh", ".sql", ".swift", ".tcl", ".tex",
    ".tf", ".toml", ".ts", ".tsx", ".vue", ".yaml", ".yml", ".zsh",
})  # fmt: skip
_NAMES_OF_CODE = frozenset(("makefile", "dockerfile", "procfile", "cmakelists.txt"))
# Words that are set apart by spaces, as the columns of a table are.
_GAP = re.compile(r"\S(?: {3,}|\t+)\S")
_LINES_WITH_GAPS, _LOOKED_AT = 3, 20_000


class TextLook(StrEnum):
    """How a text is set."""

    PROSE = "prose"
    """Rendered from Markdown."""
    LINES = "lines"
    """Line by line, in the letters of running text."""
    COLUMNS = "columns"
    """Line by line, in letters of one width."""
    CODE = "code"
    """The same, with the numbers of the lines."""


def look_of(content_type: str, filename: str, text: str) -> TextLook:
    """How to set the text of a file."""
    if content_type != PLAIN:
        return TextLook.PROSE
    name = PurePosixPath(filename.lower())
    if name.suffix in _CODE or name.name in _NAMES_OF_CODE:
        return TextLook.CODE
    lines = text[:_LOOKED_AT].splitlines()
    has_columns = sum(_GAP.search(line) is not None for line in lines) >= max(_LINES_WITH_GAPS, len(lines) // 10)
    return TextLook.COLUMNS if has_columns else TextLook.LINES
