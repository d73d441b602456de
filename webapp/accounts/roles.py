"""The roles, and who somebody is once the door has let them in."""

from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Role(StrEnum):
    """What somebody may do inside their org."""

    MEMBER = "member"
    """Upload, read, search, reprocess, delete."""
    OPS = "ops"
    """That, and see the health of the installation and retry failed jobs."""

    @property
    def may_give(self) -> tuple["Role", ...]:
        """The roles that somebody with this role may hand to an API token: never more than their own."""
        return (Role.MEMBER, Role.OPS) if self is Role.OPS else (Role.MEMBER,)


@dataclass(frozen=True)
class Principal:
    """Who asks: a person who is signed in, or a program with an API token. Always of one org."""

    org_id: UUID
    org_name: str
    role: Role
    name: str
    user_id: UUID | None = None
    session_id: UUID | None = None
    token_id: UUID | None = None

    @property
    def email(self) -> str | None:
        """A person's address; programs have none."""
        return self.name if self.is_person else None

    @property
    def is_person(self) -> bool:
        """Programs have no password, no session and no account page."""
        return self.user_id is not None

    @property
    def is_ops(self) -> bool:
        """Whether the ops pages are theirs to see."""
        return self.role is Role.OPS
