"""Reads amounts of money and numbers, in the forms of many countries."""

import re
from dataclasses import dataclass
from decimal import Decimal

CENT = Decimal("0.01")
SIGNS = {
    "€": "EUR", "£": "GBP", "$": "USD", "US$": "USD", "R$": "BRL", "₽": "RUB", "₴": "UAH", "zł": "PLN", "¥": "JPY",
    "₹": "INR", "C$": "CAD", "A$": "AUD", "руб.": "RUB", "руб": "RUB", "р.": "RUB", "kr": "SEK", "Kč": "CZK",
    "Fr.": "CHF", "SFr.": "CHF",
}  # fmt: skip
CODES = frozenset(
    {
        "EUR", "GBP", "USD", "CHF", "BRL", "RUB", "RUR", "UAH", "PLN", "JPY", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK",
        "CZK", "HUF", "INR", "CNY", "MXN", "ARS", "CLP", "COP", "ZAR", "TRY", "KZT", "BYN",
    }
)  # fmt: skip
_CURRENCY = "|".join(sorted(map(re.escape, (*SIGNS, *CODES)), key=len, reverse=True))
_SPACE = "[ \u00a0\u202f\u2009]"
_DIGITS = (
    rf"\d{{1,3}}(?:(?P<gap>[.,'\u2019]|{_SPACE})\d{{3}}(?:(?P=gap)\d{{3}}){{0,4}})?(?:[.,]\d{{1,4}})?"
    r"|\d{1,12}(?:[.,]\d{1,4})?"
)
_AMOUNT = re.compile(
    rf"\(?(?P<minus>[-\u2212\u2013]?){_SPACE}?(?P<before>{_CURRENCY})?{_SPACE}?(?P<minus2>[-\u2212]?)"
    rf"(?P<number>{_DIGITS})"
    rf"(?P<minus3>-?){_SPACE}?(?P<after>{_CURRENCY})?\)?"
)
_GAPS = re.compile("[ \u00a0\u202f\u2009'\u2019]")
CURRENCY_WORD = re.compile(rf"[(\[]?(?:in )?(?:{_CURRENCY})[)\]]?:?", re.IGNORECASE)
# Behind an amount of an account: on which side it was booked.
_BOOKED = re.compile(r"[ \u00a0]?\b(CR|DR|Cr|Dr|H|S|C|D|Кт|Дт)\.?\Z")
_DEBITS = frozenset({"dr", "s", "d", "дт"})


@dataclass(frozen=True, slots=True)
class Amount:
    """A number with its currency's code, where it has one."""

    value: Decimal
    currency: str | None
    has_cents: bool


def read_amount(text: str) -> Amount | None:
    """Read a text that is an amount and nothing else."""
    found = _AMOUNT.fullmatch(text.strip())
    if found is None:
        return None
    value = read_number(found["number"])
    if value is None:
        return None
    is_negative = bool(found["minus"] or found["minus2"] or found["minus3"]) or text.strip().startswith("(")
    sign = found["before"] or found["after"]
    has_cents = bool(re.search(r"[.,]\d\d\Z", found["number"]))
    return Amount(-value if is_negative else value, currency_code(sign) if sign else None, has_cents)


def read_booked(text: str) -> Amount | None:
    """Read an amount of an account, with its sign as banks write it: "1.234,56 S", "+50.00", "120.00 CR"."""
    text = text.strip()
    mark = _BOOKED.search(text)
    found = read_amount(text[: mark.start()] if mark else text.removeprefix("+").removesuffix("+"))
    if found is None or mark is None:
        return found
    is_debit = mark[1].casefold() in _DEBITS
    return Amount(-abs(found.value) if is_debit else found.value, found.currency, found.has_cents)


def currency_code(sign: str) -> str | None:
    """The code of a currency's sign or code."""
    sign = sign.strip("()[]: ")
    code = SIGNS.get(sign) or SIGNS.get(sign.lower()) or sign.upper()
    return "RUB" if code == "RUR" else code if code in CODES or sign in SIGNS else None


def read_number(text: str) -> Decimal | None:
    """A number whose thousands and decimals are marked in any usual way."""
    text = _GAPS.sub("", text)
    marks = [each for each in text if each in ".,"]
    if len(set(marks)) == 2:
        point = marks[-1]
        text = text.replace("," if point == "." else ".", "").replace(point, ".")
    elif len(marks) > 1 or (marks and re.search(r"[.,]\d{3}\Z", text) and not text.startswith("0")):
        # One mark with three digits behind it parts thousands: amounts have two decimals.
        text = text.replace(",", "").replace(".", "")
    else:
        text = text.replace(",", ".")
    return Decimal(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None


def shown(value: Decimal) -> str:
    """An amount as programs read it: "1234.50"."""
    return f"{value:.2f}"
