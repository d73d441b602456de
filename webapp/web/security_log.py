"""Adds lines to the security log under the name of the person or program that asks."""

import logging
from typing import Any
from uuid import UUID

from flask import request

from webapp.accounts import audit
from webapp.accounts.audit import Action, Actor
from webapp.db import reading
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.db.later import write_soon
from webapp.web.access import principal

_log = logging.getLogger("webapp.audit")

CONTINUED_SECONDS = 600


def note(action: Action, target: str | None = None, **details: Any) -> None:
    """Add a line in the open transaction, which is that of the change."""
    who = principal()
    audit.record(who.org_id, Actor.of(who, request.remote_addr), action, target, **details)


def note_download(document_id: UUID, what: str, filename: str) -> None:
    """Add a line about a file on its way out, once for each download.

    A range behind the beginning belongs to a download that has a line of the last CONTINUED_SECONDS; else it has its
    own, so that nobody gets a file without a line, whatever ranges they ask for.

    Reading waits for no long write, and goes on where nothing can be written, as on a full disk; the process's log has
    the line then.
    """
    target = f"document:{document_id}"
    _note_outgoing(
        Action.DOCUMENT_DOWNLOADED, target, f"{what} of document {document_id}", what=what, filename=filename
    )


def note_export(operation_id: UUID, documents: int) -> None:
    """Add a line about the file of an export on its way out, in the same way."""
    target = f"bulk:{operation_id}"
    _note_outgoing(Action.EXPORT_DOWNLOADED, target, f"the export {operation_id}", documents=documents)


def _note_outgoing(action: Action, target: str, sent: str, /, **details: Any) -> None:
    if request.method != "GET":
        return
    who = principal()
    actor = Actor.of(who, request.remote_addr)

    def write() -> None:
        audit.record(who.org_id, actor, action, target, **details)

    try:
        if is_behind_the_beginning():
            with reading(who.org_id):
                if audit.is_noted(who.org_id, actor, action, target, details.get("what"), CONTINUED_SECONDS):
                    return
        write_soon(who.org_id, f"that {who.ref} downloaded {sent}", write)
    except DATABASE_ERRORS as error:
        if trouble_of(error) is None:
            raise
        _log.error("%s downloaded %s; the security log could not be written", who.ref, sent)


def is_behind_the_beginning() -> bool:
    """Whether a later range of a file is asked for."""
    asked = request.range
    return asked is not None and bool(asked.ranges) and (asked.ranges[0][0] or 0) != 0
