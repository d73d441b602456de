"""0031: documents learn when they were deleted, and there are operations; no row is lost."""

import flask_migrate
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0030")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
        flask_migrate.upgrade(revision="0030")  # indexes the passages' words
        with engine.connect() as connection:
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        assert found(engine, "SELECT DISTINCT deleted_at, deleted_by, deleted_with FROM documents") == [
            (None, None, None)
        ]
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0030")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
