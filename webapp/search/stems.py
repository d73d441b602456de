"""The words of texts as the index holds them: without accents, and beside them their stems in each language.

A passage is stemmed in its own language. Nobody knows a question's language, so its words are looked for under the
stems of all languages; a mark and the language's code before each stem keep it apart from words and from others' stems.
"""

import re
import threading
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache

import Stemmer

from webapp.readers.small_words import SMALL_WORDS

ALGORITHMS = {
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "it": "italian",
    "nl": "dutch",
    "pl": "polish",
    "pt": "portuguese",
    "ru": "russian",
}
LATIN = tuple(language for language in ALGORITHMS if language != "ru")
WORD_CHARACTERS_MAX = 200
# A letter to both databases, and in no word that anybody writes.
MARK = "\u01c0"
STEM_CHARACTERS_MIN = 3
# Letters that Unicode does not take apart, and that people type without their strokes.
_BARE = str.maketrans({"ł": "l", "ø": "o", "đ": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe"})  # noqa: RUF001
_KEPT_WORDS_MAX = 100_000
_LETTERS = re.compile(r"[^\W_]+")
# Addresses behind the words of a link are not read.
_LINK = re.compile(r"\]\(([^()\s]{0,2000})\)")
_CYRILLIC = re.compile(r"[\u0400-\u04ff]")
_SMALL = {language: frozenset(SMALL_WORDS[language].split()) for language in ALGORITHMS}


def plain_words(text: str) -> list[str]:
    """A text's words as they are compared one by one: lower case, without accents and marks of Markdown."""
    return _LETTERS.findall(folded(_LINK.sub("] ", text)))


def written_words(text: str) -> list[str]:
    """The same words as they are written, with their accents, in lower case."""
    plain = _LINK.sub("] ", text)
    return _LETTERS.findall((plain if plain.isascii() else unicodedata.normalize("NFKC", plain)).casefold())


def linked_words(text: str) -> list[str]:
    """The words of the addresses behind links."""
    return [word for address in _LINK.findall(text) for word in plain_words(address)]


def folded(text: str) -> str:
    """In lower case and without accents."""
    if text.isascii():
        return text.casefold()
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in decomposed if not unicodedata.combining(letter))
    return bare.casefold().translate(_BARE)


def indexed(words: Iterable[str]) -> list[str]:
    """Words as an index may hold them: a string without spaces can be as long as a passage."""
    return [word[:WORD_CHARACTERS_MAX] for word in words]


def language_of(code: str | None, text: str) -> str | None:
    """The language in which a text is stemmed: its own, else by its letters; None where no stemmer fits."""
    short = (code or "").partition("-")[0].lower()
    if short in ALGORITHMS:
        return short
    if short:
        return None
    return "ru" if _CYRILLIC.search(text) else "en"


def stems(words: Iterable[str], language: str | None) -> list[str]:
    """The marked stems of words as they are written; small words and numbers have none."""
    return [stem for word in words if (stem := _stem(language, word))] if language else []


def forms(word: str) -> list[str]:
    """All that one word of a question is looked for as: the word itself, and its stems in each language."""
    languages = ("ru",) if _CYRILLIC.search(word) else LATIN
    return list(dict.fromkeys([*indexed(plain_words(word)), *_stems_of(word, languages)]))


def _stems_of(word: str, languages: Iterable[str]) -> Iterator[str]:
    for written in written_words(word):
        yield from (stem for language in languages if (stem := _stem(language, written)))


@lru_cache(_KEPT_WORDS_MAX)
def _stem(language: str, word: str) -> str | None:
    if not STEM_CHARACTERS_MIN <= len(word) <= WORD_CHARACTERS_MAX or word in _SMALL[language]:
        return None
    if not word.isalpha():
        return None
    return f"{MARK}{language}{folded(_stemmer(language).stemWord(word))}"


class _Stemmers(threading.local):
    """The stemmers of one thread: they must not be shared."""

    def __init__(self) -> None:
        self.known: dict[str, Stemmer.Stemmer] = {}


_own = _Stemmers()


def _stemmer(language: str) -> Stemmer.Stemmer:
    if language not in _own.known:
        # The cache is ours.
        _own.known[language] = Stemmer.Stemmer(ALGORITHMS[language], 0)
    return _own.known[language]
