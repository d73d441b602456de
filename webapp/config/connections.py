"""What connects a passage with passages of other documents."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class ConnectionSettings(Group):
    """What connects a passage with passages of other documents."""

    prefix = "connection_"

    neighbours: int
    threshold: float
    """0: what was measured for the model that makes the vectors."""


def read(env: Reader) -> ConnectionSettings:
    """Read and check this group."""
    return ConnectionSettings(
        neighbours=env.whole("CONNECTION_NEIGHBOURS", 5, most=50),
        threshold=env.share("CONNECTION_THRESHOLD", 0.0),
    )
