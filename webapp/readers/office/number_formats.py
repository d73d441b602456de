"""Number formats of spreadsheets: how a cell's number or date is shown, by the format's code.

A code has up to four sections (`#,##0.00;[Red]-#,##0.00;"none";@`): for positive numbers, negative ones, zero, texts.
The program that shows a workbook writes decimals, and some dates, as its user's language does, which no file tells.
Here decimals have a point and thousands a comma, as in the code; a date that only the user's language decides stays as
ISO 8601 has it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation

CODE_CHARACTERS_MAX = 500
DIGITS_MAX = 30
# Those with a meaning of their own; 14 and 22 are dates as the user's language writes them.
BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 37: "#,##0;(#,##0)",
    38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 45: "mm:ss", 46: "[h]:mm:ss",
    47: "mm:ss.0", 48: "##0.0E+0",
}  # fmt: skip
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]{0,255})\]'
    r"|(?P<ampm>AM/PM|A/P)|(?P<exponent>[eE][+-])|(?P<date>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+)|(?P<digits>[0#?.,]+)|(?P<other>.)",
    re.DOTALL,
)
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)(-?\d+(?:\.\d+)?)")
_COLOUR = re.compile(r"[A-Za-z]+ ?\d*")
_CURRENCY = re.compile(r"\$(?P<symbol>[^-]*)(?:-(?P<language>[0-9A-Fa-f]+))?")
# What is opened and never closed.
_OPENED = frozenset('"[\\')
_ENGLISH = 0x09
# Runs of so many letters are numbers; longer ones are names, of which those of three letters are short.
_NUMBER_LETTERS, _SHORT_NAME_LETTERS, _FIRST_LETTER = 2, 3, 5
_NOON = 12
_COMPARED = {
    "<": Decimal.__lt__, "<=": Decimal.__le__, ">": Decimal.__gt__, ">=": Decimal.__ge__, "=": Decimal.__eq__,
    "<>": Decimal.__ne__,
}  # fmt: skip
Moment = date | time | datetime | timedelta


class _NotKnown(Exception):
    """A code with something in it that is not read, or that the user's language decides."""


@dataclass(frozen=True, slots=True)
class _Part:
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class _Section:
    parts: tuple[_Part, ...]
    condition: tuple[str, Decimal] | None = None

    @property
    def is_moment(self) -> bool:
        return any(part.kind in {"date", "elapsed", "ampm"} for part in self.parts)


class NumberFormat:
    """A format, parsed once for all cells that have it."""

    def __init__(self, code: str) -> None:
        try:
            self._sections = _sections(code)
        except (_NotKnown, InvalidOperation):
            self._sections = ()

    @property
    def is_known(self) -> bool:
        """Whether it says more than the value itself."""
        return bool(self._sections)

    def number(self, value: float) -> str | None:
        """A number as it is shown; None where the format can't say."""
        try:
            amount = Decimal(repr(value))
            section, is_own = _chosen(self._sections, amount)
            if section.is_moment:
                return None
            # Where it shows nothing, as "#" does of zero, the value says more.
            return _written(section, abs(amount) if is_own else amount) or None
        except (_NotKnown, InvalidOperation, IndexError):
            return None

    def moment(self, value: Moment) -> str | None:
        """A date or a time as it is shown; None where the format can't say."""
        try:
            return _moment(self._sections[0], value)
        except (_NotKnown, IndexError):
            return None


def _sections(code: str) -> tuple[_Section, ...]:
    if len(code) > CODE_CHARACTERS_MAX or code.strip().lower() in {"", "general", "@", "standard"}:
        raise _NotKnown
    sections: list[list[_Part]] = [[]]
    for found in _TOKEN.finditer(code):
        kind, text = str(found.lastgroup), found[str(found.lastgroup)]
        if kind == "other" and text == ";":
            sections.append([])
        else:
            sections[-1] += _parts(kind, text)
    return tuple(_section(parts) for parts in sections[:3])


def _parts(kind: str, text: str) -> list[_Part]:
    match kind:
        case "quoted" | "escaped":
            found = [_Part("text", text)]
        case "space":
            found = [_Part("text", " ")]
        case "fill":
            found = []
        case "bracket":
            found = _bracket(text)
        case "other" if text in _OPENED:
            raise _NotKnown
        case "other":
            # A slash is a fraction, or separates the parts of a date.
            found = [_Part({"%": "percent", "@": "slash", "/": "slash"}.get(text, "text"), text)]
        case _:
            found = [_Part(kind, text)]
    return found


def _bracket(text: str) -> list[_Part]:
    if _ELAPSED.fullmatch(text):
        return [_Part("elapsed", text.lower())]
    if condition := _CONDITION.fullmatch(text):
        return [_Part("condition", condition[0])]
    currency = _CURRENCY.fullmatch(text)
    if currency is None:
        if _COLOUR.fullmatch(text):
            return []
        raise _NotKnown
    language = int(currency["language"] or "0", 16) & 0xFFFF
    # Dates as the system of the user writes them, and names of months in other languages.
    found = [_Part("text", currency["symbol"])] if currency["symbol"] else []
    return [*found, _Part("foreign", "")] if language and language & 0x3FF != _ENGLISH else found


def _section(parts: Sequence[_Part]) -> _Section:
    condition = next((_CONDITION.fullmatch(part.text) for part in parts if part.kind == "condition"), None)
    kept = tuple(part for part in parts if part.kind != "condition")
    return _Section(kept, (condition[1], Decimal(condition[2])) if condition else None)


def _chosen(sections: Sequence[_Section], amount: Decimal) -> tuple[_Section, bool]:
    """The section for a number, and whether it is one for negative numbers, which writes their sign itself."""
    conditional = [section for section in sections if section.condition]
    if conditional:
        for section in conditional:
            name, limit = section.condition or ("=", amount)
            if _COMPARED[name](amount, limit):
                return section, False
        return sections[-1], False
    if amount < 0 and len(sections) > 1:
        return sections[1], True
    if amount == 0 and sections[2:]:
        return sections[2], True
    return sections[0], False


def _written(section: _Section, amount: Decimal) -> str:
    kinds = [part.kind for part in section.parts]
    if "slash" in kinds or "date" in kinds:
        raise _NotKnown
    places = [number for number, kind in enumerate(kinds) if kind == "digits"]
    if not places:
        return "".join(part.text for part in section.parts if part.kind in {"text", "percent"})
    if len(places) > 1 and "exponent" not in kinds:
        raise _NotKnown
    amount *= 100 ** kinds.count("percent")
    if "exponent" in kinds:
        body, last = _scientific(section.parts, places, amount), places[-1]
    else:
        body, last = _decimal(section.parts[places[0]].text, abs(amount)), places[0]
    sign = "-" if amount < 0 and any(digit in "123456789" for digit in body) else ""
    before = "".join(part.text for part in section.parts[: places[0]] if part.kind in {"text", "percent"})
    after = "".join(part.text for part in section.parts[last + 1 :] if part.kind in {"text", "percent"})
    return f"{sign}{before}{body}{after}".strip()


def _decimal(pattern: str, amount: Decimal) -> str:
    whole, point, fraction = pattern.partition(".")
    scale = len(pattern) - len(pattern.rstrip(","))
    whole, fraction = (whole.rstrip(","), fraction) if not point else (whole, fraction.rstrip(","))
    has_thousands = "," in whole
    digits_least, whole_places = whole.replace(",", "").count("0"), fraction.replace(",", "")
    if len(whole_places) > DIGITS_MAX or digits_least > DIGITS_MAX or amount.adjusted() > DIGITS_MAX:
        raise _NotKnown
    scaled = amount / (Decimal(1000) ** scale)
    rounded = scaled.quantize(Decimal(1).scaleb(-len(whole_places)), ROUND_HALF_UP)
    left, _, right = f"{rounded:f}".partition(".")
    left = left.lstrip("0").rjust(digits_least, "0")
    if has_thousands:
        left = f"{int(left or 0):,}" if digits_least <= 1 else left
        left = "" if left == "0" and digits_least == 0 else left
    least = max((place for place, mark in enumerate(whole_places, 1) if mark == "0"), default=0)
    right = right[:least] + right[least:].rstrip("0")
    return f"{left}.{right}" if right else left


def _scientific(parts: Sequence[_Part], places: Sequence[int], amount: Decimal) -> str:
    """A number like 1.25E+03; a pattern with several digits before the point is shown with one."""
    if len(places[:3]) != len(("digits", "exponent")):
        raise _NotKnown
    pattern, exponent_digits = parts[places[0]].text, len(parts[places[1]].text)
    decimals = len(pattern.partition(".")[2])
    if decimals > DIGITS_MAX or exponent_digits > DIGITS_MAX:
        raise _NotKnown
    mantissa, _, exponent = f"{abs(amount):.{decimals}E}".partition("E")
    power = int(exponent)
    sign = "-" if power < 0 else "+" if parts[places[1] - 1].text.endswith("+") else ""
    return f"{mantissa}E{sign}{abs(power):0{exponent_digits}}"


def _moment(section: _Section, value: Moment) -> str:
    if not section.is_moment:
        raise _NotKnown
    has_names = any(
        part.kind == "date" and part.text[0] in "mMdD" and len(part.text) > _NUMBER_LETTERS for part in section.parts
    )
    if has_names and any(part.kind == "foreign" for part in section.parts):
        raise _NotKnown
    clock = _Clock(value, is_half_day=any(part.kind == "ampm" for part in section.parts))
    shown = []
    for number, part in enumerate(section.parts):
        if part.kind == "date":
            shown.append(clock.shown(part.text.lower(), is_minute=_is_minute(section.parts, number)))
        elif part.kind == "elapsed":
            shown.append(clock.elapsed(part.text))
        elif part.kind == "ampm":
            shown.append(("AM", "PM")[clock.hour >= _NOON][: 1 + (part.text == "AM/PM")])
        elif part.kind == "digits":
            # Fractions of a second are dropped, and so is the point before them.
            shown.append(part.text if part.text.strip("0") in {".", ","} and len(part.text) == 1 else "")
        elif part.kind in {"text", "slash"} and part.text != "@":
            shown.append(part.text)
    return "".join(shown).strip()


def _is_minute(parts: Sequence[_Part], number: int) -> bool:
    """Whether an "m" means minutes: it follows hours, or comes before seconds."""
    around = [part for part in parts if part.kind in {"date", "elapsed"}]
    place = next(index for index, part in enumerate(around) if part is parts[number])
    before, after = around[:place][-1:], around[place + 1 :][:1]
    return any(part.text[0] in "hH" for part in before) or any(part.text[0] in "sS" for part in after)


class _Clock:
    """A date or a time, in the parts that formats are made of."""

    def __init__(self, value: Moment, *, is_half_day: bool) -> None:
        self._value = value
        self._is_half_day = is_half_day
        if isinstance(value, timedelta):
            self._seconds = round(value.total_seconds())
        elif isinstance(value, datetime | time):
            self._seconds = value.hour * 3600 + value.minute * 60 + value.second
        else:
            self._seconds = 0
        self.hour, self._minute = abs(self._seconds) // 3600 % 24, abs(self._seconds) // 60 % 60
        self._second = abs(self._seconds) % 60

    def elapsed(self, mark: str) -> str:
        """Hours, minutes or seconds that are not cut at a day, an hour or a minute."""
        if isinstance(self._value, date):
            raise _NotKnown
        unit = {"h": 3600, "m": 60, "s": 1}[mark[0]]
        sign = "-" if self._seconds < 0 else ""
        return f"{sign}{abs(self._seconds) // unit:0{len(mark)}}"

    def shown(self, mark: str, *, is_minute: bool) -> str:
        """What a run of one letter means."""
        if mark[0] == "h":
            hour = (self.hour - 1) % 12 + 1 if self._is_half_day else self.hour
            return f"{hour:0{min(len(mark), 2)}}"
        if mark[0] == "s":
            return f"{self._second:0{min(len(mark), 2)}}"
        if mark[0] == "m" and is_minute:
            return f"{self._minute:0{min(len(mark), 2)}}"
        if not isinstance(self._value, date):
            raise _NotKnown
        return _of_day(mark, self._value)


def _of_day(mark: str, day: date) -> str:
    if mark[0] == "y":
        return f"{day.year:04}" if len(mark) > _NUMBER_LETTERS else f"{day.year % 100:02}"
    number, names = (day.month, _MONTHS) if mark[0] == "m" else (day.day, _DAYS)
    if len(mark) <= _NUMBER_LETTERS:
        return f"{number:0{len(mark)}}"
    name = names[day.month - 1 if mark[0] == "m" else day.weekday()]
    if mark[0] == "m" and len(mark) == _FIRST_LETTER:
        return name[0]
    return name[:3] if len(mark) == _SHORT_NAME_LETTERS else name
