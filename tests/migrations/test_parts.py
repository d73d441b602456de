"""0021: documents may be parts of containers; no row is lost, and rows that refer to documents stay."""

import uuid
from datetime import UTC, datetime

import flask_migrate
import pytest
import sqlalchemy as sa
from flask import Flask

from tests.migrations.databases import connections, found, on_both
from tests.migrations.filled import Filled
from tests.migrations.schema import schema_of
from webapp.db import UtcDateTime

_ADDED = "SELECT DISTINCT parent_id, part_number, path_in_parent FROM documents"


@on_both
def test_a_full_database_goes_forward_and_back(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade(revision="0020")
        with engine.begin() as connection:
            filled = Filled(connection)
            filled.fill(connection)
            before, tables = filled.rows(connection), schema_of(connection)
        assert all(before.values())
        flask_migrate.upgrade()
        flask_migrate.check()  # exits where models and tables differ
        assert found(engine, _ADDED) == [(None, None, None)]
        with engine.connect() as connection:
            assert filled.rows(connection) == before
        flask_migrate.downgrade(revision="0020")
        with engine.connect() as connection:
            assert filled.rows(connection) == before
            assert schema_of(connection) == tables
        flask_migrate.upgrade()


@on_both
def test_the_same_bytes_may_lie_in_many_places_of_containers_and_once_outside(unmigrated: Flask) -> None:
    with unmigrated.app_context(), connections(unmigrated) as engine:
        flask_migrate.upgrade()
        with engine.begin() as connection:
            Filled(connection).fill(connection)
        container = found(engine, "SELECT id FROM documents")[0][0]
        _insert_part(engine, container, 0)
        _insert_part(engine, container, 1)
        with pytest.raises(sa.exc.IntegrityError):
            _insert_part(engine, container, 1)
        with pytest.raises(sa.exc.IntegrityError):
            _insert_part(engine, None, None)
        with pytest.raises(sa.exc.IntegrityError):
            _insert_part(engine, container, None)
        assert found(engine, "SELECT count(*) FROM documents") == [(3,)]


def _insert_part(engine: sa.Engine, parent: object, number: int | None) -> None:
    """A document with the bytes of the one that is there."""
    moment = sa.bindparam("moment", datetime(2026, 1, 1, tzinfo=UTC), type_=UtcDateTime())
    new = sa.bindparam("new", uuid.uuid4(), type_=sa.Uuid())
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text("SELECT set_config('app.scope', 'system', true)"))
        insert = """
            INSERT INTO documents (id, org_id, parent_id, part_number, path_in_parent, filename, content_type,
                                   size_bytes, sha256, blob_path, status, created_at, updated_at)
            SELECT :new, org_id, :parent, :number, CASE WHEN :is_part THEN 'a' END, filename, content_type,
                   size_bytes, sha256, blob_path, status, :moment, :moment FROM documents WHERE parent_id IS NULL
        """
        values = {"parent": parent, "number": number, "is_part": parent is not None}
        typed = sa.text(insert).bindparams(new, moment, sa.bindparam("number", type_=sa.Integer()))
        connection.execute(typed, values)
