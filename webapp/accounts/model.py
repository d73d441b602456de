"""The tables of accounts."""

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, ForeignKeyConstraint, Index, Text, UniqueConstraint, Uuid
from sqlalchemy.orm import Mapped, mapped_column

from webapp.clock import new_id, now
from webapp.db import Base, UtcDateTime


class Org(Base):
    """A tenant: every other row belongs to one."""

    __tablename__ = "orgs"
    __table_args__ = (CheckConstraint("length(name) > 0", name="named"),)

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    name: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())


class User(Base):
    """A person who signs in. Without a password only a sign-in link lets them in."""

    __tablename__ = "users"
    __table_args__ = (
        CheckConstraint("role IN ('member', 'ops')", name="role"),
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


class UserSession(Base):
    """One signed-in browser. The cookie holds a random token; only its hash is stored."""

    __tablename__ = "user_sessions"
    __table_args__ = (
        ForeignKeyConstraint(["org_id", "user_id"], ["users.org_id", "users.id"], ondelete="CASCADE"),
        Index("ix_user_sessions_org_id_user_id", "org_id", "user_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid)
    user_id: Mapped[UUID] = mapped_column(Uuid)
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    expires_at: Mapped[datetime] = mapped_column(UtcDateTime)


class SignInLink(Base):
    """A link that signs its user in once."""

    __tablename__ = "sign_in_links"
    __table_args__ = (
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


class ApiToken(Base):
    """A program's key to one org. Shown once; only its hash is stored."""

    __tablename__ = "api_tokens"
    __table_args__ = (
        CheckConstraint("role IN ('member', 'ops')", name="role"),
        Index("ix_api_tokens_org_id", "org_id"),
    )

    id: Mapped[UUID] = mapped_column(Uuid, primary_key=True, default=new_id)
    org_id: Mapped[UUID] = mapped_column(Uuid, ForeignKey("orgs.id", ondelete="CASCADE"))
    name: Mapped[str] = mapped_column(Text)
    role: Mapped[str] = mapped_column(Text)
    token_hash: Mapped[str] = mapped_column(Text, unique=True)
    created_at: Mapped[datetime] = mapped_column(UtcDateTime, default=now())
    last_used_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
    revoked_at: Mapped[datetime | None] = mapped_column(UtcDateTime)
