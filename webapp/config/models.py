"""Where the local models lie, and where set-up may take them from. `make setup` reads this group alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class ModelSettings(Group):
    """Where the local models lie, and where set-up may take them from."""

    models_dir: Path
    models_from: Path | str | None
    """A folder or an address with the same packages, for the day when the index has lost them."""


def read(env: Reader) -> ModelSettings:
    """Read and check this group."""
    models_dir = env.folder("MODELS_DIR", env.folder("DATA_DIR", "var") / "models")
    return ModelSettings(models_dir, _models_from(env))


def _models_from(env: Reader) -> Path | str | None:
    given = env.text("MODELS_FROM")
    return env.address("MODELS_FROM") if "://" in given else env.folder("MODELS_FROM", "") if given else None


def from_environment() -> ModelSettings:
    """Read this group alone, without what only a whole start needs."""
    return read(Reader(os.environ))
