"""Share links: made, listed, found by their secret, counted, revoked.

A link is worth something while it has neither expired nor been revoked. Only the hash of its secret is stored. What it
shows is decided anew at each request: a document that is in the library, or one that its view shows at that moment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, func, insert, select, update

from webapp.accounts import actors
from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import ApiToken
from webapp.clock import new_id, now
from webapp.db import session
from webapp.documents.model import Document
from webapp.documents.share_model import ShareLink
from webapp.library import grid, lookup, selection, views
from webapp.library.grid import Cursor
from webapp.library.lookup import DocumentRow
from webapp.library.views import View

LINKS_MAX = 100
"""Of a document or a view, those that work."""
NAME_CHARACTERS_MAX = 100
DAYS_MAX = 366
SHOWN_MAX = 1_000
"""Documents of a view that a link lists."""
_ROWS_AT_ONCE = 50
# Pages of the grid may be empty where few documents match and no index finds them: it looks at some thousand for each.
_PAGES_MAX = 24

_links = cast(Table, ShareLink.__table__)


class TooManyLinks(ValueError):
    """A document or a view has LINKS_MAX links."""


class MakerMayNotWrite(ValueError):
    """Who makes the link was deactivated, revoked or made a viewer meanwhile."""


@dataclass(frozen=True)
class ShareTarget:
    """What a link shows: one document, or what a saved view shows."""

    document_id: UUID | None = None
    view_id: UUID | None = None

    @property
    def values(self) -> dict[str, UUID | None]:
        return {"document_id": self.document_id, "view_id": self.view_id}

    @property
    def condition(self) -> ColumnElement[bool]:
        if self.document_id is not None:
            return _links.c.document_id == self.document_id
        return _links.c.view_id == self.view_id


@dataclass(frozen=True)
class Share:
    """A link as its org sees it; its secret is known to nobody."""

    id: UUID
    org_id: UUID
    target: ShareTarget
    name: str | None
    with_original: bool
    created_by: str
    created_at: datetime
    expires_at: datetime
    openings: int
    last_opened_at: datetime | None


def add(
    org_id: UUID, target: ShareTarget, *, expires_at: Any, by: str, name: str | None = None, with_original: bool = False
) -> tuple[UUID, str]:
    """A new link's id and its secret, which is told once; TooManyLinks, MakerMayNotWrite."""
    # What ends the links of a person or a token finds this one, or has been found here.
    if not actors.may_still_write(org_id, by):
        raise MakerMayNotWrite
    working = select(func.count()).select_from(_links).where(_links.c.org_id == org_id, target.condition, *_works())
    if (session().scalar(working) or 0) >= LINKS_MAX:
        raise TooManyLinks
    share_id, secret = new_id(), new_secret()
    row = {"id": share_id, "org_id": org_id, "token_hash": digest(secret), "name": name, "created_by": by}
    row |= {"with_original": with_original, "expires_at": expires_at, **target.values}
    session().execute(insert(_links).values(row))
    return share_id, secret


def of_target(org_id: UUID, target: ShareTarget) -> list[Share]:
    """The links to a document or a view that work, the newest first."""
    return _read(_links.c.org_id == org_id, target.condition, *_works())


def of_org(org_id: UUID) -> list[Share]:
    """All links of an org that work, the newest first."""
    return _read(_links.c.org_id == org_id, *_works())


def numbers_of_views(org_id: UUID) -> dict[UUID, int]:
    """How many links to each view work; views without one are left out."""
    found = select(_links.c.view_id, func.count()).where(
        _links.c.org_id == org_id, _links.c.view_id.is_not(None), *_works()
    )
    return {row[0]: row[1] for row in session().execute(found.group_by(_links.c.view_id))}


def get(org_id: UUID, share_id: UUID) -> Share | None:
    """A link of this org that works."""
    found = _read(_links.c.org_id == org_id, _links.c.id == share_id, *_works())
    return found[0] if found else None


def find(secret: str) -> Share | None:
    """The link with this secret, while it works. Call it in a transaction about everybody's rows."""
    found = _read(_links.c.token_hash == digest(secret), *_works())
    return found[0] if found else None


def revoke(org_id: UUID, share_id: UUID) -> bool:
    """End a link for good; whether it worked until now."""
    this = _links.c.org_id == org_id, _links.c.id == share_id, *_works()
    ended = update(_links).where(*this).values(revoked_at=now()).returning(_links.c.id)
    return session().scalar(ended) is not None


def revoke_all_by(org_id: UUID, user_id: UUID) -> int:
    """End all links that a person has made, themselves or by a token of theirs; how many."""
    tokens = session().scalars(select(ApiToken.id).where(ApiToken.org_id == org_id, ApiToken.user_id == user_id))
    return _revoke_by(org_id, [f"user:{user_id}", *(f"token:{token_id}" for token_id in tokens)])


def revoke_all_by_token(org_id: UUID, token_id: UUID) -> int:
    """End all links that a token has made; how many."""
    return _revoke_by(org_id, [f"token:{token_id}"])


def count_opening(org_id: UUID, share_id: UUID) -> None:
    """Somebody has opened it."""
    this = _links.c.org_id == org_id, _links.c.id == share_id
    session().execute(update(_links).where(*this).values(openings=_links.c.openings + 1, last_opened_at=now()))


def document(share: Share, document_id: UUID) -> Document | None:
    """A document, if this link shows it at this moment."""
    target = share.target
    if target.document_id is not None:
        return lookup.get(share.org_id, document_id) if document_id == target.document_id else None
    view = _view(share)
    if view is None or not selection.is_meant(share.org_id, document_id, view.matching):
        return None
    return lookup.get(share.org_id, document_id)


def documents(share: Share, first: int, number: int) -> tuple[Sequence[DocumentRow], bool]:
    """So many documents of a shared view from the `first` on, counted from 0, and whether there are more.

    They are counted from the beginning each time: the cursor of a walk may name a document that the view does not show.
    """
    view = _view(share)
    if view is None:
        return [], False
    cursor: Cursor | None = None
    found: list[DocumentRow] = []
    until = min(first + number, SHOWN_MAX)
    for _ in range(_PAGES_MAX):
        page = grid.page(
            share.org_id,
            status=view.status,
            q=view.query,
            folder=view.folder,
            sort=view.sort,
            cursor=cursor,
            limit=_ROWS_AT_ONCE,
        )
        found.extend(page.rows)
        cursor = page.next_cursor
        if cursor is None or len(found) > until:
            break
    return found[first:until], len(found) > until and until < SHOWN_MAX


def _view(share: Share) -> View | None:
    """The shared view, unless its query can't be read any more."""
    view = views.get(share.org_id, share.target.view_id) if share.target.view_id else None
    return None if view is None or view.mistake else view


def _revoke_by(org_id: UUID, makers: Sequence[str]) -> int:
    theirs = _links.c.org_id == org_id, _links.c.created_by.in_(makers), *_works()
    ended = update(_links).where(*theirs).values(revoked_at=now()).returning(_links.c.id)
    return len(session().scalars(ended).all())


def _works() -> tuple[ColumnElement[bool], ...]:
    return _links.c.revoked_at.is_(None), _links.c.expires_at > now()


def _read(*conditions: ColumnElement[bool]) -> list[Share]:
    rows = session().execute(select(_links).where(*conditions).order_by(_links.c.created_at.desc(), _links.c.id.desc()))
    return [_share(row) for row in rows]


def _share(row: Any) -> Share:
    return Share(
        row.id,
        row.org_id,
        ShareTarget(row.document_id, row.view_id),
        row.name,
        row.with_original,
        row.created_by,
        row.created_at,
        row.expires_at,
        row.openings,
        row.last_opened_at,
    )
