"""Adds lines to the security log under the name of the person or program that asks."""

import logging
from typing import Any
from uuid import UUID

from flask import request

from webapp.accounts import audit
from webapp.accounts.audit import Action, Actor
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.db.later import write_soon
from webapp.web.access import principal

_log = logging.getLogger("webapp.audit")


def note(action: Action, target: str | None = None, **details: Any) -> None:
    """Add a line in the open transaction, which is that of the change."""
    who = principal()
    audit.record(who.org_id, Actor.of(who, request.remote_addr), action, target, **details)


def note_download(document_id: UUID, what: str, filename: str) -> None:
    """Add a line about a file on its way out, once for each download: not for its later ranges.

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
    if request.method != "GET" or _is_continued():
        return
    who, address = principal(), request.remote_addr

    def write() -> None:
        audit.record(who.org_id, Actor.of(who, address), action, target, **details)

    try:
        write_soon(who.org_id, f"that {who.ref} downloaded {sent}", write)
    except DATABASE_ERRORS as error:
        if trouble_of(error) is None:
            raise
        _log.error("%s downloaded %s; the security log could not be written", who.ref, sent)


def _is_continued() -> bool:
    asked = request.range
    return asked is not None and bool(asked.ranges) and (asked.ranges[0][0] or 0) != 0
