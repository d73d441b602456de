"""Where the command `docmill` finds the server, and the token that it shows there."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from webapp.config.reader import Reader

URL = "http://127.0.0.1:8000"


@dataclass(frozen=True)
class ClientSettings:
    """Where the command `docmill` finds the server, and the token that it shows there."""

    url: str
    token: str | None = field(repr=False)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] = os.environ) -> "ClientSettings":
        """Read DOCMILL_URL and DOCMILL_TOKEN; SettingsError where the first is no address."""
        env = Reader(environment)
        return cls(url=(env.address("DOCMILL_URL") or URL).rstrip("/"), token=env.optional("DOCMILL_TOKEN"))
