"""Who has a share link and nothing else: what they may see, and what is written down about it.

A guest is no person and no program: they have no permission that any route asks for. Only the pages under /s/ know
them, and there each document is fetched through the link, which decides whether it shows that document.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from flask import g, request
from flask import session as form_session

from webapp.accounts import audit
from webapp.accounts.audit import Action, Actor
from webapp.db import reading
from webapp.db.errors import DATABASE_ERRORS, trouble_of
from webapp.db.later import write_soon
from webapp.documents.model import Document
from webapp.library import shares
from webapp.library.shares import Share
from webapp.web.access import services
from webapp.web.errors import Problem
from webapp.web.rates import may_note_download, may_note_opening
from webapp.web.security_log import CONTINUED_SECONDS, is_behind_the_beginning

_log = logging.getLogger(__name__)
_OPENED = "opened"
# The cookie must not grow for ever.
_OPENED_MAX = 20


@dataclass(frozen=True)
class Guest:
    """Somebody who has opened a share link."""

    share: Share

    @property
    def org_id(self) -> UUID:
        return self.share.org_id

    def document(self, document_id: UUID) -> Document:
        """A document that the link shows at this moment. Call it inside of a `reading()`."""
        found = shares.document(self.share, document_id)
        if found is None:
            raise nothing_here()
        return found

    def note_opening(self) -> None:
        """Count the opening: once for each session of a browser, which its cookie tells."""
        key, opened = self.share.id.hex, list(form_session.get(_OPENED, ()))
        if request.method != "GET" or key in opened:
            return
        form_session[_OPENED] = [*opened, key][-_OPENED_MAX:]
        # Another thread may write it later, which knows nothing of this request.
        actor, has_line = self._actor(), may_note_opening(self.share.id)

        def write() -> None:
            shares.count_opening(self.org_id, self.share.id)
            if has_line:
                audit.record(self.org_id, actor, Action.SHARE_OPENED, f"share:{self.share.id}")

        self._write_soon(f"an opening of the link {self.share.id}", write)

    def note_download(self, document: Document) -> None:
        """Add a line about the original on its way out, once for each download, but not without bound."""
        if request.method != "GET":
            return
        actor, target, name = self._actor(), f"document:{document.id}", document.filename
        if is_behind_the_beginning():
            with reading(self.org_id):
                earlier = Action.DOCUMENT_DOWNLOADED, target, "original", CONTINUED_SECONDS
                if audit.is_noted(self.org_id, actor, *earlier):
                    return
        if not may_note_download(self.share.id):
            return

        def write() -> None:
            audit.record(self.org_id, actor, Action.DOCUMENT_DOWNLOADED, target, what="original", filename=name)

        self._write_soon(f"a download by the link {self.share.id}", write)

    def _actor(self) -> Actor:
        return Actor("link", self.share.name or "share link", self.share.id, request.remote_addr)

    def _write_soon(self, what: str, write: Callable[[], None]) -> None:
        """Reading waits for no long write, and goes on where nothing can be written."""
        try:
            write_soon(self.org_id, what, write)
        except DATABASE_ERRORS as error:
            if trouble_of(error) is None:
                raise
            _log.error("%s could not be written down", what)


def admitted(token: str) -> Guest:
    """Who has this link; one answer, 404, where it was never made, has expired, was revoked, or sharing is off."""
    # Whoever may be signed in here has come as a guest: what a link shows does not depend on who opens it.
    g.principal = None
    if not services().settings.access.is_sharing_on:
        raise nothing_here()
    with reading(everywhere=True):
        share = shares.find(token)
    if share is None:
        raise nothing_here()
    # Large answers take seats of the link.
    g.share_link = share.id
    return Guest(share)


def nothing_here() -> Problem:
    """The one answer for whatever a link does not show."""
    return Problem(404, "share")
