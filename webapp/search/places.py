"""Where the words of a passage are in a longer text, although some of them may have changed since."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

SHINGLE_WORDS = 3
# So many of the rows of three words must still be there. A word that was replaced breaks three of them.
SHARE_MIN = 0.3
# Words that came or went in between move what follows by so many places and some more.
SHIFT_MIN = 8
# In scripts that put no space between words each character is one: a passage may begin within a line of them.
_WORD = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


@dataclass(frozen=True, slots=True)
class WordAt:
    """A word as it is compared, and where it is in its text."""

    word: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class WordRun:
    """Words of a text from number `start` to before `end`, and the share of the wanted ones that they hold."""

    start: int
    end: int
    share: float


def placed_words(text: str) -> Iterator[WordAt]:
    """The words of a text, without regard to case and accents."""
    for found in _WORD.finditer(text):
        yield WordAt(_folded(found[0]), *found.span())


def words_of(text: str) -> list[str]:
    """The same without their places."""
    return [each.word for each in placed_words(text)]


def find_run(text: Sequence[str], wanted: Sequence[str]) -> WordRun | None:
    """The stretch of a text that holds the wanted words best, if it holds enough of them."""
    if not wanted or not text:
        return None
    start = _exactly(text, wanted)
    if start is not None:
        return WordRun(start, start + len(wanted), 1.0)
    found = _nearly(text, wanted)
    return found if found is not None and found.share >= SHARE_MIN else None


def _exactly(text: Sequence[str], wanted: Sequence[str]) -> int | None:
    first, size, row = wanted[0], len(wanted), list(wanted)
    places = (place for place, word in enumerate(text) if word == first)
    return next((place for place in places if list(text[place : place + size]) == row), None)


def _nearly(text: Sequence[str], wanted: Sequence[str]) -> WordRun | None:
    """Where most rows of a few words are that the passage has, at about the same distances."""
    size = min(SHINGLE_WORDS, len(wanted))
    known: dict[tuple[str, ...], list[int]] = {}
    for place in range(len(wanted) - size + 1):
        known.setdefault(tuple(wanted[place : place + size]), []).append(place)
    band = max(SHIFT_MIN, len(wanted) // 4)
    met: dict[int, list[tuple[int, int]]] = {}
    for at in range(len(text) - size + 1):
        for place in known.get(tuple(text[at : at + size]), ()):
            # A shift near the edge of a band belongs to the band beside it, too.
            number = (at - place) // band
            met.setdefault(number, []).append((at, place))
            met.setdefault(number + 1, []).append((at, place))
    if not met:
        return None
    best = max(met.values(), key=lambda pairs: (len({place for _, place in pairs}), -pairs[0][0]))
    held = {place for _, place in best}
    share = len(held) / (len(wanted) - size + 1)
    return WordRun(min(at for at, _ in best), max(at for at, _ in best) + size, share)


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
