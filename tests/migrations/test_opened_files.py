"""Documents learn where their opened copy lies, and jobs keep a sealed password; no row of either is lost."""

import flask_migrate
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of

_ADDED = "SELECT DISTINCT opened_path FROM documents"


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0019")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        assert found(engine, _ADDED) == [(None,)]
        assert set(found(engine, "SELECT sealed_password FROM document_processing_jobs")) == {(None,)}
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0019")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
