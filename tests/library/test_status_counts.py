"""The counts by status under a filter: exact where few documents can be meant, else as far as they are looked at."""

from typing import Any
from uuid import UUID

import pytest
from flask import Flask

from tests.search.passages import new_document, new_org
from webapp.db import reading, transaction
from webapp.db.bounded import Count
from webapp.documents.model import Document
from webapp.library import grid, names, status_counts, tags
from webapp.library.status_filter import StatusFilter

READY, PARTLY, KEPT = StatusFilter.READY, StatusFilter.PARTLY_READ, StatusFilter.KEPT
PROCESSING, FAILED, TIMED_OUT = StatusFilter.PROCESSING, StatusFilter.FAILED, StatusFilter.TIMED_OUT
# Each status in turn: the last two of the first six are in a folder in the folder, and the first three are tagged.
STATUSES: list[dict[str, Any]] = [
    {"status": "PROCESSING"},
    {"status": "FAILED"},
    {"status": "TIMED_OUT"},
    {"status": "READY", "pages_read": 1},
    {"status": "READY", "pages_read": 2, "reading": "in_part"},
    {"status": "READY", "pages_read": 0},
]


@pytest.fixture
def org_id(bare_app: Flask) -> UUID:
    """An org with two documents of each status: a report in a folder, and a letter."""
    org = new_org()
    for number, known in enumerate([*STATUSES, *STATUSES]):
        is_report = number < len(STATUSES)
        filename = f"{'report' if is_report else 'letter'}-{number}.pdf"
        document_id = new_document(org, filename)
        with transaction(org) as opened:
            names.add(org, document_id, filename)
            document = opened.get_one(Document, document_id)
            document.folder = ("Tax/2025" if number > 3 else "Tax") if is_report else None
            document.page_count = number
            if known["status"] == "READY":
                document.published_run_id = document_id
            for name, value in known.items():
                setattr(document, name, value)
            if number % 6 < 3:
                tags.replace(org, document_id, ["paid"])
    return org


def counted(org_id: UUID, q: str, folder: str | None = None) -> dict[StatusFilter, Count]:
    with reading(org_id):
        return dict(status_counts.read(org_id, q, folder).filtered)


def listed(org_id: UUID, q: str, folder: str | None = None) -> dict[StatusFilter, Count]:
    """What the grid shows under each tab."""
    with reading(org_id):
        return {each: Count(len(grid.page(org_id, status=each, q=q, folder=folder).rows)) for each in StatusFilter}


FILTERS = [
    ("", None), ("report", None), ("report 4", None), ("tag:paid", None), ("tag:paid letter", None), ("kind:pdf", None),
    ("-tag:paid", None), ("pages:>3", None), ("status:failed", None), ("", "Tax"), ("", "Tax/2025"), ("", "Nothing"),
    ("report tag:paid", "Tax"), ("kind:pdf", "Tax/2025"), ("?!", None), ("nothing", None),
]  # fmt: skip


def test_each_tab_counts_what_it_lists(org_id: UUID) -> None:
    for q, folder in FILTERS:
        assert counted(org_id, q, folder) == listed(org_id, q, folder), (q, folder)


def test_the_filter_leaves_documents_out_of_each_status(org_id: UUID) -> None:
    wanted = {PROCESSING: 1, READY: 2, PARTLY: 1, KEPT: 1, FAILED: 1, TIMED_OUT: 1}
    assert counted(org_id, "report") == {each: Count(number) for each, number in wanted.items()}
    assert counted(org_id, "", "Tax/2025") == {
        each: Count(1 if each in {READY, PARTLY, KEPT} else 0) for each in StatusFilter
    }


def test_a_count_that_stops_says_so_and_small_statuses_are_exact(org_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    # Of the four ready ones three are looked at, and both of each other status.
    monkeypatch.setattr(status_counts, "LOOKED_AT_MAX", 3)
    for q in ("report", "tag:paid", "kind:pdf", "-tag:nothing", "pages:<6"):
        found, exact = counted(org_id, q), listed(org_id, q)
        ready = found.pop(READY)
        assert ready.more, q
        assert ready.number <= exact.pop(READY).number, q
        assert found == exact, q


def test_of_a_large_folder_those_at_its_end_are_counted(org_id: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    # The newest documents of these statuses are letters: a walk alone would meet none of the folder.
    monkeypatch.setattr(status_counts, "LOOKED_AT_MAX", 1)
    found = counted(org_id, "", "Tax/2025")
    assert found[READY].number + found[KEPT].number == 1
    assert found[READY].more
    assert found[KEPT].more
