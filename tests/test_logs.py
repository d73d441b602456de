"""What a log record quotes never looks like another record, and never keeps a password."""

import io
import logging

from webapp.logs import SafeFormatter

FORGED = "2026-01-01 00:00:00,000 WARNING webapp.audit: somebody did something"


def written(message: str, error: Exception | None = None) -> list[str]:
    """The lines of one record."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.setFormatter(SafeFormatter("%(levelname)s %(name)s: %(message)s"))
    exc_info = (type(error), error, error.__traceback__) if error else None
    record = logging.LogRecord("webapp", logging.ERROR, __file__, 1, message, (), exc_info)
    handler.handle(record)
    return out.getvalue().rstrip("\n").split("\n")


def raised(words: str, cause: str | None = None) -> Exception:
    try:
        try:
            raise LookupError(cause)
        except LookupError as error:
            raise ValueError(words) from (error if cause else None)
    except ValueError as error:
        return error


def test_a_message_is_one_line() -> None:
    for letter in ("\n", "\r", "\r\n", "\x85", "\u2028", "\v"):
        lines = written(f"could not read a{letter}{FORGED}")
        assert len(lines) == 1
        assert len(lines[0].splitlines()) == 1


def test_foreign_line_breaks_in_an_exception_begin_no_line() -> None:
    for error in (raised(f"bad\n{FORGED}"), raised("ours", cause=f"bad\r\n{FORGED}\u2028{FORGED}")):
        lines = [line for whole in written("500", error) for line in whole.splitlines()]
        assert not any(line.startswith(FORGED) for line in lines)
        assert any(FORGED in line for line in lines)


def test_a_traceback_still_says_where_and_why() -> None:
    text = "\n".join(written("500", raised("second", cause="first")))
    assert text.index("LookupError: first") < text.index("which led to:") < text.index("ValueError: second")
    assert text.count("test_logs.py") == 2


def test_an_exception_keeps_no_password() -> None:
    text = "\n".join(written("500", raised("cannot reach postgresql://ana:hunter2@db/docmill")))
    assert "hunter2" not in text
    assert "@db/docmill" in text


def test_an_exception_that_cannot_be_put_into_words_is_still_logged() -> None:
    class Mute(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert "Mute: (it could not be put into words)" in written("500", Mute())[-1]
