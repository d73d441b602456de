"""How log records are written: one record's own words never look like another record.

Messages and exceptions quote what anybody sent and what is in their files. A line break in such words
would begin a line of its own, which nobody could tell from a real one; a password in an address would be kept.
"""

import logging
import traceback
from collections.abc import Iterator
from types import TracebackType

from webapp.jobs.scrub import scrubbed

_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_EXCEPTION_CHARACTERS_MAX = 2_000
# What ends a line for one reader of logs or another.
_BREAKS = {ord(letter): ascii(letter)[1:-1] for letter in "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029\x00\x1b"}

_Raised = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


def set_up_logging() -> None:
    """Write this process's records to the standard error; what a library's own handlers write, too."""
    handler = logging.StreamHandler()
    logging.basicConfig(level=logging.INFO, handlers=[handler])
    for chatty in ("alembic", "azure"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    formatter = SafeFormatter(_FORMAT)
    for known in (*logging.getLogger().handlers, *logging.getLogger("gunicorn.error").handlers):
        known.setFormatter(formatter)


class SafeFormatter(logging.Formatter):
    """Escapes line breaks in messages, and scrubs what exceptions say; the lines of a traceback are ours."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """One line, whatever the message quotes."""
        return _one_line(super().formatMessage(record))

    def formatException(self, ei: _Raised) -> str:  # noqa: N802 - logging's name
        """Where it was raised, and its own words, scrubbed; what caused it comes first, as Python writes it."""
        error = ei[1]
        return "\n".join(_lines(error)) if error is not None else ""


def _lines(error: BaseException) -> Iterator[str]:
    chain = list(_chain(error))
    for number, raised in enumerate(reversed(chain)):
        if number:
            yield "which led to:"
        yield "Traceback (most recent call last):"
        yield "".join(traceback.format_tb(raised.__traceback__)).rstrip("\n")
        words = _one_line(scrubbed(_said(raised), _EXCEPTION_CHARACTERS_MAX))
        yield f"{type(raised).__module__}.{type(raised).__qualname__}: {words}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The exception, then what it was raised from, and so on."""
    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        yield found
        found = found.__cause__ or (None if found.__suppress_context__ else found.__context__)


def _said(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001 - a broken __str__ must not hide where it happened
        return "(it could not be put into words)"


def _one_line(words: str) -> str:
    return words.translate(_BREAKS)
