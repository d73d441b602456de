"""All tables: the first migration of a new database.

An older database is brought to the same tables by the migrations in the folder `earlier`, and then changes no more.

Revision ID: 0010
Revises: 0009
Create Date: 2026-11-19
"""

from collections.abc import Iterator
from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Float,
    Index,
    Integer,
    PrimaryKeyConstraint,
    Text,
    UniqueConstraint,
    Uuid,
)

from webapp.db import Embedding, Json, UtcDateTime

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make everything, unless the earlier migrations have made it."""
    if op.get_context().get_current_revision() is not None:
        return
    connection = op.get_bind()
    is_postgresql = connection.dialect.name == "postgresql"
    if is_postgresql:
        connection.exec_driver_sql("CREATE EXTENSION IF NOT EXISTS vector")
    _tables.create_all(connection, checkfirst=False)
    on_postgresql = (*_RULES_ON_POSTGRESQL, *_SEARCH_ON_POSTGRESQL, *_row_level_security())
    for statement in on_postgresql if is_postgresql else _SEARCH_ON_SQLITE:
        connection.exec_driver_sql(statement)


def downgrade() -> None:
    """Nothing changes: the earlier migrations lead to the same tables."""


_tables = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

# Words are read by ranges, so they sort by their characters whatever the language of the database is.
_Word = Text().with_variant(Text(collation="C"), "postgresql")


def _table(name: str, *parts: sa.schema.SchemaItem, primary_key: tuple[str, ...] = ("id",), **options: Any) -> None:
    sa.Table(name, _tables, *parts, PrimaryKeyConstraint(*primary_key), **options)


def _required(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]


def _optional(kind: Any, *names: str) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=True) for name in names]


def _belongs_to(table: str, *column: str) -> sa.ForeignKeyConstraint:
    """The key of a row that is deleted with the org, or with the row of this org, that it refers to."""
    referred = ["orgs.id"] if table == "orgs" else [f"{table}.org_id", f"{table}.id"]
    return sa.ForeignKeyConstraint(["org_id", *column], referred, ondelete="CASCADE")


def _partial_index(name: str, *columns: str, where: str, **options: Any) -> Index:
    condition = sa.text(where)
    return Index(name, *columns, postgresql_where=condition, sqlite_where=condition, **options)


def _checks_on_sqlite(rules: dict[str, str]) -> list[CheckConstraint]:
    """One for each rule. PostgreSQL has them in one function: it would read each anew for each statement."""
    return [CheckConstraint(rule, name=name).ddl_if(dialect="sqlite") for name, rule in rules.items()]


# Accounts

_table(
    "orgs",
    *_required(Uuid, "id"),
    *_required(Text, "name"),
    *_required(UtcDateTime, "created_at"),
    CheckConstraint("length(name) > 0", name="named"),
    UniqueConstraint("name"),
)
_table(
    "users",
    *_required(Uuid, "id", "org_id"),
    *_required(Text, "email", "role"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Text, "password_hash"),
    *_optional(UtcDateTime, "disabled_at", "last_signed_in_at"),
    CheckConstraint("length(email) > 0 AND email = lower(email)", name="email"),
    CheckConstraint("role IN ('viewer', 'member', 'ops', 'operator')", name="role"),
    _belongs_to("orgs"),
    UniqueConstraint("org_id", "email"),
    UniqueConstraint("org_id", "id"),
    Index(None, "email"),
)
_table(
    "user_sessions",
    *_required(Uuid, "id", "org_id", "user_id"),
    *_required(Text, "token_hash", "via"),
    *_required(UtcDateTime, "created_at", "expires_at", "last_seen_at", "authenticated_at"),
    *_optional(Text, "device", "address"),
    CheckConstraint("via IN ('password', 'link')", name="via"),
    _belongs_to("users", "user_id"),
    UniqueConstraint("token_hash"),
    Index(None, "org_id", "user_id"),
)
_table(
    "sign_in_links",
    *_required(Uuid, "id", "org_id", "user_id"),
    *_required(Text, "token_hash"),
    *_required(UtcDateTime, "created_at", "expires_at"),
    *_optional(UtcDateTime, "used_at"),
    _belongs_to("users", "user_id"),
    UniqueConstraint("token_hash"),
    Index(None, "org_id", "user_id"),
)
_table(
    "api_tokens",
    *_required(Uuid, "id", "org_id"),
    *_required(Text, "name", "scope", "token_hash"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Uuid, "user_id"),
    *_optional(UtcDateTime, "expires_at", "last_used_at", "revoked_at"),
    CheckConstraint("scope IN ('read', 'upload', 'write', 'metrics', 'ops', 'operator')", name="scope"),
    _belongs_to("users", "user_id"),
    _belongs_to("orgs"),
    UniqueConstraint("token_hash"),
    Index(None, "org_id"),
)
_table(
    "sign_in_counts",
    *_required(Text, "key"),
    *_required(Integer, "attempts"),
    *_required(UtcDateTime, "started_at"),
    primary_key=("key",),
)
_table(
    "audit_log",
    # Without an org a line is about the installation, and only the scope `system` reads and writes it.
    *_required(Uuid, "id"),
    *_required(Text, "actor_kind", "actor_name", "action"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Uuid, "org_id", "actor_id"),
    *_optional(Text, "target", "address"),
    *_optional(Json, "details"),
    CheckConstraint("actor_kind IN ('user', 'token', 'command', 'nobody')", name="actor_kind"),
    _belongs_to("orgs"),
    Index(None, "org_id", "action", "id"),
    Index(None, "org_id", "id"),
)

# Documents and their runs

_table(
    "documents",
    *_required(Uuid, "id", "org_id"),
    *_required(Text, "filename", "content_type", "sha256", "blob_path", "status"),
    *_required(BigInteger, "size_bytes"),
    *_required(UtcDateTime, "created_at", "updated_at"),
    *_optional(Uuid, "published_run_id"),
    *_optional(Text, "answers_folder", "title", "language", "embedding_model"),
    *_optional(Integer, "page_count"),
    *_optional(Json, "warnings"),
    *_optional(Embedding, "embedding"),
    CheckConstraint("status <> 'READY' OR published_run_id IS NOT NULL", name="ready_has_result"),
    CheckConstraint("length(sha256) = 64", name="sha256"),
    CheckConstraint("size_bytes > 0", name="size"),
    CheckConstraint("status IN ('PROCESSING', 'READY', 'FAILED', 'TIMED_OUT')", name="status"),
    _belongs_to("orgs"),
    UniqueConstraint("org_id", "id"),
    UniqueConstraint("org_id", "sha256"),
    Index(None, "org_id", "embedding_model", "id"),
    Index(None, "org_id", "status", "created_at", "id"),
    Index(None, "org_id", "status", "filename", "id"),
    Index(None, "org_id", "status", "size_bytes", "id"),
)
_table(
    "document_words",
    *_required(Uuid, "org_id", "document_id"),
    *_required(_Word, "word"),
    _belongs_to("documents", "document_id"),
    Index(None, "org_id", "word", "document_id"),
    primary_key=("org_id", "document_id", "word"),
)
_table(
    "processing_runs",
    *_required(Uuid, "id", "org_id", "document_id"),
    *_required(Text, "state", "trigger"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Text, "failure_type", "failure_code", "error"),
    *_optional(UtcDateTime, "started_at", "finished_at"),
    *_checks_on_sqlite(
        {
            "state": "state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')",
            "finished": "(state IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')) = (finished_at IS NOT NULL)",
            "failure": "(state IN ('FAILED', 'CANCELLED')) = (failure_type IS NOT NULL)",
            "started": "state NOT IN ('RUNNING', 'SUCCEEDED', 'TIMED_OUT') OR started_at IS NOT NULL",
            "not_started": "state <> 'QUEUED' OR started_at IS NULL",
            "failure_type": "failure_type IN "
            "('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')",
            "trigger": "trigger IN ('UPLOAD', 'REPROCESS', 'RETRY')",
        }
    ),
    _belongs_to("documents", "document_id"),
    UniqueConstraint("org_id", "document_id", "id"),
    UniqueConstraint("org_id", "id"),
    Index(None, "document_id", "created_at", "id"),
    _partial_index("ix_processing_runs_live", "started_at", where="state IN ('QUEUED', 'RUNNING')"),
    _partial_index("uq_processing_runs_one_running", "document_id", where="state = 'RUNNING'", unique=True),
)
_table(
    "run_events",
    *_required(Uuid, "id", "org_id", "document_id", "run_id"),
    *_required(Text, "kind"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Uuid, "job_id"),
    *_optional(Text, "step"),
    *_optional(Json, "details"),
    _belongs_to("documents", "document_id"),
    _belongs_to("processing_runs", "run_id"),
    Index(None, "document_id", "id"),
    Index(None, "org_id", "run_id"),
)
_table(
    "document_fields",
    *_required(Uuid, "id", "org_id", "document_id"),
    *_required(Text, "name", "value"),
    *_required(Integer, "ordinal"),
    *_optional(Integer, "page"),
    *_optional(Float, "confidence"),
    *_optional(Json, "polygon"),
    CheckConstraint("confidence BETWEEN 0 AND 1", name="confidence"),
    _belongs_to("documents", "document_id"),
    UniqueConstraint("document_id", "ordinal"),
    Index(None, "org_id", "document_id"),
)
_table(
    "document_tables",
    *_required(Uuid, "id", "org_id", "document_id"),
    *_required(Integer, "ordinal"),
    *_required(Json, "rows"),
    *_optional(Text, "caption"),
    *_optional(Integer, "page"),
    _belongs_to("documents", "document_id"),
    UniqueConstraint("document_id", "ordinal"),
    Index(None, "org_id", "document_id"),
)
_table(
    "artifacts",
    *_required(Uuid, "document_id", "org_id"),
    *_required(Text, "kind", "path"),
    *_required(UtcDateTime, "created_at"),
    _belongs_to("documents", "document_id"),
    UniqueConstraint("path"),
    Index(None, "org_id", "document_id"),
    primary_key=("document_id", "kind"),
)
_table(
    "replaced_artifacts",
    *_required(Uuid, "org_id", "document_id"),
    *_required(Text, "path"),
    *_required(UtcDateTime, "replaced_at"),
    _belongs_to("documents", "document_id"),
    Index(None, "org_id", "document_id"),
    Index(None, "replaced_at"),
    primary_key=("path",),
)

# What is stored and what is paid

_table(
    "org_usage",
    *_required(Uuid, "org_id"),
    *_required(Integer, "part"),
    *_required(BigInteger, "stored_bytes"),
    _belongs_to("orgs"),
    primary_key=("org_id", "part"),
)
_table(
    "provider_calls",
    *_required(Uuid, "id", "org_id"),
    *_required(Text, "provider", "operation", "outcome"),
    *_required(Integer, "units"),
    *_required(Float, "seconds", "price"),
    *_required(Boolean, "reused"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Uuid, "run_id"),
    CheckConstraint("units >= 0 AND seconds >= 0 AND price >= 0", name="amounts"),
    CheckConstraint("outcome IN ('ok', 'error', 'unknown')", name="outcome"),
    _belongs_to("orgs"),
    Index(None, "org_id", "created_at"),
    Index(None, "org_id", "run_id"),
)
_table(
    "call_reservations",
    *_required(Uuid, "org_id", "call_id"),
    *_required(Text, "key", "provider", "operation"),
    *_required(Integer, "units"),
    *_required(Float, "price"),
    *_required(UtcDateTime, "made_at", "ends_at"),
    *_optional(Uuid, "job_id", "lease_id", "run_id"),
    CheckConstraint("units >= 0 AND price >= 0", name="amounts"),
    CheckConstraint("(job_id IS NULL) = (lease_id IS NULL) AND (job_id IS NULL) = (run_id IS NULL)", name="holder"),
    _belongs_to("orgs"),
    Index(None, "call_id"),
    primary_key=("org_id", "key"),
)

# The queue

_table(
    "document_processing_jobs",
    *_required(Uuid, "id", "org_id"),
    *_required(Text, "stage", "status"),
    *_required(Integer, "priority", "attempts", "max_attempts"),
    *_required(Json, "payload", "checkpoint", "error_log"),
    *_required(UtcDateTime, "created_at", "updated_at"),
    *_optional(Uuid, "document_id", "run_id", "operation_id", "lease_id"),
    *_optional(Text, "locked_by"),
    *_optional(UtcDateTime, "available_at", "wakes_at", "started_at", "heartbeat_at", "completed_at"),
    *_checks_on_sqlite(
        {
            "status": "status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')",
            "lease": "(status = 'PROCESSING') = (lease_id IS NOT NULL)",
            "locked_by": "(status = 'PROCESSING') = (locked_by IS NOT NULL)",
            "started": "status <> 'PROCESSING' OR (started_at IS NOT NULL AND heartbeat_at IS NOT NULL)",
            "ended": "(status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL)",
            "attempts": "attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts",
            "wakes": "wakes_at IS NULL OR status = 'PENDING'",
            "due": "status <> 'PENDING' OR wakes_at IS NOT NULL OR available_at IS NOT NULL",
            "owner": "(run_id IS NULL) = (document_id IS NULL) AND (run_id IS NULL) = (operation_id IS NOT NULL)",
        }
    ),
    sa.ForeignKeyConstraint(
        ["org_id", "document_id", "run_id"],
        ["processing_runs.org_id", "processing_runs.document_id", "processing_runs.id"],
        ondelete="CASCADE",
        name="fk_document_processing_jobs_run",
    ),
    _partial_index(
        "ix_jobs_due",
        *("stage", "priority", "org_id", "available_at", "id"),
        where="status = 'PENDING' AND wakes_at IS NULL",
    ),
    _partial_index("ix_jobs_delayed", "wakes_at", where="status = 'PENDING' AND wakes_at IS NOT NULL"),
    _partial_index("ix_jobs_held", "stage", "locked_by", where="status = 'PROCESSING'"),
    _partial_index("ix_jobs_org_id_status_stage_id", "org_id", "status", "stage", "id", where="status <> 'PROCESSING'"),
    Index(
        "uq_jobs_live_run_stage",
        *("run_id", "stage", sa.text("(CASE WHEN status IN ('PENDING', 'PROCESSING') THEN 1 END)")),
        unique=True,
    ),
    # A row is written anew when it is claimed and when it ends: beside the old one, that is a little cheaper.
    postgresql_with={"fillfactor": 45},
)
_table(
    "workers",
    *_required(Uuid, "id"),
    *_required(Text, "name", "host"),
    *_required(Integer, "pid", "threads"),
    *_required(UtcDateTime, "started_at", "last_seen"),
    *_optional(BigInteger, "lock_key"),
    *_optional(UtcDateTime, "ended_at"),
)
_table(
    "stage_controls",
    *_required(Text, "stage"),
    *_required(Boolean, "paused"),
    *_required(UtcDateTime, "updated_at"),
    *_optional(Text, "reason", "changed_by"),
    *_optional(Integer, "job_limit"),
    *_optional(UtcDateTime, "slowed_until"),
    CheckConstraint("job_limit >= 1", name="job_limit"),
    primary_key=("stage",),
)

# Search

_table(
    "chunks",
    *_required(Uuid, "id", "org_id", "document_id"),
    *_required(Text, "text", "text_sha256"),
    *_required(Integer, "ordinal"),
    *_required(UtcDateTime, "created_at"),
    *_optional(Text, "heading", "embedding_model"),
    *_optional(Integer, "page_from", "page_to"),
    *_optional(Float, "time_from", "time_to"),
    *_optional(Embedding, "embedding"),
    CheckConstraint("(embedding IS NULL) = (embedding_model IS NULL)", name="embedded"),
    CheckConstraint("page_from <= page_to", name="pages"),
    CheckConstraint("length(text) > 0", name="text"),
    CheckConstraint("time_from <= time_to", name="times"),
    _belongs_to("documents", "document_id"),
    UniqueConstraint("document_id", "ordinal"),
    UniqueConstraint("org_id", "id"),
    Index(None, "org_id", "document_id"),
)
_table(
    "embedding_cache",
    *_required(Uuid, "org_id"),
    *_required(Text, "model", "text_sha256"),
    *_required(Embedding, "embedding"),
    *_required(UtcDateTime, "created_at"),
    _belongs_to("orgs"),
    primary_key=("org_id", "model", "text_sha256"),
)
_table(
    "query_embeddings",
    *_required(Uuid, "org_id"),
    *_required(Text, "model", "query_sha256"),
    *_required(Embedding, "embedding"),
    *_required(UtcDateTime, "used_at"),
    _belongs_to("orgs"),
    Index(None, "org_id", "used_at"),
    primary_key=("org_id", "model", "query_sha256"),
)
_table(
    "chunk_values",
    *_required(Uuid, "chunk_id", "org_id", "document_id"),
    *_required(Text, "value"),
    CheckConstraint("length(value) BETWEEN 1 AND 200", name="value"),
    _belongs_to("chunks", "chunk_id"),
    Index(None, "org_id", "chunk_id"),
    Index(None, "org_id", "document_id"),
    Index(None, "org_id", "value"),
    primary_key=("chunk_id", "value"),
)
_table(
    "connections",
    *_required(Uuid, "source_chunk_id", "target_chunk_id", "org_id"),
    *_required(Text, "kind"),
    *_required(Float, "score"),
    *_required(UtcDateTime, "created_at"),
    CheckConstraint("kind IN ('similar', 'near_duplicate', 'shared_value')", name="kind"),
    CheckConstraint("source_chunk_id <> target_chunk_id", name="two_ends"),
    _belongs_to("chunks", "source_chunk_id"),
    _belongs_to("chunks", "target_chunk_id"),
    Index(None, "org_id", "source_chunk_id"),
    Index(None, "org_id", "target_chunk_id"),
    primary_key=("source_chunk_id", "target_chunk_id", "kind"),
)


# The rules of a run and of a job, as PostgreSQL has them.
_RULES_ON_POSTGRESQL = (
    """
    CREATE FUNCTION run_is_possible(
        state text, failure_type text, trigger text, started_at timestamptz, finished_at timestamptz
    ) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN trigger IN ('UPLOAD', 'REPROCESS', 'RETRY') AND CASE state
            WHEN 'QUEUED' THEN started_at IS NULL AND finished_at IS NULL AND failure_type IS NULL
            WHEN 'RUNNING' THEN started_at IS NOT NULL AND finished_at IS NULL AND failure_type IS NULL
            WHEN 'SUCCEEDED' THEN started_at IS NOT NULL AND finished_at IS NOT NULL AND failure_type IS NULL
            WHEN 'TIMED_OUT' THEN started_at IS NOT NULL AND finished_at IS NOT NULL AND failure_type IS NULL
            ELSE state IN ('FAILED', 'CANCELLED') AND finished_at IS NOT NULL AND failure_type IS NOT NULL
                AND failure_type IN
                    ('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')
        END;
    END $$
    """,
    """
    ALTER TABLE processing_runs ADD CONSTRAINT ck_processing_runs_possible
        CHECK (run_is_possible(state, failure_type, trigger, started_at, finished_at))
    """,
    """
    CREATE FUNCTION job_is_possible(job document_processing_jobs)
    RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
    BEGIN
        RETURN job.attempts >= 0 AND job.max_attempts >= 1 AND job.attempts <= job.max_attempts
            AND (job.run_id IS NULL) = (job.document_id IS NULL)
            AND (job.run_id IS NULL) = (job.operation_id IS NOT NULL)
            AND CASE job.status
            WHEN 'PROCESSING' THEN job.lease_id IS NOT NULL AND job.locked_by IS NOT NULL AND job.wakes_at IS NULL
                AND job.started_at IS NOT NULL AND job.heartbeat_at IS NOT NULL AND job.completed_at IS NULL
            WHEN 'PENDING' THEN job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NULL
                AND (job.wakes_at IS NOT NULL OR job.available_at IS NOT NULL)
            ELSE job.status IN ('COMPLETED', 'FAILED', 'CANCELLED') AND job.wakes_at IS NULL
                AND job.lease_id IS NULL AND job.locked_by IS NULL AND job.completed_at IS NOT NULL
        END;
    END $$
    """,
    """
    ALTER TABLE document_processing_jobs ADD CONSTRAINT ck_document_processing_jobs_possible
        CHECK (job_is_possible(document_processing_jobs))
    """,
)

# Words through a generated column, vectors through HNSW: one partial index for each model. There is no GIN index over
# the words: `@@` is not leakproof, so under row-level security the planner may not use one. The passages of the org are
# read instead, some 100,000 in a tenth of a second.
_SEARCH_ON_POSTGRESQL = (
    """
    ALTER TABLE chunks ADD COLUMN words tsvector
        GENERATED ALWAYS AS (to_tsvector('english', coalesce(heading, '') || ' ' || text)) STORED
    """,
    """
    CREATE INDEX ix_chunks_embedding_minilm ON chunks USING hnsw ((embedding::vector(384)) vector_cosine_ops)
        WHERE embedding_model = 'minilm-l6-v2-int8'
    """,
)


def _row_level_security() -> Iterator[str]:
    """Rows of another org do not exist, not even for the tables' owner.

    `system` is the scope of the queue, of sign-in and of start-up: they look across orgs.
    """
    for table in _tables.sorted_tables:
        if "org_id" in table.columns:
            yield f"ALTER TABLE {table.name} ENABLE ROW LEVEL SECURITY"
            yield f"ALTER TABLE {table.name} FORCE ROW LEVEL SECURITY"
            yield f"""
                CREATE POLICY org ON {table.name} USING (
                    current_setting('app.scope', true) = 'system'
                    OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
                )
            """


# Words through FTS5, kept in step by triggers; vectors through files that a version keeps in step.
_ADD_WORDS = """
    INSERT INTO chunks_fts_ids (chunk_id, org_id) VALUES (new.id, new.org_id);
    INSERT INTO chunks_fts (rowid, heading, text)
        VALUES ((SELECT number FROM chunks_fts_ids WHERE chunk_id = new.id), coalesce(new.heading, ''), new.text);
"""
_REMOVE_WORDS = """
    DELETE FROM chunks_fts WHERE rowid = (SELECT number FROM chunks_fts_ids WHERE chunk_id = old.id);
    DELETE FROM chunks_fts_ids WHERE chunk_id = old.id;
"""
# Random, not counted: a database that was restored from a backup must not count up to a version that the files beside
# it have seen with other rows.
_CHANGE_VERSION = """
    INSERT INTO chunk_versions (org_id, version) VALUES ({row}.org_id, random())
        ON CONFLICT (org_id) DO UPDATE SET version = excluded.version;
"""
_CHANGED, _REMOVED = _CHANGE_VERSION.format(row="new"), _CHANGE_VERSION.format(row="old")
_SEARCH_ON_SQLITE = (
    # A table of its own gives each chunk a number that survives VACUUM, which an implicit rowid does not.
    "CREATE TABLE chunks_fts_ids (number INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL UNIQUE, org_id TEXT NOT NULL)",
    "CREATE VIRTUAL TABLE chunks_fts USING fts5(heading, text, tokenize = 'porter unicode61 remove_diacritics 2')",
    "CREATE TABLE chunk_versions (org_id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID",
    f"CREATE TRIGGER chunks_fts_insert AFTER INSERT ON chunks BEGIN {_ADD_WORDS} END",
    f"CREATE TRIGGER chunks_fts_delete AFTER DELETE ON chunks BEGIN {_REMOVE_WORDS} END",
    # An UPDATE names its columns also where their values stay: those rows are left alone.
    f"""
    CREATE TRIGGER chunks_fts_update AFTER UPDATE OF text, heading ON chunks
    WHEN old.text <> new.text OR old.heading IS NOT new.heading
    BEGIN {_REMOVE_WORDS} {_ADD_WORDS} END
    """,
    f"CREATE TRIGGER chunks_version_insert AFTER INSERT ON chunks BEGIN {_CHANGED} END",
    f"CREATE TRIGGER chunks_version_delete AFTER DELETE ON chunks BEGIN {_REMOVED} END",
    f"""
    CREATE TRIGGER chunks_version_update AFTER UPDATE OF embedding, embedding_model ON chunks
    WHEN old.embedding IS NOT new.embedding OR old.embedding_model IS NOT new.embedding_model
    BEGIN {_CHANGED} END
    """,
)
