"""What people and programs send to make or change a source: read, checked, and refused with a sentence."""

from collections.abc import Mapping
from typing import Any

from flask import request

from webapp.clock import new_id
from webapp.documents.source_model import Source
from webapp.library.sources.places import allowed_folder
from webapp.library.sources.registry import (
    INTERVAL_LEAST,
    INTERVAL_MOST,
    INTERVAL_USUAL,
    NAME_CHARACTERS_MAX,
)
from webapp.library.sources.trouble import SourceFailed
from webapp.web.access import principal, services
from webapp.web.csrf import FIELD
from webapp.web.document.changes import is_text
from webapp.web.errors import Problem
from webapp.web.sources.mailbox_requests import PLACE, mailbox_place, sealed_password
from webapp.web.sources.mistakes import MistakenField
from webapp.web.sources.source_sentences import TROUBLES

AFTER_TAKING: Mapping[str, tuple[str, ...]] = {
    "folder": ("leave", "move", "delete"),
    "imap": ("leave", "seen", "move"),
    "maildir": ("leave", "seen"),
}
"""By kind: what may become of an item that was taken. The first one is the usual one."""
PATH_CHARACTERS_MAX = 1_000
_OF_ALL = ("kind", "name", "after_taking", "interval_seconds", "on")
_OF_PLACE: Mapping[str, tuple[str, ...]] = {
    "folder": ("path",),
    "imap": (*PLACE, "password"),
    "maildir": ("path",),
}
_KNOWN = {*_OF_ALL, *(name for names in _OF_PLACE.values() for name in names)}
_WRONG_NAME = f"name must be a text of 1 to {NAME_CHARACTERS_MAX} characters."
_WRONG_KIND = f"kind must be one of: {', '.join(AFTER_TAKING)}."
_WRONG_INTERVAL = f"interval_seconds must be a whole number from {INTERVAL_LEAST} to {INTERVAL_MOST}."
_WRONG_PATH = f"path must be the whole path of a folder, as in /srv/scans, of at most {PATH_CHARACTERS_MAX} characters."
_FOR_OPERATORS = (
    "A folder of the server can be watched by an operator of the installation alone. The ops of an only organisation "
    "are its operators."
)


def asked() -> dict[str, Any]:
    """The members of the request; 400 for one that nobody knows."""
    if request.is_json:
        body: object = request.get_json(silent=True)
        if not isinstance(body, dict):
            raise Problem(422, detail=f"Send a JSON object with: {', '.join(sorted(_KNOWN))}.")
        given = dict(body)
    else:
        given = {name: value for name, value in request.form.items() if name != FIELD}
    if unknown := sorted(str(name) for name in given.keys() - _KNOWN):
        known = ", ".join(sorted(_KNOWN))
        raise Problem(400, "unknown_parameter", detail=f"There is no member “{unknown[0][:100]}”. Known: {known}.")
    return given


def new_values(given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a new source."""
    kind = str(given.get("kind"))
    if kind not in AFTER_TAKING:
        raise Problem(422, detail=_WRONG_KIND)
    usual = {"after_taking": AFTER_TAKING[kind][0], "interval_seconds": INTERVAL_USUAL, "on": True}
    values = {"kind": kind, **_values(kind, {"name": None, **usual, **given})}
    values["place"] = _place(kind, given, {}, values["after_taking"])
    if kind == "imap":
        values["id"] = new_id()
        values["sealed_secret"] = sealed_password(values["id"], given)
    return values


def changed_values(source: Source, given: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of a source that are to be written."""
    if given.get("kind", source.kind) != source.kind:
        raise Problem(422, detail="The kind of a source can't be changed. Make another source.")
    if not given:
        raise Problem(422, detail=f"Name what is to be changed: {', '.join(sorted(_KNOWN - {'kind'}))}.")
    values = _values(source.kind, given)
    if any(name in given for name in (*_OF_PLACE[source.kind], "after_taking")):
        # What is given was checked above.
        after_taking = {"after_taking": source.after_taking, **values}["after_taking"]
        place = _place(source.kind, given, source.place, after_taking)
        if place != source.place:
            # The mark says of which mailbox it is, so a poll of another one begins anew.
            values["place"] = place
    if given.get("password"):
        values["sealed_secret"] = sealed_password(source.id, given)
    return values


def _values(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    if "name" in given:
        values["name"] = _name(given["name"])
    if "after_taking" in given:
        if given["after_taking"] not in AFTER_TAKING[kind]:
            detail = f"after_taking must be one of: {', '.join(AFTER_TAKING[kind])}."
            raise MistakenField("after_taking", detail, "Choose one of these.")
        values["after_taking"] = given["after_taking"]
    if "interval_seconds" in given:
        values["interval_seconds"] = _interval(given["interval_seconds"])
    if "on" in given:
        values["is_on"] = _flag(given["on"])
    return values


def _place(kind: str, given: Mapping[str, Any], before: Mapping[str, Any], after_taking: str) -> dict[str, Any]:
    if unfit := sorted(given.keys() - {*_OF_ALL, *_OF_PLACE[kind]}):
        raise Problem(422, detail=f"A source of the kind {kind} has no {unfit[0]}.")
    if kind == "imap":
        return mailbox_place(given, before, after_taking)
    return {"path": _path(given.get("path")) if "path" in given or not before else before["path"]}


def _path(value: object) -> str:
    if not principal().is_operator:
        raise Problem(403, "operator_only", detail=_FOR_OPERATORS)
    path = value.strip() if isinstance(value, str) and is_text(value) else ""
    if not path.startswith("/") or len(path) > PATH_CHARACTERS_MAX:
        raise MistakenField("path", _WRONG_PATH, "Write the whole path of a folder, as in /srv/scans.")
    try:
        allowed_folder(services().settings, path)
    except SourceFailed as failure:
        raise MistakenField("path", TROUBLES[failure.trouble], reason=failure.trouble) from failure
    return path.rstrip("/")


def _name(value: object) -> str:
    name = " ".join(value.split()) if isinstance(value, str) and is_text(value) else ""
    if not 1 <= len(name) <= NAME_CHARACTERS_MAX:
        raise MistakenField("name", _WRONG_NAME, f"Write a name of 1 to {NAME_CHARACTERS_MAX} characters.")
    return name


def _interval(value: object) -> int:
    try:
        seconds = int(str(value)) if not isinstance(value, bool) else 0
    except ValueError:
        seconds = 0
    if not INTERVAL_LEAST <= seconds <= INTERVAL_MOST:
        words = f"Write a whole number from {INTERVAL_LEAST} to {INTERVAL_MOST}."
        raise MistakenField("interval_seconds", _WRONG_INTERVAL, words)
    return seconds


def _flag(value: object) -> bool:
    if value in (True, "1", "on"):
        return True
    if value in (False, "", "0"):
        return False
    raise Problem(422, detail="on must be true or false.")
