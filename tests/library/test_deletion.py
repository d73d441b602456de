"""A document is deleted, and the same bytes are uploaded and processed while the deletion still clears its blobs."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.pipeline.workplace import Workplace, prose
from webapp.documents.model import Document
from webapp.library import deletion
from webapp.library.deletion import remove_folders
from webapp.providers.azure.blob import AzureBlobStore
from webapp.providers.ports import BlobStore

STORY = prose(3)

Move = Callable[[], object]


@pytest.fixture(params=["local", pytest.param("azure", marks=pytest.mark.azurite)])
def place(request: pytest.FixtureRequest, workplace: Workplace) -> Workplace:
    """A workplace on each database and each kind of store."""
    if request.param == "azure":
        workplace.providers = replace(workplace.providers, blobs=request.getfixturevalue("azure_store"))
    return workplace


def delete(place: Workplace, document: Document) -> None:
    """As the page does: the rows first, then the folders."""
    folders = deletion.delete_document(place.queue, place.org_id, document.id)
    assert folders is not None
    remove_folders(place.providers.blobs, folders)


def between_deletions(monkeypatch: pytest.MonkeyPatch, store: BlobStore, number: int, move: Move) -> list[int]:
    """Make a move right before the n-th blob is removed; how many were removed so far."""
    kind: Any = AzureBlobStore if isinstance(store, AzureBlobStore) else Path
    name, seen = ("delete" if kind is AzureBlobStore else "unlink"), [0]
    remove = getattr(kind, name)

    def removed(self: Any, *arguments: Any, **more: Any) -> None:
        if kind is AzureBlobStore or "store" in self.parts:
            seen[0] += 1
            if seen[0] == number:
                move()
        remove(self, *arguments, **more)

    monkeypatch.setattr(kind, name, removed)
    return seen


def test_a_new_upload_shares_no_folder_with_the_document_that_is_being_deleted(
    place: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        document = place.processed(STORY)
        seen = between_deletions(patched, place.providers.blobs, 0, lambda: None)
        delete(place, document)
    removed = seen[0]
    assert removed >= 3, "the file, its text, and what was read out of it"
    assert place.blobs() == []
    for number in range(1, removed + 1):
        _upload_before_deletion(place, monkeypatch, number, blobs=removed)


def _upload_before_deletion(place: Workplace, monkeypatch: pytest.MonkeyPatch, number: int, blobs: int) -> None:
    old, new = place.processed(STORY), []
    with monkeypatch.context() as patched:

        def upload() -> None:
            # What is cleared up along the way is not what this is about.
            patched.undo()
            new.append(place.processed(STORY))

        between_deletions(patched, place.providers.blobs, number, upload)
        delete(place, old)
    [document] = new
    assert document.id != old.id
    assert len(place.blobs()) == blobs, f"uploaded before deletion {number}"
    paid = place.extractor.calls
    place.reprocess(document.id)
    place.process()
    assert place.extractor.calls == paid, "what was read out of its bytes is still there"
    assert place.document(document.id).status == "READY"
    delete(place, document)
    assert place.blobs() == []
