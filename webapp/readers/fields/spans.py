"""Reads spans of time in six languages: from one date to another, and durations such as "three (3) months"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from webapp.readers.fields.dates import FoundDate, read_date
from webapp.readers.fields.words import folded, folded_set

NUMBER_MAX = 120
# Between the two dates of a period, and before the first.
_UNTIL = folded_set("to until till through bis zum a al até ate hasta el au по") | {""}
_FROM = folded_set("from vom von de del desde du с за período период") | {""}
_GAP_MAX, _LEAD_MAX = 3, 3
_UNITS = {
    unit: frozenset(map(folded, words.split()))
    for unit, words in {
        "D": "day days tag tage tagen dia dias día días jour jours день дня дней",
        "W": "week weeks woche wochen semana semanas semaine semaines неделя недели недель",
        "M": "month months monat monate monaten monats mês meses mes mois месяц месяца месяцев",
        "Y": "year years jahr jahre jahren ano anos año años an ans année années год года лет",
    }.items()
}
_NUMBERS = {
    folded(word): number
    for number, words in {
        1: "one ein eine einen einem einer eines um uma un una uno une один одного одна",
        2: "two zwei dois duas dos deux два двух две",
        3: "three drei três tres trois три трех трёх",
        4: "four vier quatro cuatro quatre четыре четырех",
        5: "five fünf cinco cinq пять пяти",
        6: "six sechs seis шесть шести",
        7: "seven sieben sete siete sept семь семи",
        8: "eight acht oito ocho huit восемь",
        9: "nine neun nove nueve neuf девять",
        10: "ten zehn dez diez dix десять десяти",
        12: "twelve zwölf doze doce douze двенадцать двенадцати",
        14: "fourteen vierzehn catorze quatorze четырнадцать",
        15: "fifteen fünfzehn quinze quince пятнадцать пятнадцати",
        18: "eighteen achtzehn dezoito dieciocho",
        20: "twenty zwanzig vinte veinte vingt двадцать двадцати",
        24: "vierundzwanzig veinticuatro",
        30: "thirty dreißig dreissig trinta treinta trente тридцать тридцати",
        36: "sechsunddreißig",
        60: "sixty sechzig sessenta sesenta soixante шестьдесят шестидесяти",
        90: "ninety neunzig noventa девяносто девяноста",
    }.items()
    for word in words.split()
}  # fmt: skip
# Between a number and its unit: "30 calendar days", "3 volle Monate".
_BETWEEN = folded_set(
    """
    full calendar complete volle vollen ganze corridos naturales calendario полных календарных mesi
    """
)
_BRACKETED = re.compile(r"\((?:\d{1,3}|[^\W\d_]{2,20})\)?")
_IN_DIGITS = re.compile(r"\(\d{1,3}\)")
_DIGITS = re.compile(r"\d{1,3}")


@dataclass(frozen=True, slots=True)
class FoundPeriod:
    """From one day to another, and how many words say so."""

    start: FoundDate
    end: FoundDate
    words: int


def read_period(words: Sequence[str]) -> FoundPeriod | None:
    """Read the period that a text begins with: "1 May 2026 to 31 May 2026"."""
    at = 0
    while at < min(_LEAD_MAX, len(words)) and folded(words[at]) in _FROM and not any(map(str.isdigit, words[at])):
        at += 1
    start = _date_at(words, at)
    if start is None:
        return None
    at += start.words
    until = at
    while until < min(at + _GAP_MAX, len(words)) and folded(words[until]) in _UNTIL:
        until += 1
    end = _date_at(words, until) if until > at else None
    return FoundPeriod(start, end, until + end.words) if end else None


def read_duration(words: Sequence[str]) -> tuple[str, int] | None:
    """Read the duration that a text begins with, in ISO 8601 ("P3M"), and how many words it takes."""
    if not words:
        return None
    number, at = _number(words[0]), 1
    if number is None and len(words) > 1:
        # A number of several words has its digits behind it: "quatre-vingt-dix (90) jours".
        at = next((place for place, word in enumerate(words[1:3], 1) if _IN_DIGITS.fullmatch(word)), 0)
        number = int(words[at][1:-1]) if at else None
    if number is None or not 0 < number <= NUMBER_MAX:
        return None
    while at < len(words) and (_BRACKETED.fullmatch(words[at].strip(",")) or folded(words[at]) in _BETWEEN):
        at += 1
    if at == len(words):
        return None
    unit = next((unit for unit, names in _UNITS.items() if folded(words[at].rstrip("'\u2019")) in names), None)
    return (f"P{number}{unit}", at + 1) if unit else None


def _date_at(words: Sequence[str], at: int) -> FoundDate | None:
    """A date at a place: a word without letters or digits is none."""
    return read_date(words[at:]) if at < len(words) and folded(words[at]) else None


def _number(word: str) -> int | None:
    text = word.strip("(),")
    return int(text) if _DIGITS.fullmatch(text) else _NUMBERS.get(folded(text))
