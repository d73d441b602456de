"""The files of a matrix: appended to, or rewritten under another name; never changed in place."""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import numpy as np
from numpy.typing import NDArray

ID = np.dtype("S16")
STATE = "state.json"
ROWS_PER_COPY = 20_000


@dataclass(frozen=True)
class FileRows:
    """The rows that count, mapped from the disk. They stay readable when the files are replaced."""

    name: str
    ids: NDArray[np.bytes_]
    vectors: NDArray[np.float32]


@dataclass(frozen=True)
class MatrixFiles:
    """A folder that holds one matrix. Changes are made under the folder's lock."""

    folder: Path
    dimensions: int

    def open(self) -> FileRows:
        """The rows that are there; none, and no name, where the files can't be what state.json says."""
        name, count = self._state()
        return self._map(name, count)

    def append(self, rows: FileRows, parts: Iterable[tuple[NDArray[np.bytes_], NDArray[np.float32]]]) -> FileRows:
        """Add rows after those that count; they count once they are on the disk."""
        name, count = rows.name or self._fresh(), len(rows.ids)
        with self._ids(name).open("r+b") as ids, self._vectors(name).open("r+b") as vectors:
            # Overwrites what a crash left after the rows that count.
            ids.seek(count * ID.itemsize)
            vectors.seek(count * self._row_bytes)
            for some_ids, some_vectors in parts:
                ids.write(some_ids.tobytes())
                vectors.write(some_vectors.astype("<f4").tobytes())
                count += len(some_ids)
            for file in (ids, vectors):
                file.truncate()
                file.flush()
                os.fsync(file.fileno())
        self._commit(name, count)
        return self._map(name, count)

    def rewrite(self, rows: FileRows, is_kept: NDArray[np.bool_]) -> FileRows:
        """Copy the rows that are kept into new files, and remove the old ones."""
        kept = np.flatnonzero(is_kept)
        parts = (kept[start : start + ROWS_PER_COPY] for start in range(0, len(kept), ROWS_PER_COPY))
        return self.append(self._map("", 0), ((rows.ids[part], rows.vectors[part]) for part in parts))

    @property
    def _row_bytes(self) -> int:
        return 4 * self.dimensions

    def _ids(self, name: str) -> Path:
        return self.folder / f"{name}.ids"

    def _vectors(self, name: str) -> Path:
        return self.folder / f"{name}.vectors"

    def _fresh(self) -> str:
        name = uuid4().hex
        self._ids(name).touch(mode=0o600)
        self._vectors(name).touch(mode=0o600)
        return name

    def _state(self) -> tuple[str, int]:
        try:
            state = json.loads((self.folder / STATE).read_bytes())
            name, count = str(state["name"]), int(state["rows"])
            is_whole = (
                state["dimensions"] == self.dimensions
                and self._ids(name).stat().st_size >= count * ID.itemsize
                and self._vectors(name).stat().st_size >= count * self._row_bytes
            )
        except (OSError, ValueError, KeyError, TypeError):
            return "", 0
        return (name, count) if is_whole else ("", 0)

    def _map(self, name: str, count: int) -> FileRows:
        if count == 0:
            return FileRows(name, np.empty(0, ID), np.empty((0, self.dimensions), np.float32))
        ids = np.fromfile(self._ids(name), dtype=ID, count=count)
        shape = (count, self.dimensions)
        return FileRows(name, ids, np.memmap(self._vectors(name), dtype="<f4", mode="r", shape=shape))

    def _commit(self, name: str, count: int) -> None:
        draft = self.folder / f"{STATE}.draft"
        with draft.open("w", encoding="ascii") as file:
            json.dump({"name": name, "rows": count, "dimensions": self.dimensions}, file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self.folder / STATE)
        for other in (*self.folder.glob("*.ids"), *self.folder.glob("*.vectors")):
            if other.stem != name:
                other.unlink(missing_ok=True)
