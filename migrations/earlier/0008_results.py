"""Give each document a folder of answers of its own, keep replaced artifacts for a while, unlink what says nothing.

Revision ID: 0008
Revises: 0007
Create Date: 2026-11-19
"""

import time
from collections.abc import Iterator

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

from webapp.db import UtcDateTime

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TRIES, _PAUSE_SECONDS = 150, 0.1
_ROWS_PER_PAGE = 500


def upgrade() -> None:
    """A column that existing documents leave empty, a table, and fewer connections: those of rulers and dots."""
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    if is_postgresql:
        _lock("documents", "connections")
    op.add_column("documents", sa.Column("answers_folder", sa.Text(), nullable=True))
    op.create_table(
        "replaced_artifacts",
        sa.Column("path", sa.Text(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("replaced_at", UtcDateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name=op.f("fk_replaced_artifacts_org_id_document_id_documents"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_replaced_artifacts")),
    )
    op.create_index("ix_replaced_artifacts_replaced_at", "replaced_artifacts", ["replaced_at"])
    op.create_index("ix_replaced_artifacts_org_id_document_id", "replaced_artifacts", ["org_id", "document_id"])
    if is_postgresql:
        _guard_rows("replaced_artifacts")
    _unlink_what_says_nothing()


def downgrade() -> None:
    """Back to what was there before. Answers in folders of their own are asked for again, where they are needed."""
    if op.get_bind().dialect.name == "postgresql":
        _lock("documents")
    op.drop_table("replaced_artifacts")
    op.drop_column("documents", "answers_folder")


def _lock(*tables: str) -> None:
    """All tables at once, or none: who is at work locks them in orders of his own, and must never wait for this one."""
    bind = op.get_bind()
    for patience in range(_TRIES, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text(f"LOCK TABLE {', '.join(tables)} IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _guard_rows(table: str) -> None:
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY")
    op.execute(f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY")
    op.execute(
        f"CREATE POLICY org ON {table} USING (current_setting('app.scope', true) = 'system' "
        "OR org_id = nullif(current_setting('app.org_id', true), '')::uuid)"
    )


def _unlink_what_says_nothing() -> None:
    """Remove connections between passages that have no letter and no digit: they are all alike, and mean nothing."""
    bind = op.get_bind()
    is_postgresql = bind.dialect.name == "postgresql"
    if is_postgresql:
        # The owner sees no row of an org otherwise: its security holds for everybody.
        bind.execute(sa.text("SELECT set_config('app.scope', 'system', true)"))
    gone = sa.text("DELETE FROM connections WHERE source_chunk_id IN :ids OR target_chunk_id IN :ids")
    for ids in _saying_nothing(bind, "text !~ '[A-Za-z0-9]'" if is_postgresql else "text NOT GLOB '*[A-Za-z0-9]*'"):
        bind.execute(gone.bindparams(sa.bindparam("ids", ids, expanding=True)))
    if is_postgresql:
        bind.execute(sa.text("SELECT set_config('app.scope', '', true)"))


def _saying_nothing(bind: sa.Connection, has_no_ascii: str) -> Iterator[list[object]]:
    """The ids of such passages, page by page. Only Python knows the letters of all scripts."""
    page = "SELECT id, text FROM chunks WHERE {} ORDER BY id LIMIT :limit"
    condition, values = has_no_ascii, {"limit": _ROWS_PER_PAGE}
    while rows := bind.execute(sa.text(page.format(condition)), values).all():
        if ids := [row.id for row in rows if not any(map(str.isalnum, row.text))]:
            yield ids
        condition, values = f"{has_no_ascii} AND id > :after", {"limit": _ROWS_PER_PAGE, "after": rows[-1].id}
