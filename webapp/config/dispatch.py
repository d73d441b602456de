"""How workers learn which job comes next: from the database, or from BullMQ on Redis in front of it."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from urllib.parse import SplitResult, urlsplit

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError

_EXAMPLE = "Example: REDIS_URL=redis://:password@redis.example.com:6379/0 (rediss:// for TLS)."
_PREFIX = re.compile(r"[\w{}.:-]{1,100}", re.ASCII)


class QueueKind(StrEnum):
    """What tells workers which job comes next."""

    DATABASE = "database"
    BULLMQ = "bullmq"


@dataclass(frozen=True)
class DispatchSettings(Group):
    """How workers learn which job comes next."""

    queue: QueueKind
    redis_url: str = field(repr=False)
    redis_prefix: str

    @property
    def uses_bullmq(self) -> bool:
        """Whether BullMQ on Redis is in front of the database."""
        return self.queue is QueueKind.BULLMQ

    @property
    def redis_host(self) -> str:
        """Where Redis is, without its password."""
        parts = urlsplit(self.redis_url)
        return f"{parts.hostname}:{parts.port or 6379}"


def read(env: Reader, *, has_workers: bool) -> DispatchSettings:
    """Read and check this group; `has_workers`: worker processes on PostgreSQL do the work."""
    kind = QueueKind(env.choice("QUEUE", QueueKind.DATABASE, tuple(QueueKind)))
    url, prefix = env.text("REDIS_URL"), env.text("REDIS_PREFIX", "{docmill}")
    if kind is QueueKind.BULLMQ:
        if not has_workers:
            raise SettingsError(
                "QUEUE=bullmq needs PostgreSQL and worker processes. "
                "Set DATABASE_URL=postgresql://… and leave EXECUTION out, or leave QUEUE out."
            )
        _check_url(url)
        if not _PREFIX.fullmatch(prefix):
            raise SettingsError(
                "REDIS_PREFIX has letters, digits and _ - . : { } only. Example: REDIS_PREFIX={docmill}."
            )
    return DispatchSettings(kind, url, prefix)


def _check_url(url: str) -> None:
    if not url:
        raise SettingsError(f"QUEUE=bullmq needs REDIS_URL. {_EXAMPLE}")
    parts = urlsplit(url)
    if parts.scheme not in {"redis", "rediss"} or not parts.hostname or not _has_port(parts):
        raise SettingsError(f"REDIS_URL is no address of a Redis server. {_EXAMPLE}")


def _has_port(parts: SplitResult) -> bool:
    """Whether the port, if there is one, is a number that a port can have."""
    try:
        return parts.port is None or parts.port > 0
    except ValueError:
        return False
