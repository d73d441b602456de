"""How migrations run: as the owner, in one transaction, one process at a time, never waiting long for a lock."""

import sys
import warnings
from typing import Any

from alembic import context
from flask import current_app
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import Connection, Engine, make_url
from sqlalchemy.exc import DBAPIError, SAWarning

import webapp.accounts.model
import webapp.documents.model
import webapp.jobs.model
import webapp.search.model  # noqa: F401 - the models of all rooms make up the metadata
from webapp.config import Settings
from webapp.database_errors import trouble_of
from webapp.db import Base, prepare_sqlite

# Made by hand for one database each, so the models do not know them; or of expressions, which each database
# gives back in words of its own.
NATIVE = {
    "uq_jobs_live_run_stage",
    "words",
    "ix_chunks_embedding_minilm",
    "chunks_fts",
    "chunks_fts_ids",
    "chunks_fts_config",
    "chunks_fts_content",
    "chunks_fts_data",
    "chunks_fts_docsize",
    "chunks_fts_idx",
    "chunk_versions",
}
_MIGRATION_LOCK = 0x646F636D  # "docm": any number that nobody else uses as an advisory lock


def belongs_to_models(item: Any, name: str | None, kind: str, reflected: bool, compared: Any) -> bool:
    """Leave out what is native to one database when models and tables are compared."""
    return name not in NATIVE


def run() -> None:
    """Migrate the database that the settings name."""
    settings: Settings = current_app.config["DOCMILL_SETTINGS"]
    engine = create_engine(settings.database_owner_url, poolclass=NullPool)
    if engine.dialect.name == "sqlite":
        prepare_sqlite(engine)
    with _connected(engine) as connection, connection.begin():
        _guard(connection)
        context.configure(
            connection=connection,
            target_metadata=Base.metadata,
            include_object=belongs_to_models,
            compare_type=True,
            transactional_ddl=True,
            render_as_batch=connection.dialect.name == "sqlite",
        )
        with context.begin_transaction(), warnings.catch_warnings():
            # SQLite cannot tell what an index of expressions is made of; such ones are not compared anyway.
            warnings.filterwarnings("ignore", ".*expression-based index uq_jobs_live_run_stage", SAWarning)
            warnings.filterwarnings("ignore", ".*expression-based index 'uq_jobs_live_run_stage'", UserWarning)
            context.run_migrations()
        _grant(connection, settings)


def _connected(engine: Engine) -> Connection:
    """A connection, or an end that says why there is none."""
    try:
        return engine.connect()
    except DBAPIError as error:
        if trouble_of(error) is None:
            raise
        sys.exit(f"The database does not answer, so its tables were not brought up to date. {error.orig}".strip())


def _guard(connection: Connection) -> None:
    """One process migrates; a lock that is not to be had fails the migration instead of stopping the site."""
    if connection.dialect.name == "postgresql":
        connection.execute(text("SET LOCAL statement_timeout = '15min'"))
        # Waiting for another migrator disturbs nobody, so only locks taken after this one are hurried.
        connection.execute(text(f"SELECT pg_advisory_xact_lock({_MIGRATION_LOCK})"))
        connection.execute(text("SET LOCAL lock_timeout = '5s'"))


def _grant(connection: Connection, settings: Settings) -> None:
    """Let the runtime role, where it is another than the owner, read and write rows and nothing else."""
    runtime, owner = make_url(settings.database_url).username, make_url(settings.database_owner_url).username
    if connection.dialect.name != "postgresql" or runtime is None or runtime == owner:
        return
    role = connection.dialect.identifier_preparer.quote(runtime)
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}"))
    # Everybody may, unless somebody was careful with defaults; without the rules of its rows no row can be written.
    for function in connection.scalars(text(_OUR_FUNCTIONS)).all():
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION {function} TO {role}"))


_OUR_FUNCTIONS = """
SELECT CAST(CAST(oid AS regprocedure) AS text) FROM pg_proc
WHERE proname IN ('job_is_possible', 'run_is_possible') AND proowner = CAST(current_user AS regrole)
"""


run()
