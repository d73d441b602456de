"""Links that sign their person in once: for the first sign-in, and for a forgotten password.

A link is good until it is used, has run out, or a newer one was made for the same person.
"""

from sqlalchemy import ColumnElement, delete, exists, or_, select, update

from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import SignInLink, User
from webapp.clock import after, now
from webapp.db import session

LIFE_SECONDS = 86_400
PRINTED_LIFE_SECONDS = 3_600
"""Of a link that a start prints: its reader uses it at once."""


def create(user: User, life_seconds: int = LIFE_SECONDS) -> str:
    """A new link's token; earlier links of this person end. Links that have run out are cleared away in passing."""
    theirs = (SignInLink.user_id == user.id) & (SignInLink.org_id == user.org_id) & SignInLink.used_at.is_(None)
    session().execute(delete(SignInLink).where(or_(SignInLink.expires_at <= now(), theirs)))
    token = new_secret()
    session().add(
        SignInLink(org_id=user.org_id, user_id=user.id, token_hash=digest(token), expires_at=after(life_seconds))
    )
    session().flush()
    return token


def is_usable(token: str) -> bool:
    """Whether the link would sign somebody in; looking does not use it up."""
    return session().scalar(select(exists().where(*_usable(token)))) is True


def use(token: str) -> User | None:
    """Use the link up: its person, or nobody where it was used, has run out or was never made."""
    # One statement decides: of two requests at the same moment only one finds it unused.
    statement = update(SignInLink).where(*_usable(token)).values(used_at=now()).returning(SignInLink.user_id)
    user_id = session().scalars(statement).one_or_none()
    if user_id is None:
        return None
    return session().scalars(select(User).where(User.id == user_id, User.disabled_at.is_(None))).one_or_none()


def _usable(token: str) -> tuple[ColumnElement[bool], ...]:
    return SignInLink.token_hash == digest(token), SignInLink.used_at.is_(None), SignInLink.expires_at > now()
