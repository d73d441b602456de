"""Which folders and mail servers may be polled for new documents."""

from dataclasses import dataclass
from pathlib import Path

from webapp.config.group import Group
from webapp.config.reader import Reader, SettingsError


@dataclass(frozen=True)
class SourceSettings(Group):
    """Which folders and mail servers may be polled for new documents."""

    prefix = "source_"

    folders: tuple[Path, ...]
    """Folders that may be watched, with those in them; without any, no folder is."""
    still_seconds: float
    """How long a file must not have changed before it is taken."""
    private_hosts: tuple[str, ...]
    """Mail servers that may have an address of a private network or of this machine."""


def read(env: Reader) -> SourceSettings:
    """Read and check this group."""
    return SourceSettings(
        folders=tuple(_folder(name) for name in env.names("SOURCE_FOLDERS")),
        still_seconds=env.seconds("SOURCE_STILL_SECONDS", 10),
        private_hosts=tuple(name.lower() for name in env.names("SOURCE_PRIVATE_HOSTS")),
    )


def _folder(name: str) -> Path:
    path = Path(name)
    if not path.is_absolute() or path == Path("/") or ".." in path.parts:
        raise SettingsError(
            f"SOURCE_FOLDERS: {name!r} must be the whole path of a folder, and not of the whole disk. "
            "Example: SOURCE_FOLDERS=/srv/scans,/mnt/share/inbox."
        )
    return path
