"""Server-side sessions: a random token in the browser, its hash here.

What a browser holds proves nothing by itself, so signing out, a new password and disabling a
person end a session at once, wherever its cookie may lie.
"""

from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import and_, bindparam, delete, select, update

from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import Org, User, UserSession
from webapp.accounts.roles import Principal, Role, permissions_of
from webapp.accounts.tokens import IS_ONLY_ORG
from webapp.clock import after, now
from webapp.db import session

FRESH_SECONDS = 600
"""For so long after a sign-in nobody is asked for the password again."""
USE_RECORDED_EVERY_SECONDS = 60.0
_SECONDS_PER_DAY = 86_400
_FOREVER_SECONDS = 36_500.0 * _SECONDS_PER_DAY

_is_fresh = UserSession.authenticated_at > after(-FRESH_SECONDS)
# Made once: every request of a person asks it.
_FIND = (
    select(
        UserSession.id,
        User.id,
        User.org_id,
        User.email,
        User.role,
        Org.name,
        IS_ONLY_ORG,
        _is_fresh,
        and_(UserSession.via == "link", UserSession.created_at > after(-FRESH_SECONDS)),
        UserSession.last_seen_at < after(-bindparam("due_seconds")),
        UserSession.wrote_at > after(-bindparam("lag_seconds")),
    )
    .join(User, (User.org_id == UserSession.org_id) & (User.id == UserSession.user_id))
    .join(Org, Org.id == User.org_id)
    .where(
        UserSession.token_hash == bindparam("token_hash"),
        UserSession.expires_at > now(),
        UserSession.last_seen_at > after(-bindparam("idle_seconds")),
        User.disabled_at.is_(None),
    )
)


@dataclass(frozen=True)
class Visit:
    """How somebody came in: by password or link, with which browser, from where."""

    via: str = "password"
    device: str | None = None
    address: str | None = None


@dataclass(frozen=True)
class ValidSession:
    """A session that lasts, and whether its use was last recorded too long ago."""

    principal: Principal
    is_use_due: bool


def open_for(user: User, days: int, visit: Visit | None = None) -> str:
    """A new session; the token for the cookie. Sessions that have run out are cleared away in passing."""
    session().execute(delete(UserSession).where(UserSession.expires_at <= now()))
    visit = visit or Visit()
    token = new_secret()
    session().add(
        UserSession(
            org_id=user.org_id,
            user_id=user.id,
            token_hash=digest(token),
            expires_at=after(days * _SECONDS_PER_DAY),
            via=visit.via,
            device=visit.device,
            address=visit.address,
        )
    )
    session().execute(
        update(User).where(User.org_id == user.org_id, User.id == user.id).values(last_signed_in_at=now())
    )
    session().flush()
    return token


def find(token: str, idle_days: float = 0.0, lag_seconds: float = 0.0) -> ValidSession | None:
    """Who holds this token, while the session lasts, is not idle for too long, and its person is not disabled.

    `lag_seconds`: for so long after a write a replica may lack it.
    """
    idle_seconds = _idle_seconds(idle_days)
    values = {
        "token_hash": digest(token),
        "idle_seconds": idle_seconds,
        # Often enough for a short time-out, too.
        "due_seconds": min(USE_RECORDED_EVERY_SECONDS, idle_seconds / 10),
        "lag_seconds": lag_seconds,
    }
    found = session().execute(_FIND, values).one_or_none()
    if found is None:
        return None
    session_id, user_id, org_id, email, role, org_name, is_only_org, is_fresh, came_by_link, is_due, wrote = found
    permissions = permissions_of(Role(role), is_only_org=bool(is_only_org))
    who = Principal(
        org_id,
        org_name,
        email,
        permissions,
        role=Role(role),
        user_id=user_id,
        session_id=session_id,
        is_fresh=bool(is_fresh),
        came_by_link=bool(came_by_link),
        wrote_lately=bool(wrote),
    )
    return ValidSession(who, is_use_due=bool(is_due))


def record_use(org_id: UUID, session_id: UUID, address: str | None) -> None:
    """Note that the session is in use, and from where."""
    this = UserSession.org_id == org_id, UserSession.id == session_id
    session().execute(update(UserSession).where(*this).values(last_seen_at=now(), address=address))


def record_write(org_id: UUID, session_id: UUID) -> None:
    """Note that it has just written something."""
    this = UserSession.org_id == org_id, UserSession.id == session_id
    session().execute(update(UserSession).where(*this).values(wrote_at=now()))


def confirm(org_id: UUID, session_id: UUID) -> None:
    """Its person has just proved once more who they are."""
    this = UserSession.org_id == org_id, UserSession.id == session_id
    session().execute(update(UserSession).where(*this).values(authenticated_at=now()))


def of_user(org_id: UUID, user_id: UUID, idle_days: float = 0.0) -> list[UserSession]:
    """The sessions of a person that last, the latest used first."""
    lasts = UserSession.expires_at > now(), UserSession.last_seen_at > after(-_idle_seconds(idle_days))
    theirs = UserSession.org_id == org_id, UserSession.user_id == user_id
    ordered = select(UserSession).where(*theirs, *lasts).order_by(UserSession.last_seen_at.desc(), UserSession.id)
    return list(session().scalars(ordered))


def close(org_id: UUID, session_id: UUID, user_id: UUID | None = None) -> bool:
    """Sign out: the token is worth nothing from here on. False where there is no such session (of this person)."""
    this = [UserSession.org_id == org_id, UserSession.id == session_id]
    if user_id is not None:
        this.append(UserSession.user_id == user_id)
    return session().scalars(delete(UserSession).where(*this).returning(UserSession.id)).one_or_none() is not None


def _idle_seconds(idle_days: float) -> float:
    return idle_days * _SECONDS_PER_DAY or _FOREVER_SECONDS
