"""Rows whose blobs are gone are found, on both stores, and nothing else is reported."""

from dataclasses import replace

import pytest

from tests.pipeline.workplace import Workplace
from webapp.library import deletion, missing
from webapp.library.missing import Missing, find_missing
from webapp.providers.ports import BlobStore


@pytest.fixture(params=["local", pytest.param("azure", marks=pytest.mark.azurite)])
def place(request: pytest.FixtureRequest, workplace: Workplace) -> Workplace:
    if request.param == "azure":
        store: BlobStore = request.getfixturevalue("azure_store")
        workplace.providers = replace(workplace.providers, blobs=store)
    return workplace


@pytest.mark.slow
def test_what_is_gone_is_found_and_nothing_else(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(missing, "DOCUMENTS_PER_PAGE", 2)
    documents = [place.processed(f"Story number {number}.".encode(), f"{number}.txt") for number in range(5)]
    assert list(find_missing(place, place.org_id)) == []

    original = documents[1].blob_path
    (markdown,) = (path for path in place.blobs() if str(documents[4].id) in path and path.endswith(".md"))
    place.providers.blobs.delete(original)
    place.providers.blobs.delete(markdown)
    place.providers.blobs.delete_prefix(f"{place.org_id}/documents/{documents[2].id}")

    found = list(find_missing(place, place.org_id))
    assert Missing(place.org_id, documents[1].id, original) in found
    assert Missing(place.org_id, documents[4].id, markdown) in found
    assert {each.document_id for each in found} == {documents[1].id, documents[2].id, documents[4].id}
    assert sum(each.document_id == documents[2].id for each in found) == 2
    assert list(find_missing(place, place.org_id, lambda: True)) == []


def test_what_changes_meanwhile_is_not_reported(place: Workplace) -> None:
    kept, gone = (place.processed(f"Story number {number}.".encode(), f"{number}.txt") for number in range(2))
    found = find_missing(place, place.org_id)
    assert next(iter([*found]), None) is None

    for document in (kept, gone):
        place.reprocess(document.id)
        place.process()
    walk = find_missing(place, place.org_id)
    deletion.delete_document(place.queue, place.org_id, gone.id)
    place.providers.blobs.delete_prefix(f"{place.org_id}/documents/{gone.id}")
    assert list(walk) == []
