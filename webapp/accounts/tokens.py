"""API tokens: `dm_<mark>_<secret>`, shown once, stored as a hash.

The mark is the end of the token's id. It lets a person recognise a token in a list, and anybody
(a secret scanner, too) recognise one in a file, without giving anything away.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import bindparam, func, or_, select, update

from webapp.accounts.keys import digest, new_secret
from webapp.accounts.model import ApiToken, Org
from webapp.accounts.roles import Principal, Role
from webapp.clock import after, new_id, now
from webapp.db import session

NAME_LENGTH_MAX = 100
USE_RECORDED_EVERY_SECONDS = 60

_is_due = or_(ApiToken.last_used_at.is_(None), ApiToken.last_used_at < after(-USE_RECORDED_EVERY_SECONDS))
# Made once: every request of a program asks it.
_FIND = (
    select(ApiToken.id, ApiToken.org_id, ApiToken.role, ApiToken.name, Org.name, _is_due)
    .join(Org, Org.id == ApiToken.org_id)
    .where(ApiToken.token_hash == bindparam("token_hash"), ApiToken.revoked_at.is_(None))
)


@dataclass(frozen=True)
class Found:
    """A token that opens the door, and whether its use was last recorded too long ago."""

    principal: Principal
    is_use_due: bool


def create(org_id: UUID, name: str, role: Role) -> str:
    """A new token: the only time that its text exists."""
    token_id = new_id()
    text = f"{mark(token_id)}_{new_secret()}"
    session().add(ApiToken(id=token_id, org_id=org_id, name=name, role=role.value, token_hash=digest(text)))
    session().flush()
    return text


def mark(token_id: UUID) -> str:
    """How the text of this token begins."""
    return f"dm_{token_id.hex[-8:]}"


def find(text: str) -> Found | None:
    """Who brings this token, unless it was revoked."""
    found = session().execute(_FIND, {"token_hash": digest(text)}).one_or_none()
    if found is None:
        return None
    token_id, org_id, role, name, org_name, is_due = found
    return Found(Principal(org_id, org_name, Role(role), name, token_id=token_id), is_use_due=bool(is_due))


def record_use(org_id: UUID, token_id: UUID) -> None:
    """Note that the token is in use."""
    session().execute(
        update(ApiToken).where(ApiToken.org_id == org_id, ApiToken.id == token_id).values(last_used_at=now())
    )


def of_org(org_id: UUID) -> list[ApiToken]:
    """The tokens of an org that still open the door, the newest first."""
    wanted = ApiToken.org_id == org_id, ApiToken.revoked_at.is_(None)
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
