"""What every kind of source can do, and which of its kind a source is."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, Protocol

from webapp.config import Settings
from webapp.documents.source_model import Source
from webapp.library.sources.ledger import Sighting
from webapp.library.sources.trouble import SourceFailed, SourceTrouble


class SourcePlace(Protocol):
    """A folder or a mailbox that was opened for a poll. All of it may raise SourceFailed."""

    still_seconds: float
    """How long an item must be unchanged before it is taken."""
    is_whole: bool
    """Whether all was seen, so that what was not seen is gone; known after `look`."""
    mark: dict[str, Any] | None
    """How far it has been looked through, where a poll goes on where the one before ended."""
    trouble: SourceTrouble | None
    """What is to be said of it, although what was seen can be taken."""

    def look(self) -> Iterator[Sighting]:
        """See what is there."""

    def is_there(self, key: str) -> bool:
        """Whether this item was seen."""

    def open(self, item: Any) -> "AbstractContextManager[Opened]":
        """Open an item for reading; ItemFailed."""

    def settle(self, item: Any) -> bool:
        """Move, mark or delete what was taken; ItemFailed. Returns whether its row may be forgotten."""

    def close(self) -> None:
        """The poll is over."""


@dataclass(frozen=True)
class Opened:
    """The bytes of an item, and what it is called in the library."""

    stream: BinaryIO
    filename: str
    folder: str | None
    check: Callable[[], None]
    """Call it after the last byte: ItemFailed where the item has changed meanwhile."""


@dataclass(frozen=True)
class AllowedFolder:
    """A folder that may be watched: one of SOURCE_FOLDERS, and the way to it from there."""

    base: Path
    way: tuple[str, ...]


def allowed_folder(settings: Settings, path: str) -> AllowedFolder:
    """Where a path lies that a person gave; SourceFailed where it may not be watched."""
    asked = PurePosixPath(path)
    if asked.is_absolute() and ".." not in asked.parts and "\0" not in path:
        for base in settings.sources.folders:
            if asked.is_relative_to(base):
                return AllowedFolder(base, asked.relative_to(base).parts)
    raise SourceFailed(SourceTrouble.FOLDER_NOT_ALLOWED)


def may_poll(settings: Settings, source: Source) -> bool:
    """Whether this process may poll a source: of several machines, not all have the folder."""
    if source.kind == "imap":
        return True
    try:
        allowed_folder(settings, str(source.place.get("path")))
    except SourceFailed:
        return False
    return True
