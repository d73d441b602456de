"""The security log: who did what, to what, and from where. Lines are added and pruned by age, never changed.

A line is added in the transaction of the change that it is about, so there is neither a change
without its line nor a line without its change. It never holds a secret, and every text in it is
cut: much of it was typed by people who have not signed in.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, cast
from uuid import UUID

from sqlalchemy import Table, and_, or_, select

from webapp.accounts.model import AuditEntry, User
from webapp.accounts.roles import Principal
from webapp.clock import after
from webapp.db import session
from webapp.db.pruning import Prunable

NAME_LENGTH_MAX = 254
_TEXT_LENGTH_MAX = 200
# Where more was noted since, one line too many does no harm.
_LOOKED_AT_MAX = 1_000

_table = cast(Table, AuditEntry.__table__)
PRUNABLE = Prunable(_table, _table.c.created_at)


class Action(StrEnum):
    """What is written down."""

    SIGNED_IN = "signed_in"
    SIGN_IN_FAILED = "sign_in_failed"
    SIGNED_OUT = "signed_out"
    SESSION_ENDED = "session_ended"
    SESSIONS_ENDED = "sessions_ended"
    PASSWORD_SET = "password_set"  # noqa: S105 - the name of an action
    PASSWORD_WRONG = "password_wrong"  # noqa: S105 - the name of an action
    LINK_CREATED = "link_created"
    PASSWORD_LINK_CREATED = "password_link_created"  # noqa: S105 - the name of an action
    TOKEN_CREATED = "token_created"  # noqa: S105 - the name of an action
    TOKEN_REVOKED = "token_revoked"  # noqa: S105 - the name of an action
    USER_CREATED = "user_created"
    USER_INVITED = "user_invited"
    INVITATION_WITHDRAWN = "invitation_withdrawn"
    USER_DISABLED = "user_disabled"
    USER_ENABLED = "user_enabled"
    USER_RESET = "user_reset"
    ROLE_CHANGED = "role_changed"
    SHARE_CREATED = "share_created"
    SHARE_OPENED = "share_opened"
    SHARE_REVOKED = "share_revoked"
    DOCUMENT_DOWNLOADED = "document_downloaded"
    DOCUMENT_DELETED = "document_deleted"
    DOCUMENT_RESTORED = "document_restored"
    DOCUMENT_PURGED = "document_purged"
    BIN_EMPTIED = "bin_emptied"
    BULK_BEGUN = "bulk_begun"
    EXPORT_DOWNLOADED = "export_downloaded"
    LIBRARY_EXPORTED = "library_exported"
    LIBRARY_IMPORTED = "library_imported"
    DOCUMENT_UNLOCKED = "document_unlocked"
    WORK_STOPPED = "work_stopped"
    WORK_RESUMED = "work_resumed"
    STAGE_PAUSED = "stage_paused"
    STAGE_RESUMED = "stage_resumed"
    STAGE_LIMITED = "stage_limited"
    JOBS_DISCARDED = "jobs_discarded"
    JOBS_RESTORED = "jobs_restored"
    SOURCE_CREATED = "source_created"
    SOURCE_CHANGED = "source_changed"
    SOURCE_DELETED = "source_deleted"
    WEBHOOK_ADDED = "webhook_added"
    WEBHOOK_CHANGED = "webhook_changed"
    WEBHOOK_DELETED = "webhook_deleted"
    WEBHOOK_SECRET_RENEWED = "webhook_secret_renewed"  # noqa: S105 - the name of an action
    WEBHOOK_REPLAYED = "webhook_replayed"


@dataclass(frozen=True)
class Actor:
    """Who did it, and from which address."""

    kind: str
    name: str
    id: UUID | None = None
    address: str | None = None

    @classmethod
    def of(cls, who: Principal, address: str | None) -> "Actor":
        """A person or a program that was let in."""
        kind = "user" if who.is_person else "token"
        return cls(kind, who.name, who.user_id or who.token_id, address)

    @classmethod
    def person(cls, user: User, address: str | None) -> "Actor":
        """A person who is just being let in, or just was not."""
        return cls("user", user.email, user.id, address)

    @classmethod
    def nobody(cls, name: str, address: str | None) -> "Actor":
        """Somebody who was not let in, under the name that they gave."""
        return cls("nobody", name, None, address)


COMMAND_LINE = Actor("command", "command line")


def record(org_id: UUID | None, actor: Actor, action: Action, target: str | None = None, **details: Any) -> None:
    """Add a line in the open transaction. Lines without an org need one that is opened for everybody's rows."""
    session().add(
        AuditEntry(
            org_id=org_id,
            actor_kind=actor.kind,
            actor_id=actor.id,
            actor_name=_bounded(actor.name, NAME_LENGTH_MAX),
            action=action.value,
            target=_bounded(target, _TEXT_LENGTH_MAX) if target else None,
            address=_bounded(actor.address, _TEXT_LENGTH_MAX) if actor.address else None,
            details={name: _plain(value) for name, value in details.items() if value is not None} or None,
        )
    )


def is_noted(org_id: UUID, actor: Actor, action: Action, target: str, what: str | None, seconds: float) -> bool:
    """Whether a line says that this actor did this in the last seconds, among the newest lines about the action."""
    a = AuditEntry
    lines = select(a.actor_id, a.target, a.created_at, a.details).where(a.org_id == org_id, a.action == action.value)
    newest = lines.order_by(a.id.desc()).limit(_LOOKED_AT_MAX).subquery().c
    same = newest.actor_id == actor.id, newest.target == target, newest.created_at >= after(-seconds)
    return any(
        (details or {}).get("what") == what for details in session().scalars(select(newest.details).where(*same))
    )


def page(
    org_id: UUID,
    *,
    with_installation: bool,
    action: str | None = None,
    person: UUID | None = None,
    before: UUID | None = None,
    limit: int,
) -> Sequence[AuditEntry]:
    """The lines of an org, and for operators those of the installation, the newest first, from before this id on.

    `person`: what this person did, and what was done to their account.
    """
    # One query for each, so that all walk along an index.
    owners = [AuditEntry.org_id == org_id, *([AuditEntry.org_id.is_(None)] if with_installation else [])]
    if person is not None:
        is_target = AuditEntry.target == f"user:{person}"
        by_others = or_(AuditEntry.actor_id.is_(None), AuditEntry.actor_id != person)
        owners = [
            and_(AuditEntry.org_id == org_id, AuditEntry.actor_id == person),
            and_(AuditEntry.org_id == org_id, is_target, by_others),
        ]
    found: list[AuditEntry] = []
    for owner in owners:
        wanted = select(AuditEntry).where(owner)
        if action is not None:
            wanted = wanted.where(AuditEntry.action == action)
        if before is not None:
            wanted = wanted.where(AuditEntry.id < before)
        found.extend(session().scalars(wanted.order_by(AuditEntry.id.desc()).limit(limit)))
    return sorted(found, key=lambda entry: entry.id, reverse=True)[:limit]


def _plain(value: Any) -> Any:
    return value if isinstance(value, bool | int | float) else _bounded(str(value), _TEXT_LENGTH_MAX)


def _bounded(text: str, length: int) -> str:
    """One line that every database can store."""
    return "".join(letter if letter.isprintable() else " " for letter in text[:length])
