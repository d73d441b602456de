"""0042: tables for sources come and go; the database refuses those that cannot be."""

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
        flask_migrate.upgrade(revision="0042")
        with engine.connect() as connection:
            tables = schema_of(connection)
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        flask_migrate.downgrade(revision="-1")
        assert not {"sources", "source_items"} & set(sa.inspect(engine).get_table_names())
        flask_migrate.upgrade(revision="0042")
        with engine.connect() as connection:
            assert schema_of(connection) == tables
        assert found(engine, "SELECT * FROM sources") == []


@on_both
def test_the_database_refuses_what_cannot_be(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        for impossible in (
            "UPDATE sources SET name = ''",
            "UPDATE sources SET kind = 'imap'",
            "UPDATE sources SET after_taking = 'seen'",
            "UPDATE sources SET interval_seconds = 1",
            "UPDATE sources SET lease_by = 'a'",
            "UPDATE source_items SET state = 'taken'",
            "UPDATE source_items SET state = 'failed'",
            "UPDATE source_items SET is_settled = false",
            "UPDATE source_items SET key = ''",
        ):
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, impossible)
        do(engine, "DELETE FROM sources")
        assert found(engine, "SELECT * FROM source_items") == []
