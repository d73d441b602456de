"""What is deleted with a document is found by an index of the whole key, not by reading all of the org."""

import pytest
from flask import Flask
from sqlalchemy import ForeignKeyConstraint, text

from webapp.db import Base, db

# What they belong to is deleted seldom and by ones: an operation, a change of tags, a rule, a person.
SELDOM = {
    ("operation_items", "operation_id"),
    ("tag_change_documents", "change_id"),
    ("rule_applications", "rule_id"),
    ("api_tokens", "user_id"),
}


def _keys() -> list[ForeignKeyConstraint]:
    keys = [key for table in Base.metadata.sorted_tables for key in table.foreign_key_constraints]
    return [key for key in keys if key.ondelete == "CASCADE" and "org_id" in key.column_keys and len(key.columns) > 1]


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_sqlite_finds_what_is_deleted_with_something_without_reading_the_whole_org(bare_app: Flask) -> None:
    keys = _keys()
    assert len(keys) > 20
    slow = {}
    with bare_app.app_context(), db.engine.connect() as connection:
        for key in keys:
            names = key.column_keys
            asked = " AND ".join(f"{name} = :{name}" for name in names)
            plan = connection.execute(
                text(f"EXPLAIN QUERY PLAN DELETE FROM {key.table.name} WHERE {asked}"), dict.fromkeys(names, "x")
            ).all()[0][3]
            narrow = [name for name in names if name != "org_id" and f"{name}=?" in plan]
            if not narrow and not any((key.table.name, name) in SELDOM for name in names):
                slow[key.table.name, *names] = plan
    assert slow == {}


@pytest.mark.parametrize("database", ["sqlite"], indirect=True)
def test_lines_and_passages_are_found_by_document_and_org(bare_app: Flask) -> None:
    with bare_app.app_context(), db.engine.connect() as connection:
        for table in ("run_events", "chunks"):
            statement = f"EXPLAIN QUERY PLAN DELETE FROM {table} WHERE org_id = 'x' AND document_id = 'y'"
            plan = connection.execute(text(statement)).all()[0][3]
            assert "document_id=? AND org_id=?" in plan, plan
