"""Reads a contract: its parties, when it begins and ends, and how much notice it takes to end it."""

from collections.abc import Iterator, Sequence

from webapp.readers.fields.choose import Days, Paper, best_of, fields_of
from webapp.readers.fields.contract_words import (
    AND,
    BETWEEN,
    CONTRACT,
    ENGLISH,
    LEADS,
    SENTENCE_WORDS,
    STOPS,
    TITLE_ENDS,
    TITLE_WORDS,
    TITLES,
)
from webapp.readers.fields.found import TITLE, Candidate, Findings, Value
from webapp.readers.fields.labels import folded_words
from webapp.readers.fields.pairs import find_pairs
from webapp.readers.fields.parties import is_company, labelled_party, name_in
from webapp.readers.fields.prose import paragraphs
from webapp.readers.fields.ruled import RuledField, ruled_field
from webapp.readers.fields.vocabulary import LEGAL_FORMS
from webapp.readers.fields.words import PlacedWord, Row, folded

PAPER = "contract"
TITLE_ROWS, TITLE_WORDS_MAX = 14, 9
PARTIES_ROWS, PARTIES_WORDS_MAX = 60, 900
NAME_WORDS_MAX, BETWEEN_WORDS_MAX = 9, 160
_ORDINALS = ("First party", "Second party")
_KINDS = ("contract_number", "contract_date", "start_date", "end_date", "term", "notice_period", "iban")
_OPENING = ("(", "\u2013", "-", "\u2014", "„", "«", "\u201c", '"')
_CLOSING = (",", ";", ")", "\u2013", "-", "\u2014", "»", "\u201d", "\u201c", '"', ".")


def read_contract(rows: Sequence[Row]) -> Paper | None:
    """Read a contract; None where the document is none: one has a title and two parties."""
    title = next((row for row in rows[:TITLE_ROWS] if _is_title(row)), None)
    if title is None:
        return None
    texts = paragraphs(rows)
    findings = find_pairs(texts, CONTRACT)
    parties = _parties(rows, texts, findings)
    if len(parties) < 2:
        return None
    chosen = best_of(findings.candidates)
    is_english = any(fold in ENGLISH for fold in folded_words(title.words))
    days = Days(findings.candidates, is_american=None if is_english else False)
    start, end = days.of(chosen.get("start_date")), days.of(chosen.get("end_date"))
    doubt = "term" if start and end and end < start else None
    named = [_party(name, each) for name, each in zip(_ORDINALS, parties, strict=False)]
    more = fields_of(PAPER, chosen, _KINDS, days, {"start_date": doubt, "end_date": doubt})
    return Paper((*named, *more))


def _party(name: str, found: Candidate) -> RuledField:
    return ruled_field(found, found.value.text, None, name=name, paper=PAPER)


def _is_title(row: Row) -> bool:
    """Whether a row is the title of a contract: a short line with the word for one."""
    words = row.words
    folds = folded_words(words)
    if len(words) > TITLE_WORDS_MAX or not words[0].text[0].isupper() or words[-1].text.endswith((".", ",", ";", ":")):
        return False
    if folds[0] in SENTENCE_WORDS or row.text.count("(") != row.text.count(")"):
        return False
    return any(fold in TITLE_WORDS or fold.endswith(TITLE_ENDS) for fold in folds)


def _parties(rows: Sequence[Row], texts: Sequence[Row], findings: Findings) -> list[Candidate]:
    """The two parties: by the labels of their roles, else by "between … and …"."""
    named: dict[str, Candidate] = {}
    for label in findings.labels:
        found = labelled_party(label, findings.labels, rows) if label.kind == "party" else None
        if found:
            named.setdefault(found.value.text, found)
    if len(named) >= 2:
        return list(named.values())[:2]
    return list(_between(texts))


def _between(rows: Sequence[Row]) -> Iterator[Candidate]:
    """The names behind "between" and "and"; or, as in Russian contracts, the first two that are called a party."""
    words = [(word, row) for row in rows[:PARTIES_ROWS] for word in row.words][:PARTIES_WORDS_MAX]
    for at, (word, _) in enumerate(words):
        if folded(word.text) in BETWEEN and (first := _name_at(words, at + 1)):
            found, end = first
            second = _second(words, end)
            if second:
                yield from (found, second)
                return
    yield from _called(rows)


_Placed = Sequence[tuple[PlacedWord, Row]]


def _second(words: _Placed, start: int) -> Candidate | None:
    """The name behind the "and" that follows the first party's name."""
    for at in range(start, min(len(words), start + BETWEEN_WORDS_MAX)):
        word, row = words[at]
        if folded(word.text) not in AND:
            continue
        before = words[at - 1][0].text
        is_alone = len(row.words) == 1
        if (at == start or is_alone or before.endswith(_CLOSING)) and (found := _name_at(words, at + 1)):
            return found[0]
    return None


def _name_at(words: _Placed, at: int) -> tuple[Candidate, int] | None:
    """The name at a place, and where it ends."""
    while at < len(words) and _is_lead(words[at][0].text):
        at += 1
    used: list[PlacedWord] = []
    row = words[at][1] if at < len(words) else None
    while row and at < len(words) and len(used) < NAME_WORDS_MAX:
        word, other = words[at]
        fold = folded(word.text)
        if word.text.startswith(_OPENING) and not _is_quoted_name(used, word):
            break
        if fold in STOPS or (fold in AND and _is_whole(used)):
            break
        if used and (other is not row or _is_complete(used, word)):
            break
        row = other
        used.append(word)
        at += 1
        if word.text.endswith((",", ";", ":")):
            break
    named = name_in(used)
    if named is None or row is None or len(used) == NAME_WORDS_MAX:
        return None
    # A name that was cut behind its hyphen at the end of a line.
    text = named[0].replace("- ", "-")
    return Candidate("party", 1, Value(text, tuple(named[1])), row.page, row.place, TITLE), at


def _is_lead(text: str) -> bool:
    """Whether a word is put before a name: an article, a title; "société" does, "Société" is a part of it."""
    fold = folded(text)
    return not fold or fold in TITLES or (fold in LEADS and not text[0].isupper())


def _is_quoted_name(used: Sequence[PlacedWord], word: PlacedWord) -> bool:
    """Whether a quotation mark begins a company's name, as in Russian: its form, then the name in quotation marks."""
    return word.text.startswith("«") and len(used) >= 1 and is_company(used[-1].text)


def _is_complete(used: Sequence[PlacedWord], word: PlacedWord) -> bool:
    """Whether a name ends with a company's form, which nothing but another form follows, as in "GmbH & Co. KG"."""
    is_form = len(used) > 1 and folded(used[-1].text) in LEGAL_FORMS
    return is_form and word.text != "&" and folded(word.text) not in {*LEGAL_FORMS, "co"}


def _is_whole(used: Sequence[PlacedWord]) -> bool:
    text = " ".join(word.text for word in used)
    return is_company(text) or len(used) > 1


def _called(rows: Sequence[Row]) -> Iterator[Candidate]:
    """The names of a paragraph that begins with one and says what it is called further on: "именуемое"."""
    for row in rows[:PARTIES_ROWS]:
        if not any(folded(word.text).startswith("именуем") for word in row.words):
            continue
        words = [(word, row) for word in row.words]
        first = _name_at(words, 0)
        second = _second(words, first[1]) if first else None
        if first and second:
            yield from (first[0], second)
            return
