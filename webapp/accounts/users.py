"""People who sign in.

The functions here run inside the caller's transaction. The check of a password does not: it
takes a good part of a second on purpose, and no transaction may stay open for that. See
webapp/accounts/sign_in.py.
"""

import re
from uuid import UUID

from sqlalchemy import ColumnElement, and_, delete, exists, func, select, update

from webapp.accounts import tokens
from webapp.accounts.model import SignInLink, User, UserSession
from webapp.accounts.roles import SCOPE_OF_ROLE, Role
from webapp.clock import now
from webapp.db import session

_EMAIL = re.compile(r"[^\s@<>\"',;:\\\x00-\x1f\x7f]{1,64}@[^\s@<>\"',;:\\/\x00-\x1f\x7f]{1,190}")


class BadEmail(ValueError):
    """Not the form of an e-mail address."""


class EmailTaken(ValueError):
    """Somebody of this org has the address already."""


def normal_email(email: str) -> str:
    """The one spelling that is stored; BadEmail where it is no address."""
    email = email.strip().lower()
    if not _EMAIL.fullmatch(email):
        raise BadEmail(email)
    return email


def is_email(text: str) -> bool:
    """Whether this has the form of an e-mail address."""
    return _EMAIL.fullmatch(text.strip().lower()) is not None


def create(org_id: UUID, email: str, role: Role, password_hash: str | None = None) -> User:
    """A new person in an org; EmailTaken where the org has one with this address."""
    email = normal_email(email)
    if find(org_id, email):
        raise EmailTaken(email)
    user = User(org_id=org_id, email=email, role=role.value, password_hash=password_hash)
    session().add(user)
    session().flush()
    return user


def get(org_id: UUID, user_id: UUID) -> User | None:
    """The person with this id, if of this org."""
    return session().scalars(select(User).where(User.org_id == org_id, User.id == user_id)).one_or_none()


def locked(org_id: UUID, user_id: UUID) -> User | None:
    """The person as they are now, whom nobody else changes until this transaction ends."""
    asked = select(User).where(User.org_id == org_id, User.id == user_id).with_for_update()
    return session().scalars(asked.execution_options(populate_existing=True)).one_or_none()


def find(org_id: UUID, email: str) -> User | None:
    """The person of this org with this address."""
    wanted = User.org_id == org_id, User.email == email.strip().lower()
    return session().scalars(select(User).where(*wanted)).one_or_none()


def of_org(org_id: UUID) -> list[User]:
    """The people of an org, the oldest first."""
    return list(session().scalars(select(User).where(User.org_id == org_id).order_by(User.created_at, User.id)))


def with_email(email: str) -> list[User]:
    """The enabled people of all orgs who have this address, the oldest first."""
    try:
        wanted = User.email == normal_email(email), User.disabled_at.is_(None)
    except BadEmail:
        return []
    return list(session().scalars(select(User).where(*wanted).order_by(User.created_at, User.id)))


def first_ops() -> User | None:
    """The oldest enabled person of the role ops or operator in any org: the owner of a one-person installation."""
    wanted = User.role.in_((Role.OPS.value, Role.OPERATOR.value)), User.disabled_at.is_(None)
    return session().scalars(select(User).where(*wanted).order_by(User.created_at, User.id).limit(1)).one_or_none()


def are_there_any() -> bool:
    """Whether anybody at all can sign in."""
    return session().scalar(select(func.count()).select_from(User)) != 0


def is_there_an_operator() -> bool:
    """Whether anybody who may sign in has the role operator."""
    wanted = User.role == Role.OPERATOR.value, User.disabled_at.is_(None)
    return session().scalar(select(exists().where(*wanted))) is True


def has_anybody_signed_in() -> bool:
    """Whether anybody has ever signed in."""
    return session().scalar(select(exists().where(User.last_signed_in_at.is_not(None)))) is True


def set_password_hash(user: User, password_hash: str) -> None:
    """Replace the password."""
    session().execute(update(User).where(_is(user)).values(password_hash=password_hash))


def renew_password_hash(user: User, password_hash: str) -> bool:
    """Replace the hash by another one of the same password; False where the password has changed meanwhile."""
    same = update(User).where(_is(user), User.password_hash == user.password_hash)
    return session().scalar(same.values(password_hash=password_hash).returning(User.id)) is not None


def set_role(user: User, role: Role) -> None:
    """Change what somebody may do, from their next request on; their tokens may do no more either.

    Where they may do more than before, an open sign-in link ends: whoever made it for them may be of a lower role.
    """
    if not SCOPE_OF_ROLE[role].permissions <= SCOPE_OF_ROLE[Role(user.role)].permissions:
        end_links(user)
    session().execute(update(User).where(_is(user)).values(role=role.value))


def disable(user: User) -> None:
    """Disable somebody: no sign-in, and every session, open link and token of theirs ends now."""
    session().execute(update(User).where(_is(user)).values(disabled_at=func.coalesce(User.disabled_at, now())))
    end_sessions(user)
    tokens.revoke_all_of(user.org_id, user.id)


def enable(user: User) -> None:
    """Enable somebody who was disabled. Their tokens stay revoked."""
    session().execute(update(User).where(_is(user)).values(disabled_at=None))


def reset(user: User) -> None:
    """Forget the password and end every session, open link and token: for a password that others may know."""
    session().execute(update(User).where(_is(user)).values(password_hash=None))
    end_sessions(user)
    tokens.revoke_all_of(user.org_id, user.id)


def end_sessions(user: User) -> None:
    """End every session and every open sign-in link of somebody."""
    session().execute(delete(UserSession).where(UserSession.org_id == user.org_id, UserSession.user_id == user.id))
    end_links(user)


def end_links(user: User) -> None:
    """End every open sign-in link of somebody."""
    session().execute(
        delete(SignInLink).where(
            SignInLink.org_id == user.org_id, SignInLink.user_id == user.id, SignInLink.used_at.is_(None)
        )
    )


def _is(user: User) -> ColumnElement[bool]:
    return and_(User.org_id == user.org_id, User.id == user.id)
