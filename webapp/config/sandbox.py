"""What holds the processes that read foreign files."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader

AUTO, REQUIRE = "auto", "require"


@dataclass(frozen=True)
class SandboxSettings(Group):
    """What holds the processes that read foreign files."""

    sandbox: str = AUTO

    @property
    def is_required(self) -> bool:
        """Whether no file is read where a lock is missing."""
        return self.sandbox == REQUIRE


def read(env: Reader) -> SandboxSettings:
    """Read and check this group."""
    return SandboxSettings(env.choice("SANDBOX", AUTO, (AUTO, REQUIRE)))
