"""0039: a table for further names comes and goes; the database refuses those that cannot be."""

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
        flask_migrate.upgrade(revision="0038")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade(revision="0039")
        assert found(engine, "SELECT * FROM further_names") == []
        # An upgrade to the newest revision indexes passages that nobody has indexed.
        do(engine, "UPDATE documents SET words_by = 'a'")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0038")
        with engine.connect() as connection:
            assert schema_of(connection) == tables


@on_both
def test_the_database_refuses_what_cannot_be(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, "UPDATE further_names SET filename = ''")
