"""The disk that files lie on: how much of it is free, and whether that is little."""

import shutil
from dataclasses import dataclass
from pathlib import Path

_SHARE_MIN = 0.05
# Of a large disk a twentieth would be more than anybody needs free.
_ENOUGH_BYTES = 10 * 1024**3
# Uploads end at the limit of the settings: a warning has to come before.
_TIMES_THE_LIMIT = 2


@dataclass(frozen=True)
class Disk:
    """The free and all bytes of a disk."""

    free_bytes: int
    total_bytes: int

    def is_nearly_full(self, free_min_bytes: int) -> bool:
        """Whether less than a twentieth of it is free, or less than twice what has to stay free."""
        little = min(_ENOUGH_BYTES, round(_SHARE_MIN * self.total_bytes))
        return self.free_bytes < max(little, _TIMES_THE_LIMIT * free_min_bytes)


def disk_of(folder: Path) -> Disk | None:
    """The disk of a folder; None where the folder does not exist."""
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return None
    return Disk(usage.free, usage.total)
