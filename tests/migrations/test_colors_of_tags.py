"""0034: tags have colors, slashes in their names are tidy, and changes are kept; documents keep their tags."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0033")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade(revision="0034")
        assert found(engine, "SELECT * FROM tag_changes") == []
        for impossible in ("UPDATE tags SET color = 'gold'",):
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, impossible)
        with engine.connect() as connection:
            assert {table: len(rows) for table, rows in filled.rows(connection).items()} == {
                table: len(rows) for table, rows in before.items()
            }
        flask_migrate.downgrade(revision="0033")
        with engine.connect() as connection:
            assert schema_of(connection) == tables


@on_both
def test_names_become_tidy_and_equal_ones_become_one(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0033")
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        [(tag_id, org_id)] = found(engine, "SELECT id, org_id FROM tags LIMIT 1")
        assert found(engine, "SELECT count(*) FROM document_tags") != [(0,)]
        do(engine, f"UPDATE tags SET name = 'Tax / 2025', word = 'tax / 2025' WHERE id = '{tag_id}'")
        other = str(tag_id)[:-1] + ("0" if str(tag_id)[-1] != "0" else "1")
        do(
            engine,
            "INSERT INTO tags (id, org_id, name, word, created_at) "
            f"SELECT '{other}', org_id, 'tax/2025/', 'tax/2025/', created_at FROM tags WHERE id = '{tag_id}'",
        )
        do(
            engine,
            "INSERT INTO document_tags (org_id, document_id, tag_id) "
            f"SELECT org_id, document_id, '{other}' FROM document_tags WHERE tag_id = '{tag_id}'",
        )
        documents = found(engine, f"SELECT document_id FROM document_tags WHERE tag_id = '{tag_id}'")
        flask_migrate.upgrade(revision="0034")
        names = found(engine, f"SELECT id, word FROM tags WHERE org_id = '{org_id}' AND substr(word, 1, 3) = 'tax'")
        assert [word for _, word in names] == ["tax/2025"]
        kept = found(engine, f"SELECT document_id FROM document_tags WHERE tag_id = '{names[0][0]}'")
        assert sorted(kept) == sorted(documents)
