"""Reads what identifies somebody or something: numbers of documents, IBANs, VAT numbers, addresses, telephones."""

import re

from webapp.readers.fields.amounts import read_amount
from webapp.readers.fields.dates import read_date

CODE_CHARACTERS_MAX, LETTERS_MAX, GROUPS_MAX = 32, 4, 4
IBAN_LENGTHS = {
    "AD": 24, "AT": 20, "BE": 16, "BG": 22, "BR": 29, "CH": 21, "CY": 28, "CZ": 24, "DE": 22, "DK": 18, "EE": 20,
    "ES": 24, "FI": 18, "FR": 27, "GB": 22, "GR": 27, "HR": 21, "HU": 28, "IE": 22, "IS": 26, "IT": 27, "LI": 21,
    "LT": 20, "LU": 20, "LV": 21, "MC": 27, "MT": 31, "NL": 18, "NO": 15, "PL": 28, "PT": 25, "RO": 24, "SE": 24,
    "SI": 19, "SK": 24, "TR": 26, "UA": 29,
}  # fmt: skip
IBAN = re.compile(r"[A-Z]{2}\d{2}")
"""What an IBAN begins with."""
VAT = re.compile(r"[A-Z]{2}[A-Z0-9]{2}\d{6}")
"""What a VAT number with the letters of its country begins with."""
_IBAN_START = re.compile(r"[A-Z]{2}\d{2}[A-Z0-9]{0,30}")
_CODE = re.compile(r"[^\W_][\w./\u2013-]*")
_VAT = re.compile(
    r"(?:ATU\d{8}|BE[01]\d{9}|CHE-?\d{3}\.?\d{3}\.?\d{3}|CY\d{8}[A-Z]|CZ\d{8,10}|DE\d{9}|DK\d{8}|EE\d{9}|EL\d{9}"
    r"|ES[A-Z0-9]\d{7}[A-Z0-9]|FI\d{8}|FR[A-Z0-9]{2}\d{9}|GB\d{9}(?:\d{3})?|HR\d{11}|HU\d{8}|IE\d[A-Z0-9]\d{5}[A-Z]{1,2}|IT\d{11}"
    r"|LT(?:\d{9}|\d{12})|LU\d{8}|LV\d{11}|MT\d{8}|NL\d{9}B\d{2}|PL\d{10}|PT\d{9}|RO\d{2,10}|SE\d{12}|SI\d{8}|SK\d{10})"
)
_TAX_NUMBER = re.compile(r"[A-Z]{0,3}\d[\d ./-]{6,18}\d|[A-Z]-?\d{8}|[A-Z]{2,3}[\d.\- ]{8,14}\d|\d{8}[A-Z]")
_EMAIL = re.compile(r"[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,63}\.){1,4}[A-Za-z]{2,24}")
_PHONE = re.compile(r"\+?[\d(][\d ()/.\u2013-]{5,22}\d")
_ACCOUNT = re.compile(r"\d{8,24}")


def read_code(words: list[str]) -> tuple[str, int] | None:
    """Read a document's number at the beginning of words: the number, and how many words it takes."""
    words = [word.strip(",;") for word in words]
    first = next((number for number, word in enumerate(words[:3]) if any(map(str.isdigit, word))), None)
    if first is None or not all(word.isupper() and len(word) <= LETTERS_MAX for word in words[:first]):
        return None
    taken = first + 1
    # Groups of digits that go on to the end are one number; other words are not.
    if len(words) <= GROUPS_MAX and all(word.isdigit() for word in words[taken:]):
        taken = len(words)
    text = " ".join(words[:taken])
    return (text, taken) if all(map(_CODE.fullmatch, words[:taken])) and _is_code(text) else None


def read_iban(words: list[str]) -> tuple[str, int, bool] | None:
    """Read an IBAN: the number without spaces, how many words it takes, and whether its check digits are right."""
    joined = ""
    for taken, word in enumerate(words[:10], 1):
        joined += word.strip(",;.").upper()
        length = IBAN_LENGTHS.get(joined[:2], 0)
        if not length or not (_IBAN_START.fullmatch(joined) or len(joined) < 4) or len(joined) > length:
            return None
        if len(joined) == length:
            return joined, taken, _is_checked(joined)
    return None


def read_vat(words: list[str], *, labelled: bool) -> tuple[str, int] | None:
    """Read a VAT number: with its country's letters anywhere, without them only behind its label."""
    for taken in (1, 2, 3, 4):
        text = "".join(words[:taken]).strip(",;")
        if len(words) >= taken and _VAT.fullmatch(text):
            return text, taken
    text = words[0].strip(",;") if words else ""
    if labelled and _TAX_NUMBER.fullmatch(text):
        return text, 1
    return None


def is_vat(text: str) -> bool:
    """Whether a text is a VAT number with the letters of its country."""
    return bool(_VAT.fullmatch(text))


def read_email(text: str) -> str | None:
    """Find an e-mail address in a word."""
    found = _EMAIL.search(text)
    return found[0] if found else None


def read_phone(text: str) -> str | None:
    """Read a telephone number at the beginning of a text."""
    found = _PHONE.match(text)
    if found is None or not 6 <= sum(map(str.isdigit, found[0])) <= 15:
        return None
    return found[0].strip()


def read_account(words: list[str]) -> tuple[str, int] | None:
    """Read the number of an account that is no IBAN."""
    text = words[0].strip(",;") if words else ""
    return (text, 1) if _ACCOUNT.fullmatch(text) else None


def _is_code(text: str) -> bool:
    if len(text) > CODE_CHARACTERS_MAX or text.endswith(("-", "/")) or read_date([text]):
        return False
    amount = read_amount(text)
    return amount is None or (not amount.has_cents and amount.currency is None)


def _is_checked(iban: str) -> bool:
    return int("".join(str(int(each, 36)) for each in iban[4:] + iban[:4])) % 97 == 1
