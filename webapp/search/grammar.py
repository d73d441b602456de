"""The language of queries, one for the search, the library's filter and programs.

    invoice payment            words
    "payment within 30 days"   a phrase: these words, in this order
    -draft                     without this; also -"a phrase" and -kind:pdf
    lease OR tenancy           one of them is enough; OR binds its neighbours only
    invoi*                     words that begin like this
    kind:pdf in:"annual report" after:2025-06 pages:>100    filters (webapp/search/filters.py)

What can't be understood is a Mistake with its place, and never ignored. Punctuation that has no meaning here is none:
a token without a letter or digit is left out. `str(query)` writes a query so that it is parsed to the same one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from webapp.search import filters
from webapp.search.filters import BadValue, FilterName

QUERY_CHARACTERS_MAX = 1000
TERMS_MAX = 64
PREFIX_CHARACTERS_MIN = 2

# Each is one character before and after, so that places stay right.
_PLAIN = str.maketrans(dict.fromkeys("\u201c\u201d\u201e\u201f\u00ab\u00bb", '"'))
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NAME = re.compile(r"([A-Za-z]{2,20}):(?!//)")
_OR = "OR"


class MistakeCode(StrEnum):
    """What can be wrong with a query; the pages have a sentence for each."""

    TOO_LONG = "too_long"
    TOO_MANY_TERMS = "too_many_terms"
    UNCLOSED_PHRASE = "unclosed_phrase"
    EMPTY_PHRASE = "empty_phrase"
    LONELY_OR = "lonely_or"
    MIXED_OR = "mixed_or"
    EXCLUDED_OR = "excluded_or"
    MISPLACED_STAR = "misplaced_star"
    SHORT_PREFIX = "short_prefix"
    UNKNOWN_FILTER = "unknown_filter"
    EMPTY_FILTER = "empty_filter"
    BAD_VALUE = "bad_value"


class Mistake(ValueError):
    """A query that can't be understood: why, and from which character on, counted from 1."""

    def __init__(self, code: MistakeCode, position: int, *, name: str = "", value: str = "") -> None:
        super().__init__(f"{code} at {position}")
        self.code = code
        self.position = position
        self.name = name
        """The filter that it is about, or what was typed as its name."""
        self.value = value


@dataclass(frozen=True, slots=True)
class LooseWord:
    """The text between two spaces; it may hold punctuation, as in "KX-4711-B"."""

    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class Prefix:
    """The beginning of a word."""

    text: str

    def __str__(self) -> str:
        return f"{self.text}*"


@dataclass(frozen=True, slots=True)
class Phrase:
    """Words in a row."""

    text: str

    def __str__(self) -> str:
        return f'"{self.text}"'


@dataclass(frozen=True, slots=True)
class Filter:
    """A property that documents must have."""

    name: FilterName
    value: str

    def __str__(self) -> str:
        is_plain = bool(re.fullmatch(r'[^\s"]+', self.value))
        return f"{self.name}:{self.value}" if is_plain else f'{self.name}:"{self.value}"'


Term = LooseWord | Prefix | Phrase | Filter


@dataclass(frozen=True, slots=True)
class TermGroup:
    """Terms of which one is enough; most groups have one term. An excluded group has exactly one."""

    terms: tuple[Term, ...]
    is_excluded: bool = False
    position: int = field(default=1, compare=False)

    @property
    def is_filter(self) -> bool:
        """Whether it is about documents, not about what is written in them."""
        return isinstance(self.terms[0], Filter)

    def __str__(self) -> str:
        return ("-" if self.is_excluded else "") + f" {_OR} ".join(map(str, self.terms))


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """All that is wanted at once."""

    groups: tuple[TermGroup, ...] = ()

    @property
    def filters(self) -> tuple[TermGroup, ...]:
        """What documents must have."""
        return tuple(group for group in self.groups if group.is_filter)

    @property
    def contents(self) -> tuple[TermGroup, ...]:
        """What must be written in them."""
        return tuple(group for group in self.groups if not group.is_filter)

    def __str__(self) -> str:
        return " ".join(map(str, self.groups))


def parse(text: str) -> ParsedQuery:
    """Read a query; Mistake where something in it can't be understood."""
    if len(text.rstrip()) > QUERY_CHARACTERS_MAX:
        raise Mistake(MistakeCode.TOO_LONG, QUERY_CHARACTERS_MAX + 1)
    plain = _CONTROL.sub(" ", text).translate(_PLAIN)
    groups: list[TermGroup] = []
    or_at: int | None = None
    for token in _Reader(plain).tokens():
        if token.is_or:
            if not groups or or_at is not None:
                raise Mistake(MistakeCode.LONELY_OR, token.position)
            or_at = token.position
        elif or_at is not None:
            groups[-1] = _joined(groups[-1], token.group, or_at)
            or_at = None
        elif token.group is not None:
            groups.append(token.group)
    if or_at is not None:
        raise Mistake(MistakeCode.LONELY_OR, or_at)
    if sum(len(group.terms) for group in groups) > TERMS_MAX and any(_is_operator(group) for group in groups):
        raise Mistake(MistakeCode.TOO_MANY_TERMS, groups[-1].position)
    return ParsedQuery(tuple(groups))


def _is_operator(group: TermGroup) -> bool:
    """Whether it must be obeyed: of a long question in words alone, some words may stay without effect."""
    return group.is_excluded or len(group.terms) > 1 or not isinstance(group.terms[0], LooseWord)


def _joined(before: TermGroup, after: TermGroup | None, or_at: int) -> TermGroup:
    if after is None:
        raise Mistake(MistakeCode.LONELY_OR, or_at)
    if before.is_excluded or after.is_excluded:
        raise Mistake(MistakeCode.EXCLUDED_OR, or_at)
    if before.is_filter != after.is_filter:
        raise Mistake(MistakeCode.MIXED_OR, or_at)
    return TermGroup((*before.terms, *after.terms), position=before.position)


@dataclass(frozen=True, slots=True)
class _Token:
    """OR, or a term; neither is punctuation."""

    position: int
    group: TermGroup | None = None
    is_or: bool = False


class _Reader:
    """Goes through a query from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def tokens(self) -> Iterator[_Token]:
        while self._skip_spaces():
            start = self._at
            is_excluded = self._begins_exclusion()
            if is_excluded:
                self._at += 1
            term = self._term(start, may_be_or=not is_excluded)
            if term is None:
                yield _Token(start + 1, is_or=self._text[start : self._at] == _OR)
            else:
                yield _Token(start + 1, TermGroup((term,), is_excluded, start + 1))

    def _skip_spaces(self) -> bool:
        while self._at < len(self._text) and self._text[self._at].isspace():
            self._at += 1
        return self._at < len(self._text)

    def _begins_exclusion(self) -> bool:
        """A minus right before something. Two of them begin the name of an option, and one alone is a dash."""
        behind = self._text[self._at + 1 : self._at + 2]
        return self._text[self._at] == "-" and bool(behind.strip()) and behind != "-"

    def _term(self, start: int, *, may_be_or: bool) -> Term | None:
        """The next term; None for OR and for punctuation."""
        if self._text[self._at] == '"':
            return Phrase(self._phrase())
        named = _NAME.match(self._text, self._at)
        if named is not None and not self._is_end(named.end()):
            return self._filter(named[1], start)
        if named is not None and named[1].lower() in _NAMES:
            raise Mistake(MistakeCode.EMPTY_FILTER, start + 1, name=named[1].lower())
        word = self._until_space()
        if may_be_or and word == _OR:
            return None
        return self._word(word, start)

    def _is_end(self, at: int) -> bool:
        return at >= len(self._text) or self._text[at].isspace()

    def _filter(self, written: str, start: int) -> Filter:
        name = written.lower()
        if name not in _NAMES:
            raise Mistake(MistakeCode.UNKNOWN_FILTER, start + 1, name=written)
        self._at += len(written) + 1
        value = self._quoted() if self._text[self._at] == '"' else self._until_space()
        try:
            filters.check(FilterName(name), value)
        except BadValue as error:
            raise Mistake(MistakeCode.BAD_VALUE, start + 1, name=name, value=value) from error
        return Filter(FilterName(name), value)

    def _phrase(self) -> str:
        start = self._at
        words = self._quoted()
        if not _says_something(words):
            raise Mistake(MistakeCode.EMPTY_PHRASE, start + 1)
        return words

    def _quoted(self) -> str:
        start = self._at
        end = self._text.find('"', start + 1)
        if end < 0:
            raise Mistake(MistakeCode.UNCLOSED_PHRASE, start + 1)
        self._at = end + 1
        return " ".join(self._text[start + 1 : end].split())

    def _until_space(self) -> str:
        start = self._at
        while self._at < len(self._text) and not self._text[self._at].isspace() and self._text[self._at] != '"':
            self._at += 1
        return self._text[start : self._at]

    def _word(self, word: str, start: int) -> Term | None:
        begins, star, rest = word.partition("*")
        if star:
            if rest or not _says_something(begins):
                raise Mistake(MistakeCode.MISPLACED_STAR, start + 1)
            if sum(map(str.isalnum, begins)) < PREFIX_CHARACTERS_MIN or not begins[-1].isalnum():
                raise Mistake(MistakeCode.SHORT_PREFIX, start + 1)
            return Prefix(begins)
        return LooseWord(word) if _says_something(word) else None


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))


_NAMES: Sequence[str] = [name.value for name in FilterName]
