"""Corrections come and go without a change to what was there; the database refuses those that cannot be."""

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
        flask_migrate.upgrade(revision="0030")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade(revision="0032")
        assert found(engine, "SELECT * FROM corrections") == []
        # The field that was there has a doubt, so it is to be checked first.
        assert found(engine, "SELECT check_order FROM document_fields") == [(-1.0,)]
        # An upgrade to the newest revision indexes passages that nobody has indexed.
        do(engine, "UPDATE documents SET words_by = 'a'")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0030")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables


@on_both
def test_the_database_refuses_what_cannot_be(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        for impossible in (
            "UPDATE corrections SET target = 'page'",
            "UPDATE corrections SET verdict = 'absent'",
            "UPDATE corrections SET value = NULL",
            "UPDATE corrections SET row_number = NULL",
            "UPDATE corrections SET target = 'field'",
            "UPDATE corrections SET nth = -1",
        ):
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, impossible)
        do(engine, "DELETE FROM documents")
        assert found(engine, "SELECT * FROM corrections") == []
