"""The account page: who one is, where one is signed in, and the tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from flask import Response, make_response, render_template

from webapp.accounts import actors, sessions, tokens
from webapp.accounts.model import ApiToken, UserSession
from webapp.accounts.roles import Principal
from webapp.db import reading
from webapp.web.access import principal, services
from webapp.web.account import proof
from webapp.web.errors import Problem
from webapp.web.ops.limits_view import org_limits

DAYS_CHOICES = (30, 90, 365, 0)
"""How long a token may last; 0 is for ever."""
DAYS_DEFAULT = 90


@dataclass(frozen=True)
class TokenRow:
    """A token as its org sees it: how it begins, never what it is."""

    id: UUID
    name: str
    prefix: str
    scope: str
    owner: str
    created_at: datetime
    last_used_at: datetime | None
    expires_at: datetime | None
    has_ended: bool


@dataclass(frozen=True)
class SessionRow:
    """A browser in which this person is signed in."""

    id: UUID
    device: str | None
    address: str | None
    created_at: datetime
    last_seen_at: datetime
    is_current: bool


def account_page(new_token: str | None = None, errors: Mapping[str, str] | None = None) -> Response:
    """The page; a new token is in this one answer and nowhere else."""
    who, user_id = principal(), own_id()
    with reading(who.org_id):
        token_rows = _token_rows(who, user_id)
        session_rows = _session_rows(who, user_id)
        limits = org_limits(who.org_id)
    has_password = proof.has_password(who.org_id, user_id)
    page = render_template(
        "account/page.html",
        user=who,
        has_password=has_password,
        limits=limits,
        sessions=session_rows,
        tokens=token_rows,
        new_token=new_token,
        errors=errors or {},
        scopes=[scope.value for scope in who.may_give],
        days_choices=DAYS_CHOICES,
        days_default=DAYS_DEFAULT,
        asks_password=has_password and not who.is_fresh,
        asks_link=not has_password and not who.is_fresh,
    )
    return make_response(page, 422 if errors else 200)


def own_id() -> UUID:
    """The id of the person who asks."""
    user_id = principal().user_id
    if user_id is None:
        raise Problem(403, "people_only")
    return user_id


def _token_rows(who: Principal, user_id: UUID) -> list[TokenRow]:
    """One's own; for ops, all of the org."""
    found = tokens.of_org(who.org_id, None if who.is_ops else user_id)
    ended = tokens.end_dates(who.org_id)
    owners = actors.names(who.org_id, [f"user:{token.user_id}" for token in found if token.user_id])
    return [_token_row(token, owners, has_ended=ended.get(token.id, False)) for token in found]


def _token_row(token: ApiToken, owners: Mapping[str, str], *, has_ended: bool) -> TokenRow:
    return TokenRow(
        id=token.id,
        name=token.name,
        prefix=tokens.mark(token.id),
        scope=token.scope,
        owner=owners.get(f"user:{token.user_id}", "") if token.user_id else "",
        created_at=token.created_at,
        last_used_at=token.last_used_at,
        expires_at=token.expires_at,
        has_ended=has_ended,
    )


def _session_rows(who: Principal, user_id: UUID) -> list[SessionRow]:
    found = sessions.of_user(who.org_id, user_id, services().settings.access.session_idle_days)
    return [_session_row(one, who) for one in found]


def _session_row(one: UserSession, who: Principal) -> SessionRow:
    return SessionRow(
        id=one.id,
        device=one.device,
        address=one.address,
        created_at=one.created_at,
        last_seen_at=one.last_seen_at,
        is_current=one.id == who.session_id,
    )
