"""The first tables.

Revision ID: 0001
Revises:
Create Date: 2026-11-18
"""

import sqlalchemy as sa
from alembic import op

from webapp.db import Embedding, Json, UtcDateTime

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ORG_TABLES = (
    "users",
    "user_sessions",
    "sign_in_links",
    "api_tokens",
    "documents",
    "processing_runs",
    "run_events",
    "document_fields",
    "document_tables",
    "artifacts",
    "provider_calls",
    "document_processing_jobs",
    "chunks",
    "embedding_cache",
    "chunk_values",
    "connections",
)


def upgrade() -> None:
    """Create everything."""
    on_postgresql = op.get_bind().dialect.name == "postgresql"
    if on_postgresql:
        op.execute("CREATE EXTENSION IF NOT EXISTS vector")
    _accounts()
    _documents()
    _jobs()
    _search()
    if on_postgresql:
        _postgresql_index()
        _row_level_security()
    else:
        _sqlite_index()


def downgrade() -> None:
    """Going back would lose documents: restore a backup instead."""
    raise NotImplementedError("the first tables hold everything: restore a backup instead of going back")


def _accounts() -> None:
    op.create_table(
        "orgs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("length(name) > 0", name=op.f("ck_orgs_named")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_orgs")),
        sa.UniqueConstraint("name", name=op.f("uq_orgs_name")),
    )
    op.create_table(
        "users",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("email", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("password_hash", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("disabled_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("role IN ('member', 'ops')", name=op.f("ck_users_role")),
        sa.CheckConstraint("length(email) > 0 AND email = lower(email)", name=op.f("ck_users_email")),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_users_org_id_orgs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_users")),
        sa.UniqueConstraint("org_id", "email", name=op.f("uq_users_org_id_email")),
        sa.UniqueConstraint("org_id", "id", name=op.f("uq_users_org_id_id")),
    )
    op.create_index("ix_users_email", "users", ["email"], unique=False)
    op.create_table(
        "user_sessions",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "user_id"],
            ["users.org_id", "users.id"],
            name=op.f("fk_user_sessions_org_id_user_id_users"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_sessions")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_user_sessions_token_hash")),
    )
    op.create_index("ix_user_sessions_org_id_user_id", "user_sessions", ["org_id", "user_id"], unique=False)
    op.create_table(
        "sign_in_links",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("user_id", sa.Uuid(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("expires_at", UtcDateTime(), nullable=False),
        sa.Column("used_at", UtcDateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["org_id", "user_id"],
            ["users.org_id", "users.id"],
            name=op.f("fk_sign_in_links_org_id_user_id_users"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_sign_in_links")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_sign_in_links_token_hash")),
    )
    op.create_index("ix_sign_in_links_org_id_user_id", "sign_in_links", ["org_id", "user_id"], unique=False)
    op.create_table(
        "api_tokens",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("token_hash", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("last_used_at", UtcDateTime(), nullable=True),
        sa.Column("revoked_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("role IN ('member', 'ops')", name=op.f("ck_api_tokens_role")),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_api_tokens_org_id_orgs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_tokens")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_api_tokens_token_hash")),
    )
    op.create_index("ix_api_tokens_org_id", "api_tokens", ["org_id"], unique=False)


def _documents() -> None:
    op.create_table(
        "documents",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("filename", sa.Text(), nullable=False),
        sa.Column("content_type", sa.Text(), nullable=False),
        sa.Column("size_bytes", sa.BigInteger(), nullable=False),
        sa.Column("sha256", sa.Text(), nullable=False),
        sa.Column("blob_path", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("title", sa.Text(), nullable=True),
        sa.Column("page_count", sa.Integer(), nullable=True),
        sa.Column("language", sa.Text(), nullable=True),
        sa.Column("embedding", Embedding(), nullable=True),
        sa.Column("embedding_model", sa.Text(), nullable=True),
        sa.Column("warnings", Json, nullable=True),
        sa.Column("published_run_id", sa.Uuid(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint(
            "status <> 'READY' OR published_run_id IS NOT NULL", name=op.f("ck_documents_ready_has_result")
        ),
        sa.CheckConstraint(
            "status IN ('PROCESSING', 'READY', 'FAILED', 'TIMED_OUT')", name=op.f("ck_documents_status")
        ),
        sa.CheckConstraint("length(sha256) = 64", name=op.f("ck_documents_sha256")),
        sa.CheckConstraint("size_bytes > 0", name=op.f("ck_documents_size")),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name=op.f("fk_documents_org_id_orgs"), ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_documents")),
        sa.UniqueConstraint("org_id", "id", name=op.f("uq_documents_org_id_id")),
        sa.UniqueConstraint("org_id", "sha256", name=op.f("uq_documents_org_id_sha256")),
    )
    op.create_index("ix_documents_org_id_created_at_id", "documents", ["org_id", "created_at", "id"], unique=False)
    op.create_index(
        "ix_documents_org_id_status_created_at", "documents", ["org_id", "status", "created_at"], unique=False
    )
    op.create_table(
        "processing_runs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("failure_type", sa.Text(), nullable=True),
        sa.Column("failure_code", sa.Text(), nullable=True),
        sa.Column("error", sa.Text(), nullable=True),
        sa.Column("trigger", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("finished_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint(
            "(state IN ('FAILED', 'CANCELLED')) = (failure_type IS NOT NULL)", name=op.f("ck_processing_runs_failure")
        ),
        sa.CheckConstraint(
            "(state IN ('SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')) = (finished_at IS NOT NULL)",
            name=op.f("ck_processing_runs_finished"),
        ),
        sa.CheckConstraint(
            "failure_type IN ('PROCESS_TERMINATED', 'STEP_FAILED', 'ATTEMPTS_EXHAUSTED', 'BAD_INPUT', 'CANCELLED')",
            name=op.f("ck_processing_runs_failure_type"),
        ),
        sa.CheckConstraint("state <> 'QUEUED' OR started_at IS NULL", name=op.f("ck_processing_runs_not_started")),
        sa.CheckConstraint(
            "state IN ('QUEUED', 'RUNNING', 'SUCCEEDED', 'FAILED', 'TIMED_OUT', 'CANCELLED')",
            name=op.f("ck_processing_runs_state"),
        ),
        sa.CheckConstraint(
            "state NOT IN ('RUNNING', 'SUCCEEDED', 'TIMED_OUT') OR started_at IS NOT NULL",
            name=op.f("ck_processing_runs_started"),
        ),
        sa.CheckConstraint("trigger IN ('UPLOAD', 'REPROCESS', 'RETRY')", name=op.f("ck_processing_runs_trigger")),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_processing_runs_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_processing_runs")),
        sa.UniqueConstraint("org_id", "id", name=op.f("uq_processing_runs_org_id_id")),
        sa.UniqueConstraint("org_id", "document_id", "id", name=op.f("uq_processing_runs_org_id_document_id_id")),
    )
    op.create_index(
        "ix_processing_runs_document_id_created_at_id",
        "processing_runs",
        ["document_id", "created_at", "id"],
        unique=False,
    )
    op.create_index(
        "ix_processing_runs_live",
        "processing_runs",
        ["started_at"],
        unique=False,
        postgresql_where=sa.text("state IN ('QUEUED', 'RUNNING')"),
        sqlite_where=sa.text("state IN ('QUEUED', 'RUNNING')"),
    )
    op.create_index("ix_processing_runs_org_id_document_id", "processing_runs", ["org_id", "document_id"], unique=False)
    op.create_index(
        "uq_processing_runs_one_running",
        "processing_runs",
        ["document_id"],
        unique=True,
        postgresql_where=sa.text("state = 'RUNNING'"),
        sqlite_where=sa.text("state = 'RUNNING'"),
    )
    op.create_table(
        "run_events",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("job_id", sa.Uuid(), nullable=True),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("step", sa.Text(), nullable=True),
        sa.Column("details", Json, nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_run_events_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "run_id"],
            ["processing_runs.org_id", "processing_runs.id"],
            name=op.f("fk_run_events_org_id_run_id_processing_runs"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_run_events")),
    )
    op.create_index("ix_run_events_document_id_id", "run_events", ["document_id", "id"], unique=False)
    op.create_index("ix_run_events_org_id_run_id", "run_events", ["org_id", "run_id"], unique=False)
    op.create_table(
        "document_fields",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("confidence", sa.Float(), nullable=True),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("polygon", Json, nullable=True),
        sa.CheckConstraint("confidence BETWEEN 0 AND 1", name=op.f("ck_document_fields_confidence")),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_document_fields_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_document_fields")),
        sa.UniqueConstraint("document_id", "ordinal", name=op.f("uq_document_fields_document_id_ordinal")),
    )
    op.create_index("ix_document_fields_org_id_document_id", "document_fields", ["org_id", "document_id"], unique=False)
    op.create_table(
        "document_tables",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("page", sa.Integer(), nullable=True),
        sa.Column("caption", sa.Text(), nullable=True),
        sa.Column("rows", Json, nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_document_tables_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_document_tables")),
        sa.UniqueConstraint("document_id", "ordinal", name=op.f("uq_document_tables_document_id_ordinal")),
    )
    op.create_index("ix_document_tables_org_id_document_id", "document_tables", ["org_id", "document_id"], unique=False)
    op.create_table(
        "artifacts",
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_artifacts_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("document_id", "kind", name=op.f("pk_artifacts")),
        sa.UniqueConstraint("path", name=op.f("uq_artifacts_path")),
    )
    op.create_index("ix_artifacts_org_id_document_id", "artifacts", ["org_id", "document_id"], unique=False)
    op.create_table(
        "provider_calls",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("provider", sa.Text(), nullable=False),
        sa.Column("operation", sa.Text(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("reused", sa.Boolean(), nullable=False),
        sa.Column("price", sa.Float(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("outcome IN ('ok', 'error', 'unknown')", name=op.f("ck_provider_calls_outcome")),
        sa.CheckConstraint("units >= 0 AND seconds >= 0 AND price >= 0", name=op.f("ck_provider_calls_amounts")),
        sa.ForeignKeyConstraint(
            ["org_id", "run_id"],
            ["processing_runs.org_id", "processing_runs.id"],
            name=op.f("fk_provider_calls_org_id_run_id_processing_runs"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id"], ["orgs.id"], name=op.f("fk_provider_calls_org_id_orgs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_provider_calls")),
    )
    op.create_index("ix_provider_calls_org_id_created_at", "provider_calls", ["org_id", "created_at"], unique=False)
    op.create_index("ix_provider_calls_org_id_run_id", "provider_calls", ["org_id", "run_id"], unique=False)


def _jobs() -> None:
    op.create_table(
        "document_processing_jobs",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("status", sa.Text(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("payload", Json, nullable=False),
        sa.Column("checkpoint", Json, nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("max_attempts", sa.Integer(), nullable=False),
        sa.Column("available_at", UtcDateTime(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=True),
        sa.Column("heartbeat_at", UtcDateTime(), nullable=True),
        sa.Column("completed_at", UtcDateTime(), nullable=True),
        sa.Column("locked_by", sa.Text(), nullable=True),
        sa.Column("lease_id", sa.Uuid(), nullable=True),
        sa.Column("error_log", Json, nullable=False),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint(
            "(status = 'PROCESSING') = (lease_id IS NOT NULL)", name=op.f("ck_document_processing_jobs_lease")
        ),
        sa.CheckConstraint(
            "(status = 'PROCESSING') = (locked_by IS NOT NULL)", name=op.f("ck_document_processing_jobs_locked_by")
        ),
        sa.CheckConstraint(
            "(status IN ('COMPLETED', 'FAILED', 'CANCELLED')) = (completed_at IS NOT NULL)",
            name=op.f("ck_document_processing_jobs_ended"),
        ),
        sa.CheckConstraint(
            "status <> 'PROCESSING' OR (started_at IS NOT NULL AND heartbeat_at IS NOT NULL)",
            name=op.f("ck_document_processing_jobs_started"),
        ),
        sa.CheckConstraint(
            "status IN ('PENDING', 'PROCESSING', 'COMPLETED', 'FAILED', 'CANCELLED')",
            name=op.f("ck_document_processing_jobs_status"),
        ),
        sa.CheckConstraint(
            "attempts >= 0 AND max_attempts >= 1 AND attempts <= max_attempts",
            name=op.f("ck_document_processing_jobs_attempts"),
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id", "run_id"],
            ["processing_runs.org_id", "processing_runs.document_id", "processing_runs.id"],
            name=op.f("fk_document_processing_jobs_run"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_document_processing_jobs")),
    )
    op.create_index(
        "ix_jobs_due",
        "document_processing_jobs",
        ["stage", "priority", "org_id", "available_at", "id"],
        unique=False,
        postgresql_where=sa.text("status = 'PENDING' AND available_at IS NOT NULL"),
        sqlite_where=sa.text("status = 'PENDING' AND available_at IS NOT NULL"),
    )
    op.create_index(
        "ix_jobs_held",
        "document_processing_jobs",
        ["stage", "locked_by"],
        unique=False,
        postgresql_where=sa.text("status = 'PROCESSING'"),
        sqlite_where=sa.text("status = 'PROCESSING'"),
    )
    op.create_index("ix_jobs_org_id_status_id", "document_processing_jobs", ["org_id", "status", "id"], unique=False)
    op.create_index("ix_jobs_run_id_org_id", "document_processing_jobs", ["run_id", "org_id"], unique=False)
    op.create_index(
        "uq_jobs_live_run_stage",
        "document_processing_jobs",
        ["run_id", "stage"],
        unique=True,
        postgresql_where=sa.text("status IN ('PENDING', 'PROCESSING')"),
        sqlite_where=sa.text("status IN ('PENDING', 'PROCESSING')"),
    )
    op.create_table(
        "workers",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("host", sa.Text(), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("threads", sa.Integer(), nullable=False),
        sa.Column("started_at", UtcDateTime(), nullable=False),
        sa.Column("last_seen", UtcDateTime(), nullable=False),
        sa.Column("lock_key", sa.BigInteger(), nullable=True),
        sa.Column("ended_at", UtcDateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_table(
        "stage_controls",
        sa.Column("stage", sa.Text(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("changed_by", sa.Text(), nullable=True),
        sa.Column("job_limit", sa.Integer(), nullable=True),
        sa.Column("slowed_until", UtcDateTime(), nullable=True),
        sa.Column("updated_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("job_limit >= 1", name=op.f("ck_stage_controls_job_limit")),
        sa.PrimaryKeyConstraint("stage", name=op.f("pk_stage_controls")),
    )


def _search() -> None:
    op.create_table(
        "chunks",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("ordinal", sa.Integer(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=False),
        sa.Column("page_from", sa.Integer(), nullable=True),
        sa.Column("page_to", sa.Integer(), nullable=True),
        sa.Column("time_from", sa.Float(), nullable=True),
        sa.Column("time_to", sa.Float(), nullable=True),
        sa.Column("heading", sa.Text(), nullable=True),
        sa.Column("embedding", Embedding(), nullable=True),
        sa.Column("embedding_model", sa.Text(), nullable=True),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("(embedding IS NULL) = (embedding_model IS NULL)", name=op.f("ck_chunks_embedded")),
        sa.CheckConstraint("length(text) > 0", name=op.f("ck_chunks_text")),
        sa.CheckConstraint("page_from <= page_to", name=op.f("ck_chunks_pages")),
        sa.CheckConstraint("time_from <= time_to", name=op.f("ck_chunks_times")),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_chunks_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_chunks")),
        sa.UniqueConstraint("document_id", "ordinal", name=op.f("uq_chunks_document_id_ordinal")),
        sa.UniqueConstraint("org_id", "id", name=op.f("uq_chunks_org_id_id")),
    )
    op.create_index("ix_chunks_org_id_document_id", "chunks", ["org_id", "document_id"], unique=False)
    op.create_table(
        "embedding_cache",
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("model", sa.Text(), nullable=False),
        sa.Column("text_sha256", sa.Text(), nullable=False),
        sa.Column("embedding", Embedding(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id"], ["orgs.id"], name=op.f("fk_embedding_cache_org_id_orgs"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("org_id", "model", "text_sha256", name=op.f("pk_embedding_cache")),
    )
    _connections()


def _connections() -> None:
    op.create_table(
        "chunk_values",
        sa.Column("chunk_id", sa.Uuid(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.CheckConstraint("length(value) BETWEEN 1 AND 200", name=op.f("ck_chunk_values_value")),
        sa.ForeignKeyConstraint(
            ["org_id", "chunk_id"],
            ["chunks.org_id", "chunks.id"],
            name=op.f("fk_chunk_values_org_id_chunk_id_chunks"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("chunk_id", "value", name=op.f("pk_chunk_values")),
    )
    for columns in (["org_id", "value"], ["org_id", "document_id"], ["org_id", "chunk_id"]):
        op.create_index(f"ix_chunk_values_{'_'.join(columns)}", "chunk_values", columns, unique=False)
    op.create_table(
        "connections",
        sa.Column("source_chunk_id", sa.Uuid(), nullable=False),
        sa.Column("target_chunk_id", sa.Uuid(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("score", sa.Float(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.CheckConstraint("source_chunk_id <> target_chunk_id", name=op.f("ck_connections_two_ends")),
        sa.CheckConstraint("kind IN ('similar', 'near_duplicate', 'shared_value')", name=op.f("ck_connections_kind")),
        sa.ForeignKeyConstraint(
            ["org_id", "source_chunk_id"],
            ["chunks.org_id", "chunks.id"],
            name=op.f("fk_connections_org_id_source_chunk_id_chunks"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "target_chunk_id"],
            ["chunks.org_id", "chunks.id"],
            name=op.f("fk_connections_org_id_target_chunk_id_chunks"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("source_chunk_id", "target_chunk_id", "kind", name=op.f("pk_connections")),
    )
    op.create_index("ix_connections_org_id_source_chunk_id", "connections", ["org_id", "source_chunk_id"], unique=False)
    op.create_index("ix_connections_org_id_target_chunk_id", "connections", ["org_id", "target_chunk_id"], unique=False)


def _postgresql_index() -> None:
    """Words through a generated column, vectors through HNSW: one partial index for each model.

    There is no GIN index over the words: `@@` is not leakproof, so under row-level security the
    planner may not use one. The passages of the org are read instead, some 100,000 in a tenth of a second.
    """
    op.execute(
        "ALTER TABLE chunks ADD COLUMN words tsvector GENERATED ALWAYS AS "
        "(to_tsvector('english', coalesce(heading, '') || ' ' || text)) STORED"
    )
    op.execute(
        "CREATE INDEX ix_chunks_embedding_minilm ON chunks USING hnsw ((embedding::vector(384)) vector_cosine_ops) "
        "WHERE embedding_model = 'minilm-l6-v2-int8'"
    )


def _row_level_security() -> None:
    """Rows of another org do not exist, not even for the tables' owner.

    `system` is the scope of the queue, of sign-in and of start-up: they look across orgs.
    """
    for table in ORG_TABLES:
        op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
        op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
        op.execute(
            f"CREATE POLICY org ON {table} USING ("
            "org_id = nullif(current_setting('app.org_id', true), '')::uuid "
            "OR current_setting('app.scope', true) = 'system')"
        )


def _sqlite_index() -> None:
    """Words through FTS5, kept in step by triggers; vectors through files that a version keeps in step.

    A table of its own gives each chunk a number that survives VACUUM, which an implicit rowid does not.
    """
    op.execute(
        "CREATE TABLE chunks_fts_ids (number INTEGER PRIMARY KEY, chunk_id TEXT NOT NULL UNIQUE, org_id TEXT NOT NULL)"
    )
    op.execute(
        "CREATE VIRTUAL TABLE chunks_fts USING fts5(heading, text, tokenize = 'porter unicode61 remove_diacritics 2')"
    )
    # Random, not counted: a database that was restored from a backup must not count up to a
    # version that the files beside it have seen with other rows.
    op.execute("CREATE TABLE chunk_versions (org_id TEXT PRIMARY KEY, version INTEGER NOT NULL) WITHOUT ROWID")
    number = "(SELECT number FROM chunks_fts_ids WHERE chunk_id = {row}.id)"
    add = (
        "INSERT INTO chunks_fts_ids (chunk_id, org_id) VALUES (new.id, new.org_id); "
        "INSERT INTO chunks_fts (rowid, heading, text) "
        f"VALUES ({number.format(row='new')}, coalesce(new.heading, ''), new.text);"
    )
    remove = (
        f"DELETE FROM chunks_fts WHERE rowid = {number.format(row='old')}; "
        "DELETE FROM chunks_fts_ids WHERE chunk_id = old.id;"
    )
    changed = (
        "INSERT INTO chunk_versions (org_id, version) VALUES ({row}.org_id, random()) "
        "ON CONFLICT (org_id) DO UPDATE SET version = excluded.version;"
    )
    # An UPDATE names its columns also where their values stay: those rows are left alone.
    other_words = "old.text <> new.text OR old.heading IS NOT new.heading"
    other_vector = "old.embedding IS NOT new.embedding OR old.embedding_model IS NOT new.embedding_model"
    op.execute(f"CREATE TRIGGER chunks_fts_insert AFTER INSERT ON chunks BEGIN {add} END")
    op.execute(f"CREATE TRIGGER chunks_fts_delete AFTER DELETE ON chunks BEGIN {remove} END")
    op.execute(
        f"CREATE TRIGGER chunks_fts_update AFTER UPDATE OF text, heading ON chunks WHEN {other_words} "
        f"BEGIN {remove} {add} END"
    )
    op.execute(f"CREATE TRIGGER chunks_version_insert AFTER INSERT ON chunks BEGIN {changed.format(row='new')} END")
    op.execute(f"CREATE TRIGGER chunks_version_delete AFTER DELETE ON chunks BEGIN {changed.format(row='old')} END")
    op.execute(
        "CREATE TRIGGER chunks_version_update AFTER UPDATE OF embedding, embedding_model ON chunks "
        f"WHEN {other_vector} BEGIN {changed.format(row='new')} END"
    )
