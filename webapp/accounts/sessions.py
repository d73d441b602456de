"""Server-side sessions: a random token in the browser, its hash here.

What a browser holds proves nothing by itself, so signing out, a new password and disabling a
person end a session at once, wherever its cookie may lie.
"""

from uuid import UUID

from sqlalchemy import delete, select

from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import Org, User, UserSession
from webapp.accounts.roles import Principal, Role
from webapp.clock import after, now
from webapp.db import session

_SECONDS_PER_DAY = 86_400


def open_for(user: User, days: int) -> str:
    """A new session; the token for the cookie. Sessions that have run out are cleared away in passing."""
    session().execute(delete(UserSession).where(UserSession.expires_at <= now()))
    token = new_secret()
    session().add(
        UserSession(
            org_id=user.org_id, user_id=user.id, token_hash=digest(token), expires_at=after(days * _SECONDS_PER_DAY)
        )
    )
    session().flush()
    return token


def find(token: str) -> Principal | None:
    """Who holds this token, while the session lasts and the person is not shut out."""
    rows = session().execute(
        select(UserSession.id, User.id, User.org_id, User.email, User.role, Org.name)
        .join(User, (User.org_id == UserSession.org_id) & (User.id == UserSession.user_id))
        .join(Org, Org.id == User.org_id)
        .where(UserSession.token_hash == digest(token), UserSession.expires_at > now(), User.disabled_at.is_(None))
    )
    found = rows.one_or_none()
    if found is None:
        return None
    session_id, user_id, org_id, email, role, org_name = found
    return Principal(org_id, org_name, Role(role), email, user_id=user_id, session_id=session_id)


def close(org_id: UUID, session_id: UUID) -> None:
    """Sign out: the token is worth nothing from here on."""
    session().execute(delete(UserSession).where(UserSession.org_id == org_id, UserSession.id == session_id))
