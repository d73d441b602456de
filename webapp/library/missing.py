"""Finds documents whose blobs are gone, which nothing of ours ever does: somebody emptied a folder, or restored half.

Blobs and rows are both walked in the order of their documents, so an org of any size is compared
without holding either in memory.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from webapp.db import reading
from webapp.documents import blob_layout
from webapp.library import lookup, selection
from webapp.library.selection import Matching
from webapp.providers.ports import BlobInfo, BlobStore
from webapp.services import Services

DOCUMENTS_PER_PAGE = 200

Folder = tuple[str, set[str]]


@dataclass(frozen=True)
class Missing:
    """A row speaks of this blob, and it is not there."""

    org_id: UUID
    document_id: UUID
    path: str


def find_missing(
    services: Services, org_id: UUID, should_stop: Callable[[], bool] = lambda: False
) -> Iterator[Missing]:
    """The blobs of an org that are gone; it stops where it is when the process wants to end."""
    blobs = services.providers.blobs
    folders = _folders(blobs.list(blob_layout.documents_folder(org_id)))
    folder: Folder | None = next(folders, None)
    for document_id, paths in _documents(org_id):
        if should_stop():
            return
        while folder is not None and folder[0] < str(document_id):
            folder = next(folders, None)
        there = folder[1] if folder is not None and folder[0] == str(document_id) else set()
        for path in paths:
            if path not in there and _is_gone(blobs, org_id, document_id, path):
                yield Missing(org_id, document_id, path)


def _folders(infos: Iterable[BlobInfo]) -> Iterator[Folder]:
    """The documents that have blobs, in their order, each with its blobs."""
    for name, found in groupby(infos, key=lambda info: blob_layout.document_of(info.path)):
        yield name, {info.path for info in found}


def _documents(org_id: UUID) -> Iterator[tuple[UUID, list[str]]]:
    """All documents in their order, each with the blobs that it should have."""
    after: UUID | None = None
    while True:
        with reading(org_id):
            ids = selection.ids(org_id, Matching(), after=after, limit=DOCUMENTS_PER_PAGE)
            paths = lookup.blob_paths(org_id, ids)
        if not ids:
            return
        yield from ((document_id, paths.get(document_id, [])) for document_id in ids)
        after = ids[-1]


def _is_gone(blobs: BlobStore, org_id: UUID, document_id: UUID, path: str) -> bool:
    """Look again: it may have come since the listing, or belong to a result or a document that is no more."""
    if blobs.exists(path):
        return False
    with reading(org_id):
        return path in lookup.blob_paths(org_id, [document_id]).get(document_id, [])
