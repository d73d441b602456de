"""What a person or a program says of a value, out of a request; and the sentence for a value that can't be."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flask import request

from webapp.library.corrections import Verdict
from webapp.library.typed_values import VALUE_CHARACTERS_MAX, WrongValue, WrongValueCode
from webapp.web.document.changes import is_text, unix_lines
from webapp.web.errors import Problem

_BODY_BYTES_MAX = 64 << 10
_WANTED = (
    'Send {"value": "…"}, {"absent": true} or {"confirmed": true}; with "found", the value that you saw, if you like.'
)
_SENTENCES = {
    WrongValueCode.EMPTY: "A value can't be empty. If the document has none, choose “Not there”.",
    WrongValueCode.TOO_LONG: f"A value has {VALUE_CHARACTERS_MAX:,} characters at most.",
    WrongValueCode.NO_DATE: "This must be a date, such as 2026-03-31.",
    WrongValueCode.TWO_DATES: "Day and month could be the other way round here. Write the date like 2026-03-31.",
    WrongValueCode.NO_AMOUNT: "This must be an amount, such as 1234.50.",
    WrongValueCode.NO_EMAIL: "This must be an e-mail address.",
}


@dataclass(frozen=True)
class Saying:
    """What is said: that a value is right, another one, or none. `seen` is what was found when they looked."""

    verdict: Verdict
    typed: str = ""
    seen: str | None = None


def in_json() -> Saying:
    """What a program says."""
    if (request.content_length or 0) > _BODY_BYTES_MAX:
        raise Problem(413, detail=_WANTED)
    body: object = request.get_json(silent=True)
    given: dict[Any, Any] = dict(body) if isinstance(body, Mapping) else {}
    seen = given.pop("found", None)
    if len(given) != 1 or not isinstance(seen, str | None):
        raise Problem(422, detail=_WANTED)
    [(name, value)] = given.items()
    if name == "value" and isinstance(value, str) and is_text(value):
        return Saying(Verdict.VALUE, value, seen)
    if name in {Verdict.ABSENT, Verdict.CONFIRMED} and value is True:
        return Saying(Verdict(name), seen=seen)
    raise Problem(422, detail=_WANTED)


def in_form() -> Saying | None:
    """What a form says; None where it takes back what was said."""
    form = request.form
    if form.get("say") == "undo":
        return None
    if not is_text(form.get("value", "")) or form.get("say") not in {*Verdict}:
        raise Problem(422, detail="Choose “Confirm”, “Not there” or “Save”.")
    return Saying(Verdict(form["say"]), form.get("value", ""), form.get("seen"))


def sentence(wrong: WrongValue) -> str:
    """Why this value can't be, and what would be right."""
    return _SENTENCES[wrong.code]


def expect_seen(saying: Saying, found: str | None) -> None:
    """409 where another value was found since they looked."""
    # Browsers send each line break of a form as two characters.
    if saying.seen is not None and unix_lines(saying.seen) != unix_lines(found or ""):
        raise Problem(
            409, "found_anew", detail="This was read again meanwhile, and another value was found. Look at it again."
        )
