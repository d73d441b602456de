"""0013: what web processes share is new; sessions and tokens lose nothing."""

import flask_migrate
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0012")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        flask_migrate.upgrade(revision="0013")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        assert set(found(engine, "SELECT wrote_at FROM user_sessions")) == {(None,)}
        assert set(found(engine, "SELECT wrote_at FROM api_tokens")) == {(None,)}
        assert found(engine, "SELECT count(*) FROM rate_buckets") == [(0,)]
        flask_migrate.downgrade(revision="0012")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
