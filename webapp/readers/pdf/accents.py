"""Puts accents back on their letters where a PDF draws them apart, as TeX did with its first fonts.

The text of such a page has the accent as a character of its own, behind its letter ("Mu¨nchen") or before it
("M¨unchen"). An acute is also what some people type for an apostrophe, so it is left where it may be one.
"""

import re
import unicodedata

_COMBINING = {
    "\u00a8": "\u0308", "\u00b4": "\u0301", "`": "\u0300", "\u02c6": "\u0302", "\u02dc": "\u0303", "\u00b8": "\u0327",
    "\u02da": "\u030a", "\u02c7": "\u030c", "\u02d8": "\u0306", "\u02dd": "\u030b", "\u02db": "\u0328",
}  # fmt: skip
_MARKS = "".join(_COMBINING)
_ANY = re.compile(f"[{_MARKS}]")
_BEHIND = re.compile(rf"(?P<letter>[^\W\d_])(?P<mark>[{_MARKS}])")
_BEFORE = re.compile(r"(?P<mark>[^\x00-\x7f\u00b4])(?P<letter>[^\W\d_])")
# Nothing but an accent is put on an i without its dot.
_ON_DOTLESS = re.compile(rf"(?P<mark>[{_MARKS}])(?P<letter>[\u0131\u0237])")
_OPENING_BACKTICK = re.compile(r"(?<![^\s(])`")
_APOSTROPHE = re.compile(r"(?:s|t|m|d|ll|re|ve)\b", re.IGNORECASE)
# German has no word of one such letter: the accent of a capital is so high that a space was seen behind it.
_CUT_OFF = re.compile("(?<![^\\W_])([ÄÖÜ]) (?=[a-zäöüß]{2})")
_VOWELS = frozenset("aeiouyAEIOUY")
# Letters with two parts that no language writes with one code point of these blocks are left as they are.
_LATIN_END = 0x250


def with_accents(text: str) -> str:
    """The text with each accent on its letter."""
    if not _ANY.search(text):
        return text
    return "\n".join(map(_line, text.split("\n")))


def _line(line: str) -> str:
    if not _ANY.search(line):
        return line

    has_code = _OPENING_BACKTICK.search(line) is not None

    def behind(found: re.Match[str]) -> str:
        letter, mark = found["letter"], found["mark"]
        if mark in "`\u00b4" and letter not in _VOWELS:
            return found[0]
        is_other = has_code if mark == "`" else mark == "\u00b4" and _APOSTROPHE.match(line, found.end())
        return found[0] if is_other else _either(found)

    joined = _BEFORE.sub(_either, _BEHIND.sub(behind, _ON_DOTLESS.sub(_either, line)))
    return _CUT_OFF.sub(r"\1", joined) if joined != line else line


def _either(found: re.Match[str]) -> str:
    """The letter with its accent; both as they were where there is no such letter."""
    return _composed(found["letter"], found["mark"]) or found[0]


def _composed(letter: str, mark: str) -> str | None:
    """The letter with its accent, if there is such a letter."""
    if mark not in _COMBINING:
        return None
    plain = {"\u0131": "i", "\u0237": "j"}.get(letter, letter)
    found = unicodedata.normalize("NFC", plain + _COMBINING[mark])
    return found if len(found) == 1 and ord(found) < _LATIN_END else None
