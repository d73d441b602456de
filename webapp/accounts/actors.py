"""Names for who acted, as stored with a run or a stage control: `user:<id>` or `token:<id>`."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, select

from webapp.accounts import users
from webapp.accounts.model import ApiToken, User
from webapp.accounts.roles import SCOPE_OF_ROLE, Permission, Role, Scope
from webapp.db import session


def names(org_id: UUID, refs: Iterable[str | None]) -> dict[str, str]:
    """The names of those who are of this org. What is no reference ("command line") stays as it is.

    Others are left out: one org must not learn who works in another.
    """
    wanted = {ref for ref in refs if ref}
    ids = {ref: parsed for ref in wanted if (parsed := _parse(ref))}
    people = {found for kind, found in ids.values() if kind == "user"}
    programs = {found for kind, found in ids.values() if kind == "token"}
    emails = _texts(select(User.id, User.email).where(User.org_id == org_id, User.id.in_(people)), people)
    labels = _texts(
        select(ApiToken.id, ApiToken.name).where(ApiToken.org_id == org_id, ApiToken.id.in_(programs)), programs
    )
    found = {ref: ref for ref in wanted - ids.keys()}
    for ref, (kind, of_id) in ids.items():
        if kind == "user" and of_id in emails:
            found[ref] = emails[of_id]
        elif kind == "token" and of_id in labels:
            # A token may be named like a person: the word before it says what it is.
            found[ref] = f"token “{labels[of_id]}”"
    return found


def may_still_write(org_id: UUID, ref: str) -> bool:
    """Whether this person or token may write, which nobody takes from them until this transaction ends.

    The command line always may.
    """
    kind, of_id = _parse(ref) or (None, None)
    if of_id is None:
        return True
    # The person first, as everything does that changes both.
    owner_id = of_id if kind == "user" else _token(org_id, of_id, ApiToken.user_id)
    if owner_id is not None:
        owner = users.locked(org_id, owner_id)
        if owner is None or owner.disabled_at is not None or not _writes(SCOPE_OF_ROLE[Role(owner.role)]):
            return False
    if kind == "user":
        return True
    scope = _token(org_id, of_id, ApiToken.scope, ApiToken.revoked_at.is_(None), locks=True)
    return scope is not None and _writes(Scope(scope))


def _token(org_id: UUID, token_id: UUID, column: Any, *conditions: ColumnElement[bool], locks: bool = False) -> Any:
    asked = select(column).where(ApiToken.org_id == org_id, ApiToken.id == token_id, *conditions)
    return session().scalar(asked.with_for_update() if locks else asked)


def _writes(scope: Scope) -> bool:
    return Permission.WRITE in scope.permissions


def _texts(statement: Select[UUID, str], ids: set[UUID]) -> Mapping[UUID, str]:
    return {row[0]: row[1] for row in session().execute(statement)} if ids else {}


def _parse(ref: str) -> tuple[str, UUID] | None:
    kind, _, text = ref.partition(":")
    if kind not in {"user", "token"}:
        return None
    try:
        return kind, UUID(text)
    except ValueError:
        return None
