"""The new index of words holds the passages that were there, and going back makes the old one again."""

import flask_migrate
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of


@on_both
def test_passages_that_are_there_are_indexed(unmigrated: Flask) -> None:
    is_postgresql = "postgresql" in unmigrated.config["SQLALCHEMY_DATABASE_URI"]
    has_word = (
        "SELECT count(*) FROM chunk_words WHERE words @@ 'a'"
        if is_postgresql
        else "SELECT count(*) FROM chunks_fts WHERE chunks_fts MATCH 'words : a'"
    )
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0025")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade(revision="0026")
        assert found(engine, has_word) == [(2,)]
        assert found(engine, "SELECT count(*) FROM documents WHERE words_by IS NULL") == [(0,)]
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0025")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
