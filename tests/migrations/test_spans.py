"""The column for cells that take several places comes and goes without a change to what was there."""

import flask_migrate
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0035")
        with engine.begin() as connection:
            Filled(connection).fill(connection)
            tables = schema_of(connection)
        flask_migrate.upgrade(revision="0036")
        assert found(engine, "SELECT spans FROM document_tables") == [(None,)]
        flask_migrate.downgrade(revision="0035")
        with engine.connect() as connection:
            assert schema_of(connection) == tables
