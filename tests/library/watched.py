"""A watched folder for tests: files as people and scanners leave them, and polls of it."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import select, update

from tests.bare import changed
from tests.pipeline.workplace import Workplace
from webapp.clock import after
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.documents.source_model import Source, SourceItem
from webapp.library.sources import lease as leases
from webapp.library.sources import registry
from webapp.library.sources.lease import SourceLease
from webapp.library.sources.polling import poll


@dataclass
class Watched:
    """A folder that a source of the workplace's org watches."""

    place: Workplace
    folder: Path
    source_id: UUID

    def put(self, path: str, data: bytes = b"Some words.") -> Path:
        """A file in the folder."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        return file

    def claim(self) -> SourceLease:
        """The lease of the source, whenever it is due."""
        with transaction(everywhere=True) as session:
            session.execute(update(Source).values(next_poll_at=after(-1.0)))
        lease = leases.claim(lambda source: True)
        assert lease, "another process polls it"
        return lease

    def poll(self, times: int = 1) -> None:
        """Poll it, with as much time between as files and retries need."""
        for _ in range(times):
            poll(self.place, self.claim())
            self.pass_time()

    def pass_time(self) -> None:
        """Let what waits be due."""
        with transaction(everywhere=True) as session:
            session.execute(update(SourceItem).values(next_try_at=after(-1.0)))

    def lose_lease(self) -> None:
        """Let the process that polls be so slow that its lease ends, or dead."""
        with transaction(everywhere=True) as session:
            session.execute(update(Source).where(Source.lease_id.is_not(None)).values(lease_until=after(-1.0)))

    def source(self) -> Source:
        with reading(self.place.org_id):
            found = registry.find(self.place.org_id, self.source_id)
        assert found
        return found

    def items(self) -> dict[str, tuple[str, str | None]]:
        """State and reason of each row that is needed, by its name."""
        return {row.name: (row.state, row.reason) for row in self.rows() if row.unneeded_at is None}

    def rows(self) -> list[SourceItem]:
        with reading(self.place.org_id) as session:
            return list(session.scalars(select(SourceItem).order_by(SourceItem.id)))

    def documents(self) -> list[tuple[str | None, str]]:
        """Folder and name of each document."""
        with reading(self.place.org_id) as session:
            found = session.execute(select(Document.folder, Document.filename).order_by(Document.filename))
            return [(row.folder, row.filename) for row in found]

    def files(self) -> list[str]:
        """What lies in the folder."""
        found = (Path(root, name) for root, _, names in os.walk(self.folder) for name in names)
        return sorted(file.relative_to(self.folder).as_posix() for file in found)


def watch(place: Workplace, folder: Path, after_taking: str = "leave", **settings: Any) -> Watched:
    """Watch a folder, which is made."""
    folder.mkdir(parents=True, exist_ok=True)
    place.settings = changed(place.settings, "sources", **{"folders": (folder.parent,), **settings})
    values = {"kind": "folder", "name": folder.name, "place": {"path": str(folder)}, "interval_seconds": 60}
    with transaction(place.org_id):
        source_id = registry.add(place.org_id, {**values, "after_taking": after_taking}, "user:ana")
    return Watched(place, folder, source_id)
