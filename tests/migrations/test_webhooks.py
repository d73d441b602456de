"""0045: tables for webhooks and their deliveries come and go; the database refuses those that cannot be."""

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
        flask_migrate.upgrade(revision="0044")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        flask_migrate.upgrade(revision="0045")
        assert found(engine, "SELECT * FROM webhooks") == []
        assert found(engine, "SELECT * FROM webhook_deliveries") == []
        # An upgrade to the newest revision indexes passages that nobody has indexed.
        do(engine, "UPDATE documents SET words_by = 'a'")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0044")
        with engine.connect() as connection:
            assert schema_of(connection) == tables


@on_both
def test_the_database_refuses_what_cannot_be(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        for impossible in (
            "UPDATE webhooks SET url = ''",
            "UPDATE webhooks SET earlier_secret = secret, earlier_until = NULL",
            "UPDATE webhooks SET failures = -1",
            "UPDATE webhook_deliveries SET state = 'LOST'",
            "UPDATE webhook_deliveries SET delivered_at = NULL",
            "UPDATE webhook_deliveries SET state = 'PENDING', delivered_at = NULL, job_id = NULL",
            "UPDATE webhook_deliveries SET attempts = -1",
        ):
            with pytest.raises(sa.exc.IntegrityError):
                do(engine, impossible)
        do(engine, "DELETE FROM webhooks")
        assert found(engine, "SELECT * FROM webhook_deliveries") == [], "deliveries go with their webhook"
