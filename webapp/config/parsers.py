"""What the processes that read foreign files may take, and what holds them."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader

AUTO, REQUIRE = "auto", "require"


@dataclass(frozen=True)
class ParserSettings(Group):
    """What the processes that read foreign files may take, and what holds them."""

    extract_timeout_seconds: float
    extract_memory_mb: int
    sandbox: str

    @property
    def requires_locks(self) -> bool:
        """Whether no file is read where a lock is missing."""
        return self.sandbox == REQUIRE


def read(env: Reader, *, embedded: bool) -> ParserSettings:
    """Read and check this group."""
    return ParserSettings(
        extract_timeout_seconds=env.seconds("EXTRACT_TIMEOUT_SECONDS", 100 if embedded else 900),
        extract_memory_mb=env.whole("EXTRACT_MEMORY_MB", 2048, least=256),
        sandbox=env.choice("SANDBOX", AUTO, (AUTO, REQUIRE)),
    )
