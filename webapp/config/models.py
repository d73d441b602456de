"""Where the local models lie, and where set-up may take them from. `make setup` reads this group alone."""

import os
from dataclasses import dataclass
from pathlib import Path

from webapp.config.group import Group
from webapp.config.reader import Reader


@dataclass(frozen=True)
class ModelSettings(Group):
    """Where the local models lie, and where set-up may take them from."""

    prefix = "models_"

    dir: Path
    from_: Path | str | None
    """A folder or an address with the same packages, for the day when the index has lost them."""


def read(env: Reader) -> ModelSettings:
    """Read and check this group."""
    return ModelSettings(dir=env.folder("MODELS_DIR", data_dir(env) / "models"), from_=_from(env))


def data_dir(env: Reader) -> Path:
    """The folder of all that Docmill keeps."""
    return env.folder("DATA_DIR", "var")


def _from(env: Reader) -> Path | str | None:
    given = env.text("MODELS_FROM")
    return env.address("MODELS_FROM") if "://" in given else env.folder("MODELS_FROM", "") if given else None


def from_environment() -> ModelSettings:
    """Read this group alone, without what only a whole start needs."""
    return read(Reader(os.environ))
