"""What every group of settings is: a frozen dataclass whose fields tell the names of their variables."""

from dataclasses import dataclass
from typing import ClassVar


@dataclass(frozen=True)
class Group:
    """The settings of one topic. A field's variable is its name in capitals, behind the group's prefix."""

    prefix: ClassVar[str] = ""

    @classmethod
    def variable(cls, name: str) -> str:
        """The variable of a field; what Python reserves has an underscore behind it (`from_`)."""
        return f"{cls.prefix}{name}".rstrip("_").upper()
