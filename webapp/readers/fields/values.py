"""Reads a value of the type that its label asks for."""

import re
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal

from webapp.readers.fields.amounts import CURRENCY_WORD, Amount, currency_code, read_amount, read_booked, read_number
from webapp.readers.fields.codes import read_account, read_code, read_email, read_iban, read_phone, read_vat
from webapp.readers.fields.dates import read_date
from webapp.readers.fields.found import Value
from webapp.readers.fields.spans import read_duration, read_period
from webapp.readers.fields.vocabulary import KINDS
from webapp.readers.fields.words import PlacedWord, folded, folded_set

AMOUNT_WORDS_MAX = 6
PERCENT = re.compile(r"[(@]{0,2}(\d{1,2}(?:[.,]\d{1,2})?)\s?(%?)[),.:]{0,2}")
_FILLERS = frozenset({":", "-", "\u2013", "=", "no", "no.", "nr.", "n.º", "n°", "nº", "№", "#", "|"})

# Between the name of a balance and its date: "Opening balance as of 1 May 2026".
_ON = folded_set("on at as of per vom am zum den em a el al de au du le на с по brought carried forward")
BALANCE_LEAD_MAX = 8
TEXT_CHARACTERS_MAX = 200

Words = Sequence[PlacedWord]


def read_value(kind: str, words: Words) -> tuple[Value, int] | None:
    """Read the value that words begin with, and how many of them it takes; None where it isn't of that type."""
    skipped = 0
    while skipped < len(words) and words[skipped].text.casefold() in _FILLERS:
        skipped += 1
    words = words[skipped:]
    if not words:
        return None
    found = _READERS[KINDS[kind][1]](words)
    return (found[0], found[1] + skipped) if found else None


def amount_at_end(words: Words) -> tuple[Value, int] | None:
    """The amount that words end with, if they are amounts, rates and currencies and nothing else."""
    if not words or any(_is_wordy(word.text) for word in words):
        return None
    amounts = amounts_in(words)
    if not amounts:
        return None
    others = tuple(each.number for each in amounts[:-1] if each.number is not None)
    return replace(amounts[-1], others=others), len(words)


def rate_of(text: str) -> Decimal | None:
    """A percentage."""
    found = PERCENT.fullmatch(text)
    return read_number(found[1]) if found else None


def amounts_in(words: Words) -> list[Value]:
    """All amounts of a row of words, from left to right; the longest reading counts."""
    found: list[Value] = []
    end = len(words)
    while end > 0:
        for start in range(max(0, end - AMOUNT_WORDS_MAX), end):
            amount = read_amount(" ".join(word.text for word in words[start:end]))
            if amount is not None:
                found.append(_money(words[start:end], amount))
                end = start
                break
        else:
            end -= 1
    return found[::-1]


def booked_at_end(words: Words) -> tuple[Value, int] | None:
    """The amount of an account that words make, with its sign."""
    amount = read_booked(" ".join(word.text for word in words)) if words else None
    return (_money(words, amount), len(words)) if amount else None


def dated_lead(words: Words) -> int:
    """How many words at the beginning are a date and what joins it to the words before it."""
    at = 0
    while at < min(len(words), BALANCE_LEAD_MAX):
        text = words[at].text
        found = read_date(word.text for word in words[at:]) if any(map(str.isalnum, text)) else None
        if found is None and folded(text) not in _ON and any(map(str.isalnum, text)):
            break
        if found is None and not any(map(str.isalnum, text)) and currency_code(text):
            break
        at += found.words if found else 1
    return at


def _money(words: Words, amount: Amount) -> Value:
    return Value(" ".join(word.text for word in words), tuple(words), amount.value, amount.currency)


def _is_wordy(text: str) -> bool:
    letters = any(map(str.isalpha, text))
    return letters and CURRENCY_WORD.fullmatch(text) is None and read_amount(text) is None


def _read_amount(words: Words) -> tuple[Value, int] | None:
    found = amount_at_end(words)
    if found is None or found[0].currency or found[0].number is None:
        return found
    # "Total (EUR)  1,234.00": the currency is with the label.
    signs = [code for word in words if CURRENCY_WORD.fullmatch(word.text) and (code := currency_code(word.text))]
    return replace(found[0], currency=signs[0] if signs else None), found[1]


def _read_balance(words: Words) -> tuple[Value, int] | None:
    rest = words[dated_lead(words) :]
    found = booked_at_end(rest) or amount_at_end(rest)
    return (found[0], len(words)) if found else None


def _read_period(words: Words) -> tuple[Value, int] | None:
    found = read_period([word.text for word in words])
    if found is None:
        return None
    taken = words[: found.words]
    return Value(
        " ".join(word.text for word in taken).strip(".,;"), tuple(taken), date=found.start, until=found.end
    ), found.words


def _read_duration(words: Words) -> tuple[Value, int] | None:
    found = read_duration([word.text for word in words])
    if found is None:
        return None
    code, taken = found
    text = " ".join(word.text for word in words[:taken]).strip(".,;'\u2019")
    return Value(text, tuple(words[:taken]), code=code), taken


def _read_text(words: Words) -> tuple[Value, int] | None:
    text = " ".join(word.text for word in words)
    is_one = len(text) <= TEXT_CHARACTERS_MAX and any(map(str.isalpha, text))
    return (Value(text, tuple(words), code=text), len(words)) if is_one else None


def _read_code(words: Words) -> tuple[Value, int] | None:
    found = read_code([word.text for word in words[:6]])
    return _taken(words, found) if found else None


def _read_date(words: Words) -> tuple[Value, int] | None:
    found = read_date(word.text for word in words)
    if found is None:
        return None
    text = " ".join(word.text for word in words[: found.words]).strip(",;()")
    return Value(text.removesuffix("."), tuple(words[: found.words]), date=found), found.words


def _read_iban(words: Words) -> tuple[Value, int] | None:
    found = read_iban([word.text for word in words[:10]])
    if found is None:
        return None
    code, taken, is_checked = found
    text = " ".join(word.text for word in words[:taken]).strip(",;")
    return Value(text, tuple(words[:taken]), code=code, is_checked=is_checked), taken


def _read_vat(words: Words) -> tuple[Value, int] | None:
    found = read_vat([word.text for word in words[:4]], labelled=True)
    if found is None:
        return None
    value, taken = _taken(words, found)
    return replace(value, text=" ".join(word.text for word in words[:taken]).strip(",;"), code=found[0]), taken


def _read_email(words: Words) -> tuple[Value, int] | None:
    found = read_email(words[0].text)
    return (Value(found, (words[0],), code=found.casefold()), 1) if found else None


def _read_phone(words: Words) -> tuple[Value, int] | None:
    found = read_phone(" ".join(word.text for word in words[:6]))
    if found is None:
        return None
    taken = len(found.split())
    return Value(found, tuple(words[:taken]), code=re.sub(r"[^\d+]", "", found)), taken


def _read_account(words: Words) -> tuple[Value, int] | None:
    found = read_account([word.text for word in words[:2]])
    return _taken(words, found) if found else None


def _read_word(words: Words) -> tuple[Value, int] | None:
    return Value(words[0].text, (words[0],), code=words[0].text), 1


def _taken(words: Words, found: tuple[str, int]) -> tuple[Value, int]:
    text, taken = found
    return Value(text, tuple(words[:taken]), code=text), taken


_READERS = {
    "amount": _read_amount, "tax": _read_amount, "code": _read_code, "date": _read_date, "iban": _read_iban,
    "vat": _read_vat, "email": _read_email, "phone": _read_phone, "account": _read_account, "currency": _read_word,
    "bic": _read_word, "balance": _read_balance, "period": _read_period, "duration": _read_duration, "text": _read_text,
}  # fmt: skip
