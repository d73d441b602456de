"""Where the words of a passage are in a longer text, although some of them may have changed since."""

import re
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import product

SHINGLE_WORDS = 3
# So many of the rows of three words must still be there. A word that was replaced breaks three of them.
SHARE_MIN = 0.3
# Words that came or went in between move what follows by so many places and some more.
SHIFT_MIN = 8
# Words in a row that a text repeats more often tell nothing of a place.
REPEATS_MAX = 50
# In scripts that put no space between words each character is one: a passage may begin within a line of them.
_WORD = re.compile(
    r"[\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]"
    r"|[^\W_\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)

Group = tuple[str, ...]


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
    # As texts, since these are compared in a time that grows with their lengths, not with the product of both.
    whole, row = ("\n".join(("", *words, "")) for words in (text, wanted))
    start = whole.find(row)
    return whole.count("\n", 0, start) if start >= 0 else None


@dataclass(slots=True)
class _Band:
    """What is at about the same distance in both texts: the places of the passage, and where these are in the text."""

    start: int
    end: int
    places: set[int] = field(default_factory=set)


def _nearly(text: Sequence[str], wanted: Sequence[str]) -> WordRun | None:
    """Where most rows of a few words are that the passage has, at about the same distances."""
    size = min(SHINGLE_WORDS, len(wanted))
    known: dict[Group, list[int]] = {}
    for place in range(len(wanted) - size + 1):
        known.setdefault(tuple(wanted[place : place + size]), []).append(place)
    width = max(SHIFT_MIN, len(wanted) // 4)
    bands: dict[int, _Band] = {}
    for group, held_at in _held_at(text, known.keys(), size).items():
        for at, place in product(held_at, known[group]):
            # A shift near the edge of a band belongs to the band beside it, too.
            number = (at - place) // width
            for band in (bands.setdefault(each, _Band(at, at)) for each in (number, number + 1)):
                band.start, band.end = min(band.start, at), max(band.end, at)
                band.places.add(place)
    if not bands:
        return None
    best = max(bands.values(), key=lambda band: (len(band.places), -band.start))
    return WordRun(best.start, best.end + size, len(best.places) / (len(wanted) - size + 1))


def _held_at(text: Sequence[str], groups: Collection[Group], size: int) -> dict[Group, list[int]]:
    """Where in a text some words in a row are, but for those that it repeats too often."""
    held: dict[Group, list[int]] = {group: [] for group in groups}
    for at in range(len(text) - size + 1):
        places = held.get(tuple(text[at : at + size]))
        if places is not None and len(places) <= REPEATS_MAX:
            places.append(at)
    return {group: places for group, places in held.items() if len(places) <= REPEATS_MAX}


def _folded(word: str) -> str:
    if word.isascii():
        return word.lower()
    decomposed = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in decomposed if not unicodedata.combining(letter))
