"""Who may be answered from a read replica, which is some seconds behind.

Nobody misses what they have just done themselves: the session or token of a request that wrote something is noted in
the database, and reads the primary until the replica must have it, in whichever web process.
"""

import logging
from functools import partial

from flask import Flask, Response, g

from webapp.accounts import sessions, tokens
from webapp.accounts.roles import Principal
from webapp.config import Settings
from webapp.db import transaction
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.web import csrf
from webapp.web.access import principal

_log = logging.getLogger(__name__)


def init_reads(app: Flask, settings: Settings) -> None:
    """Note who writes, where there is a replica."""
    if settings.database_read_url:
        app.after_request(_note_write)


def may_be_late() -> bool:
    """Whether this request only reads, and its sender has written nothing lately."""
    return not csrf.is_unsafe() and not principal().wrote_lately


def _note_write(response: Response) -> Response:
    """After the request's own commit: a replica that has everything from before this time has the write, too."""
    who: Principal | None = g.get("principal")
    if who is None or not csrf.is_unsafe():
        return response
    if who.session_id is not None:
        note = partial(sessions.record_write, who.org_id, who.session_id)
    elif who.token_id is not None:
        note = partial(tokens.record_write, who.org_id, who.token_id)
    else:
        return response
    try:
        with transaction(who.org_id):
            note()
    except DATABASE_ERRORS as error:
        if trouble_of(error) is None:
            raise
        _log.warning("the write of %s was not noted: %s", who.ref, type(error).__name__)
    return response
