"""What people and programs send about a mailbox: its server, how it is reached, and the password, which is sealed."""

import re
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from webapp.jobs.sealed_passwords import CHARACTERS_MAX
from webapp.web.access import services
from webapp.web.document.changes import is_text
from webapp.web.sources.mistakes import MistakenField

PLACE = ("host", "port", "security", "username", "mailbox", "move_to")
SECURITIES = ("tls", "starttls", "plain")
_PORTS = {"tls": 993, "starttls": 143, "plain": 143}
_NAME_CHARACTERS_MAX = 254
_HOST = re.compile(r"[A-Za-z0-9_.:-]{1,253}")
# Whoever can let the password be sent elsewhere could read it there.
_WITH_PASSWORD = ("host", "port", "security", "username")
_WRONG_HOST = "host must be the name or the address of a mail server, as in imap.example.com."
_WRONG_PORT = "port must be a whole number from 1 to 65535."
_WRONG_SECURITY = f"security must be one of: {', '.join(SECURITIES)}."
_WRONG_PASSWORD = f"password must be a text of 1 to {CHARACTERS_MAX} characters, on one line."
_AGAIN = "Give the password again: it is not sent to another server, or under another name, than it was given for."
_WHERE_TO = "Say in move_to which folder of the mailbox messages are moved to; another one than mailbox."


def mailbox_place(given: Mapping[str, Any], before: Mapping[str, Any], after_taking: str) -> dict[str, Any]:
    """Where the mailbox is, of what is given and what was known before."""
    merged = {"mailbox": "INBOX", "move_to": "", "security": "tls", **before, **given}
    if not isinstance(merged.get("host"), str) or not _HOST.fullmatch(merged["host"].strip()):
        words = "Write the name or the address of a mail server, as in imap.example.com."
        raise MistakenField("host", _WRONG_HOST, words)
    if merged["security"] not in SECURITIES:
        raise MistakenField("security", _WRONG_SECURITY, "Choose one of these.")
    place = {
        "host": merged["host"].strip().lower(),
        "port": _port(_PORTS[merged["security"]] if merged.get("port") in (None, "") else merged["port"]),
        "security": merged["security"],
        "username": _line(merged.get("username"), "username"),
        "mailbox": _line(merged["mailbox"], "mailbox"),
        "move_to": _line(merged["move_to"], "move_to") if merged["move_to"] else "",
    }
    if after_taking == "move" and place["move_to"] in {"", place["mailbox"]}:
        words = "Write to which folder of the mailbox messages are moved: another one than they come from."
        raise MistakenField("move_to", _WHERE_TO, words)
    if before and not given.get("password") and any(place[name] != before.get(name) for name in _WITH_PASSWORD):
        raise MistakenField("password", _AGAIN)
    return place


def sealed_password(source_id: UUID, given: Mapping[str, Any]) -> bytes:
    """The password of a mailbox, which can be unsealed for this source alone."""
    password = given.get("password")
    is_fit = isinstance(password, str) and 1 <= len(password) <= CHARACTERS_MAX and is_text(password)
    if not is_fit or any(sign in str(password) for sign in "\r\n\0"):
        words = f"Write a password of 1 to {CHARACTERS_MAX} characters, on one line."
        raise MistakenField("password", _WRONG_PASSWORD, words)
    return services().seal.seal(str(password), source_id)


def _port(value: object) -> int:
    try:
        port = int(str(value))
    except ValueError:
        port = 0
    if not 1 <= port <= 65535:
        words = "Write a whole number from 1 to 65535, or nothing for the usual port."
        raise MistakenField("port", _WRONG_PORT, words)
    return port


def _line(value: object, name: str) -> str:
    text = value.strip() if isinstance(value, str) and is_text(value) else ""
    if not 1 <= len(text) <= _NAME_CHARACTERS_MAX or not text.isprintable():
        detail = f"{name} must be a text of 1 to {_NAME_CHARACTERS_MAX} characters, on one line."
        raise MistakenField(name, detail, f"Write 1 to {_NAME_CHARACTERS_MAX} characters, on one line.")
    return text
