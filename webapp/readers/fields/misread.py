"""Mends what OCR often misreads in the words of a page, so that the rules for fields know labels and values.

Letters change to those of the other alphabet that look the same, lost spaces come back where both parts are known, and
labels with one wrong letter become the label. Digits change only in an amount or a date that can be read no other way.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from webapp.readers.fields.amounts import CODES, read_amount
from webapp.readers.fields.dates import MONTHS, month_number, read_date
from webapp.readers.fields.labels import folded_words, match_column, match_label
from webapp.readers.fields.vocabulary import COLUMNS, LEGAL_FORMS, STRONG, WEAK
from webapp.readers.fields.words import PageWords, PlacedWord, folded, rows_of

# Letters that look the same in both alphabets.
CYRILLIC, LATIN = "АВЕКМНОРСТУХаеорсух", "ABEKMHOPCTYXaeopcyx"
_TO_LATIN, _TO_CYRILLIC = str.maketrans(CYRILLIC, LATIN), str.maketrans(LATIN, CYRILLIC)
CYRILLIC_FIRST, CYRILLIC_LAST = "\u0400", "\u04ff"
# Shorter labels differ from other words by one letter.
LABEL_LETTERS_MIN, LABEL_WORDS_MAX = 7, 5
SENDER_WORDS_MIN, SENDER_DEPTH = 5, 0.45
PART_GAP_HEIGHTS = 0.2
_FORM = re.compile(r"(?<=[a-z\u00df-\u00ff])(?=[A-Z])")
_MONTH = re.compile(r"(\d{1,2}[.º°]?)?(de|del|den)?([^\W\d_]{3,20}?)([.,]|de)?(\d{4})?")
_YEAR = re.compile(r"(de|del)((?:19|20)\d\d)")
# Not the dots of "S.A.".
_SENDERS_DOT = re.compile(r"(?<=\w\w)\.(?=\w)|\A[.·](?=\w)|(?<=\w\w)[·-]\Z")
_DIGITS = re.compile(r"[\dOoIl|.,'/-]{4,20}")
_AS_DIGITS = str.maketrans("OoIl|", "00111")
# What the letters of a short Cyrillic word look like to a reader of Latin letters: "ИНН" is "VHH", "счёт" is "c4eT".
_SHAPES = str.maketrans("авекмнорстухдийцчплгжэзбяv48", "abekmhopctyxauuuunnrxe36auub")
SHAPE_LETTERS_MIN = 4
_NUMBER_SIGNS = frozenset({"Ne", "N2", "Nº", "N°", "Nо"})
_ABBREVIATIONS = {"hac": "НДС", "uhh": "ИНН"}
# What signs of currencies are read as, behind an amount.
_ROUBLES = {"P": "₽", "Р": "₽", "р": "₽", "p": "₽", "КОВ": "RUB"}
_EUROS = {"E": "€", "Е": "€"}
_WITH_SIGN = re.compile(r"([\d.,'\u2019]{1,16}[.,]\d\d)([^\W\d_])")
CODE_LETTERS, CODE_LETTERS_ALIKE = 3, 2


def mended(page: PageWords) -> PageWords:
    """A page with its words as they were probably printed."""
    is_latin = _is_latin(page.words)
    signs = _signs(page.words, is_latin=is_latin)
    words: list[PlacedWord] = []
    for row in rows_of([page]):
        for piece in row.pieces:
            line = [_in_one_alphabet(word, is_latin=is_latin) for word in piece.words]
            if row.depth < SENDER_DEPTH:
                line = _separated(line)
            line = [part for word in line for part in _split(word)]
            line = [*_amounts([_currency(word, signs) for word in line], signs)]
            words += _labels(line if is_latin else _in_cyrillic(line))
    return replace(page, words=tuple(words))


def _is_latin(words: Sequence[PlacedWord]) -> bool:
    """Whether most letters that tell the alphabets apart are Latin."""
    letters = [each for word in words for each in word.text if each.isalpha()]
    latin = sum(each not in LATIN and not _is_cyrillic(each) for each in letters)
    cyrillic = sum(each not in CYRILLIC and _is_cyrillic(each) for each in letters)
    return latin >= cyrillic


def _is_cyrillic(letter: str) -> bool:
    return CYRILLIC_FIRST <= letter <= CYRILLIC_LAST


def _in_one_alphabet(word: PlacedWord, *, is_latin: bool) -> PlacedWord:
    """A word whose letters are of one alphabet: a number's are Latin, and those that do not tell are the page's."""
    letters = [each for each in word.text if each.isalpha()]
    has_cyrillic = any(_is_cyrillic(each) and each not in CYRILLIC for each in letters)
    has_latin = any(not _is_cyrillic(each) and each not in LATIN for each in letters)
    if has_cyrillic and has_latin:
        return word
    if not has_cyrillic and not has_latin:
        has_latin = is_latin or any(map(str.isdigit, word.text))
    return replace(word, text=word.text.translate(_TO_LATIN if has_latin else _TO_CYRILLIC))


def _separated(line: Sequence[PlacedWord]) -> list[PlacedWord]:
    """The small line of a letter's sender, "Name · Street · Town", whose separators became dots and hyphens."""
    is_sender = len(line) >= SENDER_WORDS_MIN and any(re.match(r"[.·]\w", word.text) for word in line)
    if not is_sender or any("@" in word.text for word in line):
        return list(line)
    return [part for word in line for part in _cut(word, _SENDERS_DOT.sub(" · ", word.text).split())]


def _split(word: PlacedWord) -> Iterator[PlacedWord]:
    """A word in which spaces were lost as its parts: a company's form, a date, a label of several words."""
    for boundary in _FORM.finditer(word.text):
        if folded(word.text[boundary.start() :]) in LEGAL_FORMS:
            yield from _cut(word, [word.text[: boundary.start()], word.text[boundary.start() :]])
            return
    if parts := _of_date(word.text):
        yield from _cut(word, parts)
    elif phrase := _label_phrases().get(folded(word.text)):
        yield from _cut(word, _with_end(phrase, word.text))
    else:
        yield word


def _with_end(phrase: str, text: str) -> list[str]:
    """The words of a label, with the colon of the text that it was read from."""
    return f"{phrase}{':' if text.endswith(':') else ''}".split()


def _of_date(text: str) -> list[str]:
    """The parts of "3May2026" or "demaio"."""
    if found := _YEAR.fullmatch(text):
        return list(found.groups())
    found = _MONTH.fullmatch(text)
    if found is None or month_number(text) or not month_number(found[3]):
        return []
    return [part for part in found.groups() if part]


def _cut(word: PlacedWord, parts: Sequence[str]) -> Iterator[PlacedWord]:
    """A word cut into parts with gaps between them, each with its share of the place."""
    width = word.right - word.left
    gap = min(PART_GAP_HEIGHTS * word.height, width / (2 * len(parts)))
    step = (width - gap * (len(parts) - 1)) / max(1, sum(map(len, parts)))
    left = word.left
    for part in parts:
        yield PlacedWord(part, left, word.top, left + step * len(part), word.bottom)
        left += step * len(part) + gap


def _signs(words: Sequence[PlacedWord], *, is_latin: bool) -> dict[str, str]:
    """What letters behind an amount are on this page: the sign of a currency, or a code that appears elsewhere."""
    texts = {word.text for word in words}
    signs = {} if is_latin else dict(_ROUBLES)
    if any("€" in text for text in texts):
        signs |= _EUROS
    return signs | {code: code for code in texts & CODES}


def _currency(word: PlacedWord, signs: Mapping[str, str]) -> PlacedWord:
    """A word as the page's one code of a currency, where a single letter of it is wrong."""
    codes = {each for each in signs.values() if each in CODES}
    text = word.text.translate(_TO_LATIN)
    if len(codes) != 1 or len(text) != CODE_LETTERS or not text.isupper() or text in CODES:
        return word
    [code] = codes
    is_alike = sum(a == b for a, b in zip(text, code, strict=True)) >= CODE_LETTERS_ALIKE
    return replace(word, text=code) if is_alike else word


def _amounts(line: Sequence[PlacedWord], signs: Mapping[str, str]) -> Iterator[PlacedWord]:
    """A line whose amounts and dates have no letters among their digits, and whose currencies are no letters."""
    before = None
    for word in line:
        text = word.text
        if text in signs and before and (amount := read_amount(before)) and amount.has_cents:
            text = signs[text]
        elif (glued := _WITH_SIGN.fullmatch(text)) and glued[2] in signs:
            text = glued[1] + signs[glued[2]]
        elif _DIGITS.fullmatch(text) and sum(map(str.isdigit, text)) > len(text) / 2:
            text = _number(text)
        yield word if text == word.text else replace(word, text=text)
        before = text


def _number(text: str) -> str:
    digits = text.translate(_AS_DIGITS)
    amount = read_amount(digits)
    return digits if (amount and amount.has_cents) or read_date([digits]) else text


def _in_cyrillic(line: Sequence[PlacedWord]) -> list[PlacedWord]:
    """A line whose label, and the name of a tax, were read in Latin letters that look like its own."""
    following = [word.text for word in line[1:]] + [""]
    line = [_known(word, after) for word, after in zip(line, following, strict=True)]
    folds = folded_words(line)
    exact = max((match.words for match in (match_label(folds), match_column(folds)) if match), default=0)
    shapes = [fold.translate(_SHAPES) for fold in folds]
    for count in range(min(LABEL_WORDS_MAX, len(line)), exact, -1):
        shape = "".join(shapes[:count])
        phrase = _phrases_by_shape().get(shape, "")
        if phrase and (count == len(line) or (len(shape) >= SHAPE_LETTERS_MIN and _ends_as_label(line, count))):
            return [*_as_label(line[:count], phrase), *line[count:]]
    return line


def _known(word: PlacedWord, following: str) -> PlacedWord:
    """A word as the sign for number, a tax, a month or the letter of a number, where it looks like that."""
    text = word.text.rstrip(":")
    if text in _NUMBER_SIGNS:
        return replace(word, text="№")
    if len(text) == 1 and text in CYRILLIC and text.isupper() and following.isdigit() and len(following) > CODE_LETTERS:
        return replace(word, text=text.translate(_TO_LATIN))
    shape = folded(text).translate(_SHAPES)
    name = _ABBREVIATIONS.get(shape) if text.isupper() else _months_by_shape().get(shape)
    return replace(word, text=word.text.replace(text, name)) if name else word


def _ends_as_label(line: Sequence[PlacedWord], count: int) -> bool:
    """Whether so many words of a line can be a label: nothing, a colon or a number follows."""
    rest = line[count:]
    return not rest or line[count - 1].text.endswith(":") or any(map(str.isdigit, rest[0].text))


def _as_label(words: Sequence[PlacedWord], phrase: str) -> Iterator[PlacedWord]:
    """A label in the place of the words that it was read from."""
    whole = PlacedWord(phrase, words[0].left, words[0].top, words[-1].right, words[0].bottom)
    return _cut(whole, _with_end(phrase, words[-1].text))


def _labels(line: Sequence[PlacedWord]) -> list[PlacedWord]:
    """A line with the label that it begins with, where that has one wrong letter or wrong spaces, as it should be.

    Labels in the middle of a line stay, and so does one that names follow: it may be a part of a name.
    """
    folds = folded_words(line)
    exact = match_label(folds)
    count, phrase = _misspelled(folds)
    if count <= (exact.words if exact else 0) or not _ends_as_label(line, count):
        return list(line)
    return [*_as_label(line[:count], phrase), *line[count:]]


def _misspelled(folds: Sequence[str]) -> tuple[int, str]:
    """How many words are a label with one wrong letter at most, and the label as it should be."""
    for count in range(min(LABEL_WORDS_MAX, len(folds)), 0, -1):
        text = "".join(folds[:count])
        if len(text) < LABEL_LETTERS_MIN or not text.isalpha() or not folds[count - 1]:
            continue
        keys = (text, *_shortened(text))
        near = {phrase for key in keys for phrase, letters in _near_phrases().get(key, ()) if _is_near(text, letters)}
        if len(near) == 1:
            return count, near.pop()
    return 0, ""


def _is_near(one: str, other: str) -> bool:
    """Whether at most one letter is changed, left out or added."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = next((at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    longer = max(len(one), len(other))
    return one[start + (len(one) == longer) :] == other[start + (len(other) == longer) :]


def _shortened(text: str) -> Iterator[str]:
    return (text[:at] + text[at + 1 :] for at in range(len(text)))


@cache
def _label_phrases() -> dict[str, str]:
    """The labels and names of columns with several words, by their letters without spaces."""
    phrases = [each for group in (STRONG, COLUMNS) for kind in group.values() for each in kind if " " in each]
    by_letters = {"".join(map(folded, each.split())): each for each in phrases}
    return {letters: each for letters, each in by_letters.items() if len(letters) >= LABEL_LETTERS_MIN}


@cache
def _near_phrases() -> dict[str, list[tuple[str, str]]]:
    """The long labels and their letters, by these letters and by them without one."""
    found: dict[str, list[tuple[str, str]]] = {}
    for phrase in {each for kind in STRONG.values() for each in kind}:
        letters = "".join(map(folded, phrase.split()))
        if len(letters) >= LABEL_LETTERS_MIN and letters.isalpha():
            for key in {letters, *_shortened(letters)}:
                found.setdefault(key, []).append((phrase, letters))
    return found


@cache
def _phrases_by_shape() -> dict[str, str]:
    """The Cyrillic labels and names of columns by what their letters look like."""
    phrases = [each for group in (WEAK, COLUMNS, STRONG) for kind in group.values() for each in kind]
    by_letters = {"".join(map(folded, each.split())): each for each in phrases}
    return {
        letters.translate(_SHAPES): each
        for letters, each in by_letters.items()
        if len(letters) > 1 and any(map(_is_cyrillic, letters))
    }


@cache
def _months_by_shape() -> dict[str, str]:
    """The names of the months in Cyrillic letters by what their letters look like."""
    names = (name for month in MONTHS for name in month if all(map(_is_cyrillic, name)))
    return {name.translate(_SHAPES): name for name in names if len(name) >= SHAPE_LETTERS_MIN}
