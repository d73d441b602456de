"""Links that sign their person in once: for the first sign-in, and for a forgotten password.

A link is good until it is used, has run out, or a newer one was made for the same person. One that sets a password
signs in only together with a new password, which ends every session that the person had.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, or_, select, update

from webapp.accounts import users
from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import Org, SignInLink, User
from webapp.clock import after, now
from webapp.db import session

LIFE_SECONDS = 86_400
PRINTED_LIFE_SECONDS = 3_600
"""Of a link that a start prints: its reader uses it at once."""


class Purpose(StrEnum):
    """What a link is for."""

    SIGN_IN = "sign_in"
    PASSWORD = "password"  # noqa: S105 - the name of a purpose


@dataclass(frozen=True)
class OpenLink:
    """A link that works, and whom it is for."""

    purpose: Purpose
    user_id: UUID
    org_id: UUID
    email: str
    org_name: str
    is_first: bool
    """Whether its person has never signed in."""


def create(user: User, life_seconds: float = LIFE_SECONDS, purpose: Purpose = Purpose.SIGN_IN) -> str:
    """A new link's token; earlier links of this person end. Links that have run out are cleared away in passing."""
    theirs = (SignInLink.user_id == user.id) & (SignInLink.org_id == user.org_id) & SignInLink.used_at.is_(None)
    session().execute(delete(SignInLink).where(or_(SignInLink.expires_at <= now(), theirs)))
    token = new_secret()
    session().add(
        SignInLink(
            org_id=user.org_id,
            user_id=user.id,
            token_hash=digest(token),
            expires_at=after(life_seconds),
            purpose=purpose.value,
        )
    )
    session().flush()
    return token


def find(token: str) -> OpenLink | None:
    """What this link is for, while it works; looking does not use it up."""
    asked = (
        select(SignInLink.purpose, User.id, User.org_id, User.email, Org.name, User.last_signed_in_at)
        .join(User, and_(User.org_id == SignInLink.org_id, User.id == SignInLink.user_id))
        .join(Org, Org.id == User.org_id)
        .where(*_usable(token), User.disabled_at.is_(None))
    )
    found = session().execute(asked).one_or_none()
    if found is None:
        return None
    purpose, user_id, org_id, email, org_name, last = found
    return OpenLink(Purpose(purpose), user_id, org_id, email, org_name, is_first=last is None)


def use(token: str) -> User | None:
    """Use the link up: its person, or nobody where it was used, has run out or was never made."""
    found = session().execute(select(SignInLink.org_id, SignInLink.user_id).where(*_usable(token))).one_or_none()
    # The person first, as everything that ends their links does: it has ended this one, or waits for what follows.
    user = users.locked(*found) if found else None
    if user is None or user.disabled_at is not None:
        return None
    # One statement decides: of two requests at the same moment only one finds it unused.
    used = update(SignInLink).where(*_usable(token)).values(used_at=now()).returning(SignInLink.id)
    return user if session().scalar(used) is not None else None


def open_until(org_id: UUID) -> dict[UUID, datetime]:
    """Until when each person of an org who has an open link may use it."""
    is_open = SignInLink.used_at.is_(None), SignInLink.expires_at > now()
    asked = select(SignInLink.user_id, SignInLink.expires_at).where(SignInLink.org_id == org_id, *is_open)
    return {row[0]: row[1] for row in session().execute(asked)}


def _usable(token: str) -> tuple[ColumnElement[bool], ...]:
    return SignInLink.token_hash == digest(token), SignInLink.used_at.is_(None), SignInLink.expires_at > now()
