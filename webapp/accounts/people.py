"""What the ops of an org do with its people: invite, change roles, deactivate, reactivate, make links for passwords.

All functions run inside of the caller's transaction. Those that could leave an org without ops wait for each other.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from sqlalchemy import ColumnElement, delete, exists, or_, select

from webapp.accounts import links, users
from webapp.accounts.links import Purpose
from webapp.accounts.model import Org, User
from webapp.accounts.roles import PEOPLE_ROLES, Principal, Role
from webapp.db import session


class Refusal(StrEnum):
    """Why something is not done."""

    ABOVE = "above_your_role"
    """It concerns the role operator, and who asks is no operator."""
    SELF = "yourself"
    """Nobody changes their own role or deactivates themselves here."""
    LAST_OPS = "last_ops"
    """Nobody else who can sign in has the role ops or operator."""
    DISABLED = "deactivated"
    """There is no link for somebody who is deactivated."""
    HAS_SIGNED_IN = "has_signed_in"
    """Only an invitation that nobody has accepted is withdrawn."""


class PersonRefused(ValueError):
    """It was not done."""

    def __init__(self, why: Refusal) -> None:
        super().__init__(why.value)
        self.why = why


class PersonState(StrEnum):
    """What a person is at."""

    INVITED = "invited"
    """They have not signed in yet and have no password."""
    ACTIVE = "active"
    """They can sign in."""
    DEACTIVATED = "deactivated"
    """They can't sign in any more."""


@dataclass(frozen=True)
class Listed:
    """A person as the ops of their org see them."""

    user: User
    link_until: datetime | None
    """When their open link ends."""

    @property
    def state(self) -> PersonState:
        if self.user.disabled_at is not None:
            return PersonState.DEACTIVATED
        return PersonState.ACTIVE if _is_known(self.user) else PersonState.INVITED


def of_org(org_id: UUID) -> list[Listed]:
    """Everybody in an org, the oldest first."""
    until = links.open_until(org_id)
    return [Listed(user, until.get(user.id)) for user in users.of_org(org_id)]


def get(org_id: UUID, user_id: UUID) -> Listed | None:
    """One of them."""
    user = users.get(org_id, user_id)
    return Listed(user, links.open_until(org_id).get(user.id)) if user else None


def may_give(who: Principal) -> tuple[Role, ...]:
    """The roles that this person or program may give. Where there is but one org, its ops still make no operator:
    the role would stay when a second org comes.
    """
    return tuple(role for role in PEOPLE_ROLES if role is not Role.OPERATOR or _is_operator(who))


def invite(who: Principal, email: str, role: Role, life_seconds: float) -> tuple[User, str]:
    """A new person and the token of their link; BadEmail, EmailTaken, PersonRefused."""
    _check(who, role)
    user = users.create(who.org_id, email, role)
    return user, links.create(user, life_seconds, Purpose.PASSWORD)


def make_link(who: Principal, user: User, invitation_seconds: float, *, ends_all: bool = False) -> str:
    """The token of a link by which somebody sets a password; an earlier one ends. Their sessions end when it is used.

    `ends_all`: the password is forgotten, and sessions and tokens end now.
    """
    _check(who, Role(user.role))
    if user.disabled_at is not None:
        raise PersonRefused(Refusal.DISABLED)
    if ends_all:
        users.reset(user)
    seconds = links.LIFE_SECONDS if _is_known(user) else invitation_seconds
    return links.create(user, seconds, Purpose.PASSWORD)


def change_role(who: Principal, user: User, role: Role) -> None:
    """Give somebody another role; it holds from their next request on."""
    _check(who, role, Role(user.role))
    _check_other(who, user)
    if role not in _IN_CHARGE:
        _check_another_is_in_charge(user)
    users.set_role(user, role)


def deactivate(who: Principal, user: User) -> None:
    """End somebody's access: every session, link and token of theirs ends with this transaction."""
    _check(who, Role(user.role))
    _check_other(who, user)
    _check_another_is_in_charge(user)
    users.disable(user)


def reactivate(who: Principal, user: User) -> None:
    """Let somebody sign in again. Their tokens stay revoked."""
    _check(who, Role(user.role))
    users.enable(user)


def withdraw(who: Principal, user: User) -> None:
    """Remove somebody who has never come in."""
    _check(who, Role(user.role))
    has_come = or_(User.password_hash.is_not(None), User.last_signed_in_at.is_not(None))
    this = User.org_id == user.org_id, User.id == user.id
    # One statement decides: the invitation may be accepted at this moment.
    if session().scalars(delete(User).where(*this, ~has_come).returning(User.id)).one_or_none() is None:
        raise PersonRefused(Refusal.HAS_SIGNED_IN)


def one_at_a_time(org_id: UUID) -> None:
    """Let changes of an org's people wait for each other: of two ops who deactivate each other one has to stay."""
    session().execute(select(Org.id).where(Org.id == org_id).with_for_update())


_IN_CHARGE = (Role.OPS, Role.OPERATOR)


def _check(who: Principal, *roles: Role) -> None:
    if Role.OPERATOR in roles and not _is_operator(who):
        raise PersonRefused(Refusal.ABOVE)


def _check_other(who: Principal, user: User) -> None:
    if who.user_id == user.id:
        raise PersonRefused(Refusal.SELF)


def _check_another_is_in_charge(user: User) -> None:
    others: tuple[ColumnElement[bool], ...] = (
        User.org_id == user.org_id,
        User.id != user.id,
        User.role.in_([role.value for role in _IN_CHARGE]),
        User.disabled_at.is_(None),
        # Who was only invited may never come.
        or_(User.password_hash.is_not(None), User.last_signed_in_at.is_not(None)),
    )
    if Role(user.role) in _IN_CHARGE and not session().scalar(select(exists().where(*others))):
        raise PersonRefused(Refusal.LAST_OPS)


def _is_operator(who: Principal) -> bool:
    return who.role is Role.OPERATOR


def _is_known(user: User) -> bool:
    return user.password_hash is not None or user.last_signed_in_at is not None
