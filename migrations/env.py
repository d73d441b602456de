"""How migrations run: as the owner, in one transaction, one process at a time, never waiting long for a lock.

A migration may have a function `fill`, for rows that take long to make. It is called after the commit, again and again,
each time in a short transaction, until it returns False; where it was interrupted, the next run goes on.
"""

import sys
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from alembic import context
from alembic.runtime.migration import MigrationContext, MigrationStep
from flask import current_app
from sqlalchemy import NullPool, create_engine, text
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.exc import DBAPIError, SAWarning

import webapp.accounts.model
import webapp.documents.correction_model
import webapp.documents.ledger_model
import webapp.documents.model
import webapp.documents.name_model
import webapp.documents.operation_model
import webapp.documents.page_model
import webapp.documents.rule_model
import webapp.documents.source_model
import webapp.documents.tag_model
import webapp.documents.view_model
import webapp.documents.webhook_model
import webapp.jobs.model
import webapp.search.answer_model
import webapp.search.model
import webapp.statistics.model  # noqa: F401 - the models of all packages make up the metadata
from webapp.config import Settings
from webapp.db import Base, inside_words, passage_words
from webapp.db.engines import prepare_sqlite
from webapp.db.errors import trouble_of
from webapp.db.grants import grant

# Made by hand for one database each, so the models do not know them; or of expressions, which each database
# gives back in words of its own.
NATIVE = {
    "uq_jobs_live_run_stage",
    "words",
    "chunk_words",
    "ix_chunk_words_document_id",
    "ix_chunks_document_id_org_id",
    "ix_chunks_embedding_minilm",
    "ix_chunks_embedding_e5",
    "chunks_fts",
    "chunks_fts_ids",
    "chunks_fts_vocab",
    "chunks_fts_config",
    "chunks_fts_content",
    "chunks_fts_data",
    "chunks_fts_docsize",
    "chunks_fts_idx",
    "chunk_versions",
    inside_words.INDEX,
    passage_words.INDEX,
}
# Makes all tables of a new database. The migrations in the folder `earlier` bring databases from before it to the same.
FIRST = "0010"
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
    with _connected(engine) as connection:
        _suspend_foreign_keys(connection)
        with connection.begin():
            _migrate(connection)
            _check_foreign_keys(connection)
            grant(connection, settings)
        _fill(connection)
    inside_words.prepare(engine, settings)
    passage_words.prepare(engine, settings)


def _fill(connection: Connection) -> None:
    """Rows that migrations left for later, the oldest migration's first."""
    script = context.script
    current = _revision(connection)
    for revision in reversed(list(script.iterate_revisions(current, "base"))) if current else ():
        fill = getattr(revision.module, "fill", None)
        while fill is not None and _filled_some(connection, fill):
            pass


def _filled_some(connection: Connection, fill: Callable[[Connection], bool]) -> bool:
    with connection.begin():
        _guard(connection)
        if connection.dialect.name == "postgresql":
            # Row-level security is forced on the owner, too.
            connection.execute(text("SELECT set_config('app.scope', 'system', true)"))
        return fill(connection)


def _revision(connection: Connection) -> str | None:
    """The migration that the tables are at."""
    with connection.begin():
        return MigrationContext.configure(connection).get_current_revision()


def _migrate(connection: Connection) -> None:
    _guard(connection)
    configure = partial(
        context.configure,
        connection=connection,
        target_metadata=Base.metadata,
        include_object=belongs_to_models,
        compare_type=True,
        transactional_ddl=True,
        render_as_batch=connection.dialect.name == "sqlite",
    )
    configure()
    # The steps of this command (none of `check` and `current`) for a database at some revision.
    planned = context.get_context().opts["fn"]
    configure(fn=lambda revision, migration: _for_new_database(planned(revision, migration), revision))
    with context.begin_transaction(), warnings.catch_warnings():
        # SQLite cannot tell what an index of expressions is made of; such ones are not compared anyway.
        warnings.filterwarnings("ignore", ".*expression-based index uq_jobs_live_run_stage", SAWarning)
        warnings.filterwarnings("ignore", ".*expression-based index 'uq_jobs_live_run_stage'", UserWarning)
        context.run_migrations()


def _for_new_database(steps: Iterable[MigrationStep], revision: object) -> list[MigrationStep]:
    """These steps. Of a database that is at no revision yet, those that lead to FIRST are left out."""
    steps = list(steps)
    reached = [step.to_revisions for step in steps]
    return steps[reached.index((FIRST,)) :] if not revision and (FIRST,) in reached else steps


def _suspend_foreign_keys(connection: Connection) -> None:
    """On SQLite a table is changed by making it anew, and dropping the old one would delete all that refers to it."""
    if connection.dialect.name == "sqlite":
        # Not through SQLAlchemy, which would begin a transaction first; inside of one this has no effect.
        driver_connection: Any = connection.connection.driver_connection
        driver_connection.execute("PRAGMA foreign_keys=OFF")


def _check_foreign_keys(connection: Connection) -> None:
    """What was not checked meanwhile is checked before the commit."""
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        if broken:
            raise RuntimeError(f"the migration left {len(broken)} rows that refer to nothing; it was rolled back")


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


run()
