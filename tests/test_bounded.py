"""Counts stop, and say so."""

from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select

from tests.documents.rows import new_document, new_org
from webapp.db import bounded, reading
from webapp.db.bounded import COUNTED_MAX, Count, distinct_values, up_to_most
from webapp.documents.model import Document
from webapp.web.formatting import count, counts_json


def test_counts_say_where_they_stopped() -> None:
    assert Count.of(7) == Count(7)
    assert Count.of(COUNTED_MAX) == Count(COUNTED_MAX)
    assert Count.of(COUNTED_MAX + 1) == Count(COUNTED_MAX, more=True)
    assert Count(7) + Count(8) == Count(15)
    assert Count(COUNTED_MAX) + Count(1) == Count(COUNTED_MAX, more=True)
    assert Count.of(None) == Count()
    assert not Count()


def test_pages_and_programs_read_that_there_are_more() -> None:
    assert count(Count(COUNTED_MAX, more=True)) == "10,000+"
    assert count(Count(12)) == "12"
    shown = counts_json({"READY": Count(COUNTED_MAX, more=True), "FAILED": Count(2)})
    assert shown == {"counts": {"READY": COUNTED_MAX, "FAILED": 2}, "counts_more": ["READY"]}


@pytest.mark.usefixtures("bare_app")
def test_the_database_counts_no_further_than_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "COUNTED_MAX", 2)
    org_id = new_org()
    for number in range(4):
        new_document(org_id, f"{number}.txt")
    with reading(org_id) as session:
        assert session.scalar(select(up_to_most(select(Document.id).where(Document.org_id == org_id)))) == 3


def test_distinct_values_are_each_found_once(bare_app: Flask) -> None:
    org_id: UUID = new_org()
    for number in range(6):
        new_document(org_id, embedding_model=["b", "a", None][number % 3])
    with reading(org_id) as session:
        column = Document.__table__.c.embedding_model
        found = session.scalars(select(distinct_values(column, Document.org_id == org_id).c.value)).all()
    assert list(found) == ["a", "b", None]
