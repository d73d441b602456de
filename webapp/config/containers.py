"""How much is unpacked of an archive, a mail or a PDF in which files lie."""

from dataclasses import dataclass

from webapp.config.group import Group
from webapp.config.reader import Reader

_MB = 1024**2


@dataclass(frozen=True)
class ContainerSettings(Group):
    """How much is unpacked of a container, with all that lies in the containers within it."""

    unpack_files_max: int
    unpack_mb_max: int
    unpack_ratio_max: int
    unpack_depth: int

    @property
    def unpack_bytes_max(self) -> int:
        """How many bytes the files in a container may have together."""
        return self.unpack_mb_max * _MB


def read(env: Reader) -> ContainerSettings:
    """Read and check this group."""
    return ContainerSettings(
        unpack_files_max=env.whole("UNPACK_FILES_MAX", 10_000, most=1_000_000),
        unpack_mb_max=env.whole("UNPACK_MB_MAX", 2048),
        unpack_ratio_max=env.whole("UNPACK_RATIO_MAX", 200),
        unpack_depth=env.whole("UNPACK_DEPTH", 3, least=0, most=20),
    )
