"""A table for the sums of deleted lines of the ledger; no row is lost, and PostgreSQL tidies three tables sooner."""

import flask_migrate
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of

_OPTIONS = "SELECT relname FROM pg_class WHERE 'autovacuum_vacuum_scale_factor=0.04' = ANY (reloptions) ORDER BY 1"


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0015")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        flask_migrate.upgrade(revision="0016")
        assert found(engine, "SELECT count(*) FROM spending_days") == [(0,)]
        if engine.dialect.name == "postgresql":
            expected = ["document_processing_jobs", "provider_calls", "run_events"]
            assert [name for (name,) in found(engine, _OPTIONS)] == expected
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0015")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
