"""0028: runs may make new vectors alone; no row is lost."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of

_BEFORE, _REVISION = "0026", "0028"
_TO_REEMBED = "UPDATE processing_runs SET trigger = 'REEMBED' WHERE state = 'QUEUED'"


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision=_BEFORE)
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
        # The words of the passages are indexed by the end of each upgrade.
        flask_migrate.upgrade(revision=_BEFORE)
        with engine.connect() as connection:
            before, tables = filled.rows(connection), schema_of(connection)
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, _TO_REEMBED)
        flask_migrate.upgrade(revision=_REVISION)
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        do(engine, _TO_REEMBED)
        flask_migrate.downgrade(revision=_BEFORE)
        assert found(engine, "SELECT trigger FROM processing_runs WHERE state = 'QUEUED'") == [("REPROCESS",)]
        do(engine, "UPDATE processing_runs SET trigger = 'UPLOAD' WHERE state = 'QUEUED'")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
