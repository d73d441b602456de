"""Names of files as people gave them, made fit to be shown. They are never used as paths."""

import re
import unicodedata
from pathlib import PurePath

FILENAME_CHARACTERS_MAX = 255
ENDING_CHARACTERS_MAX = 16
NAMELESS = "untitled"

# Format characters hide or turn text around; the joiner and the variation selector hold emoji together.
_KEPT_FORMATS = {"\u200d", "\ufe0f"}
_DROPPED_CATEGORIES = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
_TAGS = re.compile("[\U000e0020-\U000e007f]")


def clean_filename(raw: str | None) -> str:
    """The last part of a path, without what can't be seen or turns text around, at most 255 characters long."""
    name = re.split(r"[/\\]", (raw or "").rstrip("/\\"))[-1]
    shown = "".join(character for character in name if _is_shown(character))
    shown = " ".join(unicodedata.normalize("NFC", shown).split())
    return _shorten(shown) if shown.strip(". ") else NAMELESS


def stem(name: str) -> str:
    """A file's name without its ending, where that is one: of "scan 7.pdf" it is "scan 7"."""
    ending = PurePath(name).suffix
    return name[: -len(ending)] if ending and len(ending) <= ENDING_CHARACTERS_MAX else name


def _is_shown(character: str) -> bool:
    if character in _KEPT_FORMATS or _TAGS.match(character):
        return True
    return character.isspace() or unicodedata.category(character) not in _DROPPED_CATEGORIES


def _shorten(name: str) -> str:
    """Cut in front of the ending: that is the part which still says something."""
    if len(name) <= FILENAME_CHARACTERS_MAX:
        return name
    stem, dot, ending = name.rpartition(".")
    if not stem or not dot or len(ending) > ENDING_CHARACTERS_MAX:
        return name[: FILENAME_CHARACTERS_MAX - 1] + "…"
    return stem[: FILENAME_CHARACTERS_MAX - len(ending) - 2] + "…." + ending
