"""0011: documents learn how many of their pages were read; none of them is lost, and none counts as a kept one."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled, fill_document
from tests.migrations.schema import schema_of

_READY = "UPDATE documents SET status = 'READY', published_run_id = id"


@on_both
def test_documents_go_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0010")
        with engine.begin() as connection:
            fill_document(connection)
            connection.exec_driver_sql(_READY)
            filled = Filled(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        assert found(engine, "SELECT status, pages_read FROM documents") == [("READY", None)]
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        do(engine, "UPDATE documents SET pages_read = 0")
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, "UPDATE documents SET pages_read = -1")
        flask_migrate.downgrade(revision="0010")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
        flask_migrate.upgrade()
        assert found(engine, "SELECT status, pages_read FROM documents") == [("READY", None)]


@on_both
def test_a_full_table_keeps_what_refers_to_its_rows(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0010")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before = filled.rows(connection)
        assert all(before.values())
        flask_migrate.upgrade()
        with engine.connect() as connection:
            assert filled.rows(connection) == before
