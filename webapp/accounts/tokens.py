"""API tokens: `dm_<mark>_<secret>`, shown once, stored as a hash.

The mark is the end of the token's id. It lets a person recognise a token in a list, and anybody
(a secret scanner, too) recognise one in a file, without giving anything away.

A token that a person made has that person as its owner: it may never do more than its owner may at
the moment of the request, and ends when its owner is disabled. One that the command line made has
no owner.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import and_, bindparam, exists, func, or_, select, update
from sqlalchemy.orm import aliased

from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import ApiToken, Org, User
from webapp.accounts.roles import Principal, Role, Scope, permissions_of_token
from webapp.clock import after, new_id, now
from webapp.db import session

NAME_LENGTH_MAX = 100
USE_RECORDED_EVERY_SECONDS = 60
_SECONDS_PER_DAY = 86_400

_other_org = aliased(Org)
IS_ONLY_ORG = ~exists().where(_other_org.id != Org.id)
"""Whether the org of a statement is the only one there is."""

_is_due = or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at < after(-USE_RECORDED_EVERY_SECONDS))
# Made once: every request of a program asks it.
_FIND = (
    select(
        ApiToken.id,
        ApiToken.org_id,
        ApiToken.name,
        ApiToken.scope,
        User.role,
        Org.name,
        IS_ONLY_ORG,
        _is_due,
        ApiToken.wrote_at > after(-bindparam("lag_seconds")),
    )
    .join(Org, Org.id == ApiToken.org_id)
    .outerjoin(User, and_(User.org_id == ApiToken.org_id, User.id == ApiToken.user_id))
    .where(
        ApiToken.token_hash == bindparam("token_hash"),
        ApiToken.revoked_at.is_(None),
        or_(ApiToken.expires_at.is_(None), ApiToken.expires_at > now()),
        User.disabled_at.is_(None),
    )
)


@dataclass(frozen=True)
class ValidToken:
    """A valid token, and whether its use was last recorded too long ago."""

    principal: Principal
    is_use_due: bool


def create(
    org_id: UUID,
    name: str,
    scope: Scope,
    *,
    owner_id: UUID | None = None,
    days: int | None = None,
    token_id: UUID | None = None,
) -> str:
    """A new token: the only time that its text exists. Without days it has no end date."""
    token_id = token_id or new_id()
    text = f"{mark(token_id)}_{new_secret()}"
    token = ApiToken(
        id=token_id, org_id=org_id, user_id=owner_id, name=name, scope=scope.value, token_hash=digest(text)
    )
    if days is not None:
        token.expires_at = after(days * _SECONDS_PER_DAY)
    session().add(token)
    session().flush()
    return text


def mark(token_id: UUID) -> str:
    """How the text of this token begins."""
    return f"dm_{token_id.hex[-8:]}"


def find(text: str, lag_seconds: float = 0.0) -> ValidToken | None:
    """Who brings this token, unless it was revoked, has run out, or its owner is disabled.

    `lag_seconds`: for so long after a write a replica may lack it.
    """
    found = session().execute(_FIND, {"token_hash": digest(text), "lag_seconds": lag_seconds}).one_or_none()
    if found is None:
        return None
    token_id, org_id, name, scope, owner_role, org_name, is_only_org, is_due, wrote = found
    owner = Role(owner_role) if owner_role else None
    permissions = permissions_of_token(Scope(scope), owner, is_only_org=bool(is_only_org))
    who = Principal(org_id, org_name, name, permissions, token_id=token_id, wrote_lately=bool(wrote))
    return ValidToken(who, is_use_due=bool(is_due))


def record_use(org_id: UUID, token_id: UUID) -> None:
    """Note that the token is in use."""
    session().execute(
        update(ApiToken).where(ApiToken.org_id == org_id, ApiToken.id == token_id).values(last_used_at=now())
    )


def record_write(org_id: UUID, token_id: UUID) -> None:
    """Note that the token has just written something."""
    this = ApiToken.org_id == org_id, ApiToken.id == token_id
    session().execute(update(ApiToken).where(*this).values(wrote_at=now()))


def of_org(org_id: UUID, owner_id: UUID | None = None) -> list[ApiToken]:
    """The tokens of an org, or of one of its people, that were not revoked, the newest first."""
    wanted = [ApiToken.org_id == org_id, ApiToken.revoked_at.is_(None)]
    if owner_id is not None:
        wanted.append(ApiToken.user_id == owner_id)
    return list(session().scalars(select(ApiToken).where(*wanted).order_by(ApiToken.created_at.desc(), ApiToken.id)))


def get(org_id: UUID, token_id: UUID) -> ApiToken | None:
    """One token of an org, revoked or not."""
    wanted = ApiToken.org_id == org_id, ApiToken.id == token_id
    return session().scalars(select(ApiToken).where(*wanted)).one_or_none()


def revoke(org_id: UUID, token_id: UUID) -> datetime | None:
    """End a token for good; when it ended, or nothing where the org has no such token."""
    ended = func.coalesce(ApiToken.revoked_at, now())
    statement = update(ApiToken).where(ApiToken.org_id == org_id, ApiToken.id == token_id).values(revoked_at=ended)
    return session().scalars(statement.returning(ApiToken.revoked_at)).one_or_none()


def revoke_all_of(org_id: UUID, owner_id: UUID) -> int:
    """End all tokens of a person; how many there were."""
    theirs = ApiToken.org_id == org_id, ApiToken.user_id == owner_id, ApiToken.revoked_at.is_(None)
    ended = update(ApiToken).where(*theirs).values(revoked_at=now()).returning(ApiToken.id)
    return len(session().scalars(ended).all())


def end_dates(org_id: UUID) -> dict[UUID, bool]:
    """Which of an org's open tokens have run out, by the database's clock."""
    has_ended = and_(ApiToken.expires_at.is_not(None), ApiToken.expires_at <= now())
    rows = session().execute(
        select(ApiToken.id, has_ended).where(ApiToken.org_id == org_id, ApiToken.revoked_at.is_(None))
    )
    return {row[0]: bool(row[1]) for row in rows}
