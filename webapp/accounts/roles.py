"""What people and programs may do: permissions, the roles of people, the scopes of tokens."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID


class Permission(StrEnum):
    """One thing that a route can ask for."""

    READ = "read"
    """Look at documents, search, download."""
    UPLOAD = "upload"
    """Add documents."""
    WRITE = "write"
    """Reprocess, cancel, change and delete documents."""
    OPS = "ops"
    """See the jobs and the security log of one's own org; retry and cancel its jobs."""
    OPERATE = "operate"
    """Pause, resume and limit stages, which holds for the whole installation."""
    METRICS = "metrics"
    """Read the figures of GET /metrics."""
    WORK = "work"
    """Work off a stage over HTTP."""


class Role(StrEnum):
    """What somebody is in their org."""

    VIEWER = "viewer"
    """Reads and searches, changes nothing."""
    MEMBER = "member"
    """That, and uploads, reprocesses and deletes."""
    OPS = "ops"
    """That, and looks after the org's jobs. Where there is but one org, its ops are operators too."""
    OPERATOR = "operator"
    """That, and runs the installation."""
    METRICS = "metrics"
    """A monitor: reads figures and nothing else. For tokens alone."""
    WORKER = "worker"
    """A program that works off a stage of its org over HTTP, and can do nothing else. For tokens alone."""


class Scope(StrEnum):
    """What a token may do. It never gives more than its owner's present role."""

    READ = "read"
    UPLOAD = "upload"
    WRITE = "write"
    METRICS = "metrics"
    OPS = "ops"
    OPERATOR = "operator"
    WORKER = "worker"

    @property
    def permissions(self) -> frozenset[Permission]:
        """What a token of this scope may do at most."""
        return _OF_SCOPES[self]


PEOPLE_ROLES = (Role.VIEWER, Role.MEMBER, Role.OPS, Role.OPERATOR)

_READ = frozenset({Permission.READ})
_WRITE = _READ | {Permission.UPLOAD, Permission.WRITE}
_OPS = _WRITE | {Permission.OPS, Permission.METRICS}
_OPERATE = _OPS | {Permission.OPERATE}
_OF_SCOPES: Mapping[Scope, frozenset[Permission]] = {
    Scope.READ: _READ,
    Scope.UPLOAD: frozenset({Permission.UPLOAD}),
    Scope.WRITE: _WRITE,
    Scope.METRICS: frozenset({Permission.METRICS}),
    Scope.OPS: _OPS,
    Scope.OPERATOR: _OPERATE,
    Scope.WORKER: frozenset({Permission.WORK}),
}
SCOPE_OF_ROLE: Mapping[Role, Scope] = {
    Role.VIEWER: Scope.READ,
    Role.MEMBER: Scope.WRITE,
    Role.OPS: Scope.OPS,
    Role.OPERATOR: Scope.OPERATOR,
    Role.METRICS: Scope.METRICS,
    Role.WORKER: Scope.WORKER,
}


def permissions_of(role: Role, *, is_only_org: bool) -> frozenset[Permission]:
    """What a person with this role may do."""
    return _alone(SCOPE_OF_ROLE[role].permissions, is_only_org=is_only_org)


def permissions_of_token(scope: Scope, owner: Role | None, *, is_only_org: bool) -> frozenset[Permission]:
    """What a token may do: no more than its scope, and no more than its owner may at this moment."""
    found = _alone(scope.permissions, is_only_org=is_only_org)
    return found if owner is None else found & permissions_of(owner, is_only_org=is_only_org)


def _alone(permissions: frozenset[Permission], *, is_only_org: bool) -> frozenset[Permission]:
    """The ops of the only org run the installation: there is nobody else who could be disturbed."""
    return _OPERATE if is_only_org and Permission.OPS in permissions else permissions


@dataclass(frozen=True)
class Principal:
    """Who asks: a person who is signed in, or a program with an API token. Always of one org."""

    org_id: UUID
    org_name: str
    name: str
    permissions: frozenset[Permission]
    role: Role | None = None
    """A person's role; programs have none."""
    user_id: UUID | None = None
    session_id: UUID | None = None
    token_id: UUID | None = None
    is_fresh: bool = False
    """Whether this person proved who they are a few minutes ago."""
    came_by_link: bool = False
    """Whether this person signed in by a link a few minutes ago: they may not know their password."""
    wrote_lately: bool = False
    """Whether this session or token has just written something, which a replica may not have yet."""

    @property
    def is_person(self) -> bool:
        """Programs have no password, no session and no account page."""
        return self.user_id is not None

    @property
    def ref(self) -> str:
        """What is stored as "who did it". A name could be chosen by anybody, an id can't."""
        return f"user:{self.user_id}" if self.is_person else f"token:{self.token_id}"

    def may(self, permission: Permission) -> bool:
        """Whether they have this permission."""
        return permission in self.permissions

    @property
    def may_upload(self) -> bool:
        return self.may(Permission.UPLOAD)

    @property
    def may_write(self) -> bool:
        return self.may(Permission.WRITE)

    @property
    def is_ops(self) -> bool:
        """Whether they may see the ops pages."""
        return self.may(Permission.OPS)

    @property
    def is_operator(self) -> bool:
        """Whether they may pause, resume and limit stages."""
        return self.may(Permission.OPERATE)

    @property
    def may_give(self) -> tuple[Scope, ...]:
        """The scopes that this person may give a token."""
        return tuple(scope for scope in Scope if scope.permissions <= self.permissions)
