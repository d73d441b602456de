"""The migration of limits counts what is stored already, and can be taken back and made again."""

import flask_migrate
import sqlalchemy as sa
from flask import Flask

from tests.test_migrations import _fill, _see_everything, on_both, unmigrated  # noqa: F401 - a fixture

_DOCUMENT = """
INSERT INTO documents (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at,
    updated_at)
SELECT '{id}', id, 'b', 'text/plain', {size}, '{hash}', 'b', 'PROCESSING', CURRENT_TIMESTAMP, CURRENT_TIMESTAMP
FROM orgs
"""


@on_both
def test_what_is_stored_already_is_counted(unmigrated: Flask) -> None:  # noqa: F811
    with unmigrated.app_context():
        flask_migrate.upgrade(revision="0006")
        engine = sa.create_engine(unmigrated.config["DOCMILL_SETTINGS"].database_owner_url, poolclass=sa.NullPool)
        sa.event.listen(engine, "connect", _see_everything)
        with engine.begin() as connection:
            _fill(connection)
            connection.exec_driver_sql(_DOCUMENT.format(id="a" * 32, size=5_000_000_000, hash="b" * 64))
            documents = _documents(connection)
        for _ in range(2):
            flask_migrate.upgrade(revision="0007")
            with engine.connect() as connection:
                stored = connection.exec_driver_sql("SELECT sum(stored_bytes) FROM org_usage").scalar_one()
                assert int(stored) == 5_000_000_001
                assert _documents(connection) == documents
            flask_migrate.downgrade(revision="0006")
            with engine.connect() as connection:
                assert not {"org_usage", "query_embeddings"} & set(sa.inspect(connection).get_table_names())
                assert _documents(connection) == documents
        engine.dispose()


def _documents(connection: sa.Connection) -> list[tuple[object, ...]]:
    found = connection.exec_driver_sql("SELECT id, size_bytes, sha256 FROM documents ORDER BY size_bytes")
    return [tuple(row) for row in found]
