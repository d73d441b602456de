"""Signing in and changing a password: the parts that do the slow work outside of any transaction."""

from uuid import UUID

from webapp.accounts import audit, links, passwords, sessions, tokens, users
from webapp.accounts.audit import Action, Actor
from webapp.accounts.model import User
from webapp.accounts.sessions import Visit
from webapp.db import reading, transaction


class SignInRefused(Exception):
    """The person was disabled, or their password was changed, between its check and the session."""


def authenticate(email: str, password: str) -> list[User]:
    """Everybody whom this address and password fit: one for each org, since orgs share no people."""
    with reading(everywhere=True):
        candidates = users.with_email(email)
    if not candidates:
        # An unknown address must take as long as a known one.
        passwords.verify(None, password)
    matching = [user for user in candidates if passwords.verify(user.password_hash, password)]
    return [user for user in matching if _has_new_hash(user, password)]


def start_session(user: User, days: int, visit: Visit | None = None) -> str:
    """Open a session for somebody whose password was right; the token for the cookie, or SignInRefused.

    The check took its time outside of any transaction. What ends all sessions of a person meanwhile, as a reset does,
    must not be outlived by this one.
    """
    with transaction(user.org_id):
        found = users.locked(user.org_id, user.id)
        if found is None or found.disabled_at is not None or found.password_hash != user.password_hash:
            raise SignInRefused
        return _open_session(found, days, visit or Visit())


def start_session_by_link(token: str, days: int, visit: Visit) -> tuple[User, str] | None:
    """Use up a link that signs in: its person and the token of their session. None for no link."""
    with transaction(everywhere=True):
        user = links.use(token)
        return (user, _open_session(user, days, visit)) if user else None


def set_password(
    org_id: UUID, user_id: UUID, password: str, days: int, visit: Visit | None = None, *, ends_tokens: bool = False
) -> str:
    """Store a new password, end every session and open link, and open one new session: its token.

    API tokens of this person end where that is asked for: somebody who knew the old password may have made one.
    """
    password_hash = passwords.hash_password(password)
    visit = visit or Visit()
    with transaction(org_id):
        user = users.locked(org_id, user_id)
        if user is None or user.disabled_at is not None:
            raise LookupError("this person is gone")
        users.set_password_hash(user, password_hash)
        users.end_sessions(user)
        ended = tokens.revoke_all_of(org_id, user_id) if ends_tokens else 0
        audit.record(org_id, Actor.person(user, visit.address), Action.PASSWORD_SET, tokens_ended=ended)
        return sessions.open_for(user, days, visit)


def set_first_password(token: str, password: str, days: int, visit: Visit) -> tuple[User, str] | None:
    """Use up a link with a new password, end every session of its person, and open one: its token. None for no link."""
    password_hash = passwords.hash_password(password)
    with transaction(everywhere=True):
        user = links.use(token)
        if user is None:
            return None
        users.set_password_hash(user, password_hash)
        users.end_sessions(user)
        audit.record(user.org_id, Actor.person(user, visit.address), Action.PASSWORD_SET, via=visit.via)
        return user, _open_session(user, days, visit)


def record_failure(email: str, visit: Visit) -> None:
    """Write down that a sign-in failed: for the orgs that know the e-mail, else for the installation."""
    with transaction(everywhere=True):
        candidates = users.with_email(email)
        for user in candidates:
            actor = Actor.nobody(user.email, visit.address)
            audit.record(user.org_id, actor, Action.SIGN_IN_FAILED, f"user:{user.id}", device=visit.device)
        if not candidates:
            # What is no e-mail may be a password that was typed into the wrong field.
            name = email if users.is_email(email) else "(not an e-mail address)"
            audit.record(None, Actor.nobody(name, visit.address), Action.SIGN_IN_FAILED, device=visit.device)


def is_password_of(org_id: UUID, user_id: UUID, password: str) -> bool:
    """Whether this is the password of somebody who is signed in."""
    with reading(org_id):
        user = users.get(org_id, user_id)
    return passwords.verify(user.password_hash if user else None, password)


def _open_session(user: User, days: int, visit: Visit) -> str:
    actor = Actor.person(user, visit.address)
    audit.record(user.org_id, actor, Action.SIGNED_IN, via=visit.via, device=visit.device)
    return sessions.open_for(user, days, visit)


def _has_new_hash(user: User, password: str) -> bool:
    """Renew a hash that was made with other parameters; False where the password does not fit any more."""
    if not user.password_hash or not passwords.needs_rehash(user.password_hash):
        return True
    renewed = passwords.hash_password(password)
    with transaction(user.org_id):
        was_renewed = users.renew_password_hash(user, renewed)
        stored = users.get(user.org_id, user.id)
    # Another sign-in may have renewed it at the same moment.
    user.password_hash = stored.password_hash if stored else None
    return was_renewed or passwords.verify(user.password_hash, password)
