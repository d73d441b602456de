"""What the answers of all vendors have in common: how long to wait, and words that may be kept."""

from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime

from webapp import clock

MESSAGE_CHARACTERS_MAX = 300
SECRET_CHARACTERS_MIN = 4
MASK = "***"


def retry_after_seconds(headers: Mapping[str, str]) -> float | None:
    """Read how long a service asks to be left alone: milliseconds, seconds or a date; None where it says nothing."""
    found = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("x-ms-retry-after-ms", 0.001), ("retry-after", 1.0)):
        if name in found and (seconds := _number(found[name])) is not None:
            return seconds * unit
    return _until(found.get("retry-after", ""))


def redactor(*secrets: str) -> Callable[[str], str]:
    """Make a function that takes these secrets out of words and cuts them; vendors like to quote keys."""
    hidden = [secret for secret in secrets if len(secret) >= SECRET_CHARACTERS_MIN]

    def redact(words: str) -> str:
        for secret in hidden:
            words = words.replace(secret, MASK)
        return " ".join(words.split())[:MESSAGE_CHARACTERS_MAX]

    return redact


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    # Also not for NaN and infinity.
    return value if 0 <= value < 1e9 else None


def _until(date: str) -> float | None:
    try:
        return max(0.0, (parsedate_to_datetime(date) - clock.utc_now()).total_seconds())
    except (ValueError, TypeError, IndexError):
        return None
