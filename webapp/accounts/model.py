"""The tables of accounts."""

from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Integer, Text, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, Json, UtcDateTime


class Org(Base):
    """A tenant: every other row belongs to one."""

    __tablename__ = "orgs"
    __table_args__ = (CheckConstraint("length(name) > 0", name="named"),)

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(Text, unique=True)
    # The versions of all readers for which ops asked that documents of earlier ones be read again (`REREAD=ask`).
    reread_for: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class User(Base):
    """A person who signs in. Without a password only a sign-in link lets them in."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint("role IN ('viewer', 'member', 'ops', 'operator')", name="role"),
        CheckConstraint("length(email) > 0 AND email = lower(email)", name="email"),
        UniqueConstraint("org_id", "id"),
        UniqueConstraint("org_id", "email"),
        Index("ix_users_email", "email"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    email: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(Text)
    password_hash: Mapped[str | None] = mapped_column(Text)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    disabled_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_signed_in_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class UserSession(Base):
    """One signed-in browser. The cookie holds a random token; only its hash is stored."""

    __tablename__ = "user_sessions"
    __table_args__ = (
        CheckConstraint("via IN ('password', 'link')", name="via"),
        ForeignKeyConstraint(["org_id", "user_id"], ["users.org_id", "users.id"], ondelete="CASCADE"),
        Index("ix_user_sessions_org_id_user_id", "org_id", "user_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    user_id: Mapped[UUID] = mapped_column(Uuid)
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    via: Mapped[str] = mapped_column(Text)
    device: Mapped[str | None] = mapped_column(Text)
    address: Mapped[str | None] = mapped_column(Text)
    last_seen_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    # Written where there is a read replica alone: for a while after it, this session reads the primary.
    wrote_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # When this person last proved who they are: at the sign-in, or by the password since then.
    authenticated_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class SignInLink(Base):
    """A link that signs its user in once, at once or with the password that they set by it."""

    __tablename__ = "sign_in_links"
    __table_args__ = (
        CheckConstraint("purpose IN ('sign_in', 'password')", name="purpose"),
        ForeignKeyConstraint(["org_id", "user_id"], ["users.org_id", "users.id"], ondelete="CASCADE"),
        Index("ix_sign_in_links_org_id_user_id", "org_id", "user_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    user_id: Mapped[UUID] = mapped_column(Uuid)
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)
    used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    purpose: Mapped[str] = mapped_column(Text, default="sign_in")


class ApiToken(Base):
    """A program's key to one org. Shown once; only its hash is stored. Without an owner the command line made it."""

    __tablename__ = "api_tokens"
    __table_args__ = (
        CheckConstraint("scope IN ('read', 'upload', 'write', 'metrics', 'ops', 'operator', 'worker')", name="scope"),
        ForeignKeyConstraint(["org_id", "user_id"], ["users.org_id", "users.id"], ondelete="CASCADE"),
        Index("ix_api_tokens_org_id", "org_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    user_id: Mapped[UUID | None] = mapped_column(Uuid)
    name: Mapped[str] = mapped_column(Text)
    scope: Mapped[str] = mapped_column(Text)
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    expires_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    # As in a person's session.
    wrote_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)


class SignInCount(Base):
    """How many sign-ins were tried in the present window, under the hash of an address, an e-mail or both."""

    __tablename__ = "sign_in_counts"

    key: Mapped[str] = mapped_column(Text, primary_key=True)
    started_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    attempts: Mapped[int] = mapped_column(Integer)


class RateBucket(Base):
    """What an org, or one person or token of it, has asked of all web processes together.

    `full_at` is when the bucket of tokens will be full again; a bucket that is full needs no row.
    """

    __tablename__ = "rate_buckets"

    key: Mapped[str] = mapped_column(Text, primary_key=True)
    full_at: Mapped[datetime] = mapped_column(UtcDateTime)


class AgreedValue(Base):
    """A value that the first process chose for all processes of this installation."""

    __tablename__ = "agreed_values"

    name: Mapped[str] = mapped_column(Text, primary_key=True)
    value: Mapped[str] = mapped_column(Text)


class AuditEntry(Base):
    """One line of the security log. Without an org it is about the whole installation."""

    __tablename__ = "audit_log"
    __table_args__ = (
        CheckConstraint("actor_kind IN ('user', 'token', 'command', 'link', 'nobody')", name="actor_kind"),
        Index("ix_audit_log_org_id_id", "org_id", "id"),
        Index("ix_audit_log_org_id_action_id", "org_id", "action", "id"),
        Index("ix_audit_log_org_id_actor_id_id", "org_id", "actor_id", "id"),
        Index("ix_audit_log_org_id_target_id", "org_id", "target", "id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID | None] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    actor_kind: Mapped[str] = mapped_column(Text)
    actor_id: Mapped[UUID | None] = mapped_column(Uuid)
    actor_name: Mapped[str] = mapped_column(Text)
    action: Mapped[str] = mapped_column(Text)
    target: Mapped[str | None] = mapped_column(Text)
    address: Mapped[str | None] = mapped_column(Text)
    details: Mapped[dict[str, Any] | None] = mapped_column(Json)


class IdempotencyKey(Base):
    """A request of a program that it may send twice, and its answer; without a status it is under way."""

    __tablename__ = "idempotency_keys"
    __table_args__ = (
        CheckConstraint("length(key) BETWEEN 1 AND 200", name="key"),
        CheckConstraint("status BETWEEN 200 AND 299", name="status"),
        UniqueConstraint("org_id", "requested_by", "key"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    requested_by: Mapped[str] = mapped_column(Text)
    key: Mapped[str] = mapped_column(Text)
    request_sha256: Mapped[str] = mapped_column(Text)
    status: Mapped[int | None] = mapped_column(Integer)
    location: Mapped[str | None] = mapped_column(Text)
    body: Mapped[Any] = mapped_column(Json, nullable=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
