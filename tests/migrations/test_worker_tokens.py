"""0012: tokens of the scope `worker`, and workers that say which stages they take; no row is lost."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, do, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of

_TO_WORKER = "UPDATE api_tokens SET scope = 'worker'"


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0011")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, _TO_WORKER)
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        assert found(engine, "SELECT stages FROM workers") == [(None,)]
        flask_migrate.downgrade(revision="0011")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables


@on_both
def test_a_token_of_a_worker_does_not_outlive_a_downgrade(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        do(engine, _TO_WORKER)
        with pytest.raises(sa.exc.IntegrityError):
            do(engine, "UPDATE api_tokens SET scope = 'anything'")
        flask_migrate.downgrade(revision="0011")
        assert found(engine, "SELECT id FROM api_tokens") == []
        flask_migrate.upgrade()
