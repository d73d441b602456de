"""Values as a person types them, read as the type that their field or column has."""

from enum import StrEnum

from webapp.readers.cleaning import CELL_CHARACTERS_MAX, UNWANTED
from webapp.readers.fields.amounts import read_amount, read_booked, shown
from webapp.readers.fields.codes import read_email
from webapp.readers.fields.dates import read_date
from webapp.readers.fields.values import read_value
from webapp.readers.fields.vocabulary import KINDS
from webapp.readers.fields.words import PlacedWord

VALUE_CHARACTERS_MAX = CELL_CHARACTERS_MAX
NUMBER_COLUMNS = frozenset(
    {"quantity", "price", "discount", "rate", "tax", "amount", "gross", "credit", "debit", "balance"}
)
_AMOUNTS = frozenset({"amount", "tax", "balance"})


class WrongValueCode(StrEnum):
    """Why a value can't be what its field holds; the pages have a sentence for each."""

    EMPTY = "empty"
    TOO_LONG = "too_long"
    NO_DATE = "no_date"
    TWO_DATES = "two_dates"
    """Day and month could be the other way round."""
    NO_AMOUNT = "no_amount"
    NO_EMAIL = "no_email"


class WrongValue(ValueError):
    """A value that its field can't hold."""

    def __init__(self, code: WrongValueCode) -> None:
        super().__init__(code)
        self.code = code


def read_typed(kind: str | None, typed: str) -> tuple[str, str | None]:
    """The value of a field of this kind, and as programs read it, where its kind is known; WrongValue."""
    text = _clean(typed)
    if not text:
        raise WrongValue(WrongValueCode.EMPTY)
    if kind not in KINDS:
        return text, None
    match KINDS[kind][1]:
        case "date":
            return text, _day(text)
        case form if form in _AMOUNTS:
            return text, _amount(text)
        case "email":
            return text, _email(text)
    return text, _code(kind, text)


def read_cell(column: str | None, typed: str) -> str:
    """The text of a cell in a column of this type; a cell may be empty; WrongValue."""
    text = _clean(typed)
    if not text:
        return ""
    if column == "date":
        _day(text)
    elif column in NUMBER_COLUMNS:
        _amount(text.removesuffix("%"))
    return text


def _clean(typed: str) -> str:
    text = " ".join(UNWANTED.sub("", typed).split())
    if len(text) > VALUE_CHARACTERS_MAX:
        raise WrongValue(WrongValueCode.TOO_LONG)
    return text


def _day(text: str) -> str:
    words = text.split()
    found = read_date(words)
    if found is None or found.words != len(words):
        raise WrongValue(WrongValueCode.NO_DATE)
    if found.other is not None:
        raise WrongValue(WrongValueCode.TWO_DATES)
    return found.day.isoformat()


def _amount(text: str) -> str:
    found = read_amount(text) or read_booked(text)
    if found is None:
        raise WrongValue(WrongValueCode.NO_AMOUNT)
    return shown(found.value)


def _email(text: str) -> str:
    found = read_email(text)
    if found != text:
        raise WrongValue(WrongValueCode.NO_EMAIL)
    return text.casefold()


def _code(kind: str, text: str) -> str:
    """As a reader would give it, where it can read all of it."""
    words = [PlacedWord(word, 0.0, 0.0, 0.0, 0.0) for word in text.split()]
    found = None if KINDS[kind][1] == "party" else read_value(kind, words)
    return (found[0].code or text) if found is not None and found[1] == len(words) else text
