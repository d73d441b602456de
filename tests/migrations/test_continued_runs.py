"""0019: a run may go on after the time limit of another; no row is lost, and rows that refer to runs stay."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of

_TO_CONTINUED = "UPDATE processing_runs SET trigger = 'CONTINUED' WHERE state = 'QUEUED'"
_TRIGGERS = "SELECT DISTINCT trigger FROM processing_runs WHERE state = 'QUEUED'"


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0018")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, _TO_CONTINUED)
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        do(engine, _TO_CONTINUED)
        assert found(engine, _TRIGGERS) == [("CONTINUED",)]
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, "UPDATE processing_runs SET trigger = 'ANYTHING'")
        flask_migrate.downgrade(revision="0018")
        assert found(engine, _TRIGGERS) == [("RETRY",)]
        do(engine, "UPDATE processing_runs SET trigger = 'UPLOAD' WHERE state = 'QUEUED'")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
        flask_migrate.upgrade()
