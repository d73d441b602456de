"""A database that any earlier commit made is brought up, and is then like a new one."""

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import MIGRATIONS, connections, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of
from webapp.db import schema_is_current

EARLIER = sorted(path.name[:4] for path in (MIGRATIONS / "earlier").glob("0*.py"))


@pytest.mark.slow
@on_both
@pytest.mark.parametrize("revision", EARLIER)
def test_no_row_is_lost_and_the_tables_become_those_of_a_new_database(
    unmigrated: Flask, revision: str, request: pytest.FixtureRequest
) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision=revision)
        assert not schema_is_current()
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
        with engine.connect() as connection:
            before = filled.rows(connection)
        assert all(before.values())
        flask_migrate.upgrade()
        assert schema_is_current()
        with engine.connect() as connection:
            after, schema = filled.rows(connection), schema_of(connection)
        flask_migrate.check()  # exits where models and tables differ
    assert after == before
    new = sa.create_engine(request.getfixturevalue(f"{engine.dialect.name}_database").owner_url)
    with new.connect() as connection:
        assert schema == schema_of(connection)
    new.dispose()
