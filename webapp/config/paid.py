"""How calls that cost money are made and kept."""

from dataclasses import dataclass

from webapp.config.reader import Reader


@dataclass(frozen=True)
class PaidSettings:
    """How calls that cost money are made and kept. Each field's variable is its name in capitals."""


def read(env: Reader) -> PaidSettings:
    """Read and check this group."""
    return PaidSettings()
