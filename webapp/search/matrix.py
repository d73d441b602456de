"""Exact vector search for SQLite: one memory-mapped matrix for each org and model, in step with the rows.

The rows in the database are the truth; the files are a copy that may be deleted at any time. A
random version, changed by a trigger with every change of an org's passages, tells whether the
copy is in step. Where it is not, the ids of the rows are read, and what is missing is appended.
A hit is therefore always a row that exists in the transaction that asked.

    DATA_DIR/index/<org>/<model>/state.json   which files count, and how many of their rows
                                 <name>.ids       16 bytes for each row
                                 <name>.vectors   32-bit floats, row by row

Rows beyond the count in state.json don't exist, so a crash while appending leaves nothing half.
"""

import fcntl
import hashlib
import logging
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import LargeBinary, String, Uuid, bindparam, func, select, text, type_coerce

from webapp.db import session
from webapp.documents.binned import binned
from webapp.search.matrix_files import ID, MatrixFiles
from webapp.search.model import Chunk

_log = logging.getLogger(__name__)

MATRICES_KEPT_MAX = 32
ROWS_PER_QUERY = 1000
# Rows of deleted passages are left out of every answer at once; their vectors leave the files as
# soon as that is cheap.
COMPACT_ROWS_MAX = 50_000
COMPACT_SHARE = 0.05

_VERSION = text("SELECT version FROM chunk_versions WHERE org_id = :org_id").bindparams(bindparam("org_id", type_=Uuid))


@dataclass(frozen=True)
class Matrix:
    """The matrix of one version of an org's rows."""

    version: int
    ids: NDArray[np.bytes_]
    vectors: NDArray[np.float32]
    is_live: NDArray[np.bool_]

    def nearest(
        self, wanted: NDArray[np.float32], limit: int, among: NDArray[np.bytes_] | None = None
    ) -> list[tuple[UUID, float]]:
        """The live rows with the largest dot products, best first; only those of `among` where that is given."""
        is_wanted = self.is_live if among is None else self.is_live & np.isin(self.ids, among)
        limit = min(limit, int(is_wanted.sum()))
        if limit < 1:
            return []
        scores = np.where(is_wanted, self.vectors @ wanted, -np.inf)
        best = np.argpartition(-scores, limit - 1)[:limit]
        best = best[np.argsort(-scores[best], kind="stable")]
        return [(UUID(bytes=self.ids[row].ljust(16, b"\0")), float(scores[row])) for row in best]


@dataclass
class _Shelf:
    """The matrices that this process has open, the least recently used first."""

    matrices: OrderedDict[Path, Matrix] = field(default_factory=OrderedDict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, path: Path, version: int, dimensions: int) -> Matrix | None:
        with self.lock:
            found = self.matrices.get(path)
            if found is None or found.version != version or found.vectors.shape[1] != dimensions:
                return None
            self.matrices.move_to_end(path)
            return found

    def put(self, path: Path, matrix: Matrix) -> None:
        with self.lock:
            self.matrices[path] = matrix
            self.matrices.move_to_end(path)
            while len(self.matrices) > MATRICES_KEPT_MAX:
                self.matrices.popitem(last=False)


_shelf = _Shelf()


def nearest(
    folder: Path,
    org_id: UUID,
    model: str,
    wanted: NDArray[np.float32],
    limit: int,
    documents: Sequence[UUID] | None = None,
) -> list[tuple[UUID, float]]:
    """The passages with the nearest vectors and how near they are, as this transaction sees the rows."""
    version = session().scalar(_VERSION, {"org_id": org_id})
    if version is None:
        return []
    place = folder / org_id.hex / hashlib.sha256(model.encode()).hexdigest()[:16]
    matrix = _shelf.get(place, version, len(wanted))
    if matrix is None:
        matrix = _in_step(place, org_id, model, version, len(wanted))
        _shelf.put(place, matrix)
    among = None if documents is None else _ids_of(org_id, documents)
    return matrix.nearest(np.asarray(wanted, dtype=np.float32), limit, among)


def _ids_of(org_id: UUID, documents: Sequence[UUID]) -> NDArray[np.bytes_]:
    """The ids of the passages of these documents, as 16 bytes each."""
    as_hex = select(type_coerce(Chunk.id, String)).where(Chunk.org_id == org_id, Chunk.document_id.in_(documents))
    return np.frombuffer(bytes.fromhex("".join(session().scalars(as_hex))), dtype=ID)


def _in_step(place: Path, org_id: UUID, model: str, version: int, dimensions: int) -> Matrix:
    live = _live_ids(org_id, model, dimensions)
    try:
        with _alone(place):
            return _from_files(MatrixFiles(place, dimensions), org_id, version, live)
    except OSError as error:
        # The disk is full or read-only: slower, but correct.
        _log.warning("the matrix of org %s is kept in memory only: %s", org_id, error.strerror)
        return _in_memory(org_id, version, live, dimensions)


def _in_memory(org_id: UUID, version: int, live: NDArray[np.bytes_], dimensions: int) -> Matrix:
    parts = list(_read(org_id, live, dimensions))
    ids = np.concatenate([np.empty(0, ID), *(some for some, _ in parts)])
    vectors = np.concatenate([np.empty((0, dimensions), np.float32), *(some for _, some in parts)])
    return Matrix(version, ids, vectors, np.ones(len(ids), bool))


def _from_files(files: MatrixFiles, org_id: UUID, version: int, live: NDArray[np.bytes_]) -> Matrix:
    rows = files.open()
    is_live = np.isin(rows.ids, live)
    dead = len(rows.ids) - int(is_live.sum())
    if dead and (len(rows.ids) <= COMPACT_ROWS_MAX or dead > COMPACT_SHARE * len(rows.ids)):
        rows = files.rewrite(rows, is_live)
        is_live = np.ones(len(rows.ids), bool)
    missing = np.setdiff1d(live, rows.ids)
    if len(missing):
        rows = files.append(rows, _read(org_id, missing, files.dimensions))
        is_live = np.isin(rows.ids, live)
    return Matrix(version, rows.ids, rows.vectors, is_live)


def _live_ids(org_id: UUID, model: str, dimensions: int) -> NDArray[np.bytes_]:
    """The ids of the rows that can be compared, as 16 bytes each."""
    as_hex = select(type_coerce(Chunk.id, String)).where(
        Chunk.org_id == org_id,
        Chunk.embedding_model == model,
        func.length(Chunk.embedding) == 4 * dimensions,
        Chunk.document_id.not_in(binned(org_id)),
    )
    return np.frombuffer(bytes.fromhex("".join(session().scalars(as_hex))), dtype=ID)


def _read(
    org_id: UUID, ids: NDArray[np.bytes_], dimensions: int
) -> Iterator[tuple[NDArray[np.bytes_], NDArray[np.float32]]]:
    """Ids and vectors from the rows, some at a time, as the bytes that they are."""
    for start in range(0, len(ids), ROWS_PER_QUERY):
        part = [each.ljust(16, b"\0").hex() for each in ids[start : start + ROWS_PER_QUERY].tolist()]
        as_stored = select(type_coerce(Chunk.id, String), type_coerce(Chunk.embedding, LargeBinary))
        rows = session().execute(as_stored.where(Chunk.org_id == org_id, type_coerce(Chunk.id, String).in_(part)))
        some_ids, some_vectors = zip(*rows, strict=True)
        found = np.frombuffer(bytes.fromhex("".join(some_ids)), dtype=ID)
        yield found, np.frombuffer(b"".join(some_vectors), dtype="<f4").reshape(-1, dimensions)


@contextmanager
def _alone(place: Path) -> Iterator[None]:
    """One thread of one process changes a matrix at a time; the kernel frees the lock of a dead one."""
    place.mkdir(mode=0o700, parents=True, exist_ok=True)
    with (place / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
