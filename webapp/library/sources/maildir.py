"""A Maildir on this machine or on a share: a folder with the folders new, cur and tmp, a file for each message."""

import hashlib
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

from webapp.documents.source_model import Source
from webapp.library.sources.folder import FolderPlace, shown
from webapp.library.sources.ledger import Sighting
from webapp.library.sources.trouble import ItemFailed, ItemReason, SourceFailed, SourceTrouble
from webapp.services import Services

_FLAGS = ":2,"
_SEEN = "S"


class MaildirPlace(FolderPlace):
    """A Maildir, opened for a poll. A message keeps its key when a mail program renames its file."""

    def __init__(self, services: Services, source: Source) -> None:
        super().__init__(services, source)
        # A message is delivered whole: it is written in tmp, and then moved.
        self.still_seconds = 0.0

    def look(self) -> Iterator[Sighting]:
        """See the messages in new and in cur."""
        self._paths.clear()
        try:
            with self._opened("new"), self._opened("cur"):
                pass
        except OSError as error:
            raise SourceFailed(SourceTrouble.NOT_MAILDIR) from error
        for part in ("new", "cur"):
            for seen, path, is_folder in self._list(part):
                if seen is None or is_folder:
                    continue
                name = os.path.basename(path)  # noqa: PTH119 - a name of any bytes
                unique = name.partition(_FLAGS)[0]
                key = hashlib.sha256(os.fsencode(unique)).hexdigest()
                self._paths[key] = (path, seen.version)
                yield replace(seen, key=key, name=shown(unique))

    def settle(self, item: Any) -> bool:
        """Mark a message that was taken as read: by a flag in the name of its file, which lies in cur then."""
        path = self._path(item)
        folder, name = os.path.split(path)
        unique, _, flags = name.partition(_FLAGS)
        if self._after_taking != "seen" or (folder == "cur" and _SEEN in flags):
            return False
        there = f"{unique}{_FLAGS}{''.join(sorted({*flags, _SEEN}))}"
        try:
            with self._opened(folder) as at, self._opened("cur") as cur, suppress(FileNotFoundError):
                os.rename(name, there, src_dir_fd=at, dst_dir_fd=cur)
        except OSError as error:
            raise ItemFailed(ItemReason.CANT_MOVE) from error
        return False

    def _called(self, item: Any) -> tuple[str, str | None]:
        return f"{item.name}.eml", None
