"""What people and programs send about webhooks, read and checked."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from flask import request

from webapp.library.webhooks import EVENTS
from webapp.providers.checked_post import BadUrl
from webapp.web.access import services
from webapp.web.csrf import FIELD
from webapp.web.errors import Problem

_KNOWN = ("url", "events", "on")
_WRONG_EVENTS = f"Choose at least one event: {', '.join(EVENTS)}."
_WRONG_SINCE = "since must be a day or a time, as in 2026-03-01 or 2026-03-01T12:00:00Z."


class Mistaken(ValueError):
    """A value that can't be used: of which field, and a sentence that says why."""

    def __init__(self, field: str, sentence: str) -> None:
        super().__init__(sentence)
        self.field = field
        self.sentence = sentence


def asked(*known: str) -> dict[str, Any]:
    """What was sent, as JSON or by a form; a member that nobody knows is refused."""
    known = known or _KNOWN
    if request.is_json:
        body: object = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise Problem(422, detail=f"Send a JSON object with: {', '.join(known)}.")
        given = dict(body)
    else:
        given = {name: value for name, value in request.form.items() if name != FIELD}
        if "events" in given:
            given["events"] = request.form.getlist("events")
    if unknown := sorted(str(name) for name in given if name not in known):
        raise Problem(
            400,
            "unknown_parameter",
            detail=f"There is no member “{unknown[0][:100]}”. Known: {', '.join(known)}.",
        )
    return given


def values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns that are to be written; Mistaken."""
    found: dict[str, Any] = {}
    if "url" in given:
        found["url"] = _url(given["url"])
    if "events" in given:
        found["events"] = _events(given["events"])
    if "on" in given:
        found["is_on"] = _flag(given["on"])
    return found


def since(given: Mapping[str, Any]) -> datetime | None:
    """From when on; None for all."""
    text = given.get("since")
    if text in (None, ""):
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, TypeError, OverflowError) as error:
        raise Problem(422, detail=_WRONG_SINCE) from error


def _url(given: object) -> str:
    try:
        return services().poster.check(given.strip() if isinstance(given, str) else "")
    except BadUrl as error:
        raise Mistaken("url", str(error)) from error


def _events(given: object) -> list[str]:
    if not isinstance(given, list) or not given or any(each not in list(EVENTS) for each in given):
        raise Mistaken("events", _WRONG_EVENTS)
    return [each.value for each in EVENTS if each in given]


def _flag(given: object) -> bool:
    if given in (True, "1"):
        return True
    if given in (False, "0"):
        return False
    raise Mistaken("on", "on must be true or false.")
