"""Paths are read back as what they were written for."""

from uuid import UUID

import pytest

from webapp.documents import blob_layout
from webapp.providers.blob_paths import checked_path

ORG, DOCUMENT, RUN = (UUID(f"01890000-0000-7000-8000-00000000000{number}") for number in (1, 2, 3))
SHA256 = "ab" * 32
NEW = blob_layout.new_answers_folder(ORG, DOCUMENT, SHA256)
OLD = blob_layout.answers_folder(ORG, SHA256, None)


@pytest.mark.parametrize(
    ("path", "owner", "run"),
    [
        (blob_layout.original(ORG, DOCUMENT), str(DOCUMENT), None),
        (blob_layout.artifact(ORG, DOCUMENT, RUN, "markdown-0.md"), str(DOCUMENT), RUN),
        (blob_layout.page_picture(ORG, DOCUMENT, "1-small-2"), str(DOCUMENT), None),
        (f"{NEW}local-1.json", NEW, None),
        (f"{OLD}azure-2/pages-1-50.json", OLD, None),
        (f"{blob_layout.late_vectors_folder(ORG)}1.json", str(ORG), None),
        (f"{ORG}/unknown/thing.json", "", None),
    ],
)
def test_each_blob_has_an_owner(path: str, owner: str, run: UUID | None) -> None:
    assert checked_path(path) == path
    assert blob_layout.org_of(path) == ORG
    assert blob_layout.owner_of(path) == owner
    if "/documents/" in path:
        assert blob_layout.document_of(path) == str(DOCUMENT)
        assert blob_layout.run_of(path) == run


@pytest.mark.parametrize("folder", [NEW, OLD, f"{NEW}azure-2/pages-1-50.json"])
def test_answers_say_what_they_are_about(folder: str) -> None:
    assert blob_layout.content_of(folder) == SHA256


@pytest.mark.parametrize("path", ["check", "no-id/documents/1", "no-id/answers/1"])
def test_what_we_did_not_put_there_has_no_org(path: str) -> None:
    assert blob_layout.org_of(path) is None
