"""Tags have colors and lie in each other; what was changed of them can be undone.

Revision ID: 0034
Revises: 0033
Create Date: 2026-11-20
"""

from uuid import UUID

import sqlalchemy as sa
from alembic import op

from webapp.db import Json, UtcDateTime

revision = "0034"
down_revision = "0033"
branch_labels = None
depends_on = None

_TABLES = ("tag_changes", "tag_change_documents")
_COLOR = "CONSTRAINT ck_tags_color CHECK (color IN ('blue', 'yellow', 'green', 'brown', 'red', 'purple'))"


def upgrade() -> None:
    """An empty column, and two new, empty tables. A slash in a name has no spaces around it any more."""
    op.execute(f"ALTER TABLE tags ADD COLUMN color TEXT {_COLOR}")
    _create_changes()
    if op.get_bind().dialect.name == "postgresql":
        for table in _TABLES:
            for statement in _SECURITY:
                op.execute(statement.format(table=table))
        op.execute("SELECT set_config('app.scope', 'system', true)")
    _tidy_names()


def downgrade() -> None:
    """Back to what was there before; colors are lost, and what could be undone."""
    for table in reversed(_TABLES):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE tags DROP CONSTRAINT ck_tags_color")
        op.execute("ALTER TABLE tags DROP COLUMN color")
        return
    with op.batch_alter_table("tags") as batch:
        batch.drop_constraint(op.f("ck_tags_color"), type_="check")
        batch.drop_column("color")


def _create_changes() -> None:
    op.create_table(
        "tag_changes",
        sa.Column("id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("new_name", sa.Text(), nullable=True),
        sa.Column("before", Json, nullable=False),
        sa.Column("by", sa.Text(), nullable=False),
        sa.Column("created_at", UtcDateTime(), nullable=False),
        sa.Column("undone_at", UtcDateTime(), nullable=True),
        sa.CheckConstraint("action IN ('rename', 'merge', 'color', 'delete')", name="action"),
        sa.ForeignKeyConstraint(["org_id"], ["orgs.id"], name="fk_tag_changes_org_id_orgs", ondelete="CASCADE"),
        sa.PrimaryKeyConstraint("id", name="pk_tag_changes"),
        sa.UniqueConstraint("org_id", "id", name="uq_tag_changes_org_id_id"),
    )
    op.create_table(
        "tag_change_documents",
        sa.Column("change_id", sa.Uuid(), nullable=False),
        sa.Column("tag_id", sa.Uuid(), nullable=False),
        sa.Column("document_id", sa.Uuid(), nullable=False),
        sa.Column("org_id", sa.Uuid(), nullable=False),
        sa.Column("is_added", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(
            ["org_id", "change_id"],
            ["tag_changes.org_id", "tag_changes.id"],
            name="fk_tag_change_documents_org_id_tag_changes",
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["org_id", "document_id"],
            ["documents.org_id", "documents.id"],
            name="fk_tag_change_documents_org_id_documents",
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("change_id", "tag_id", "document_id", name="pk_tag_change_documents"),
    )
    op.create_index("ix_tag_change_documents_org_id_document_id", "tag_change_documents", ["org_id", "document_id"])


def _tidy_names() -> None:
    """Where another tag has the tidy name already, its documents are those of both."""
    bind = op.get_bind()
    rows = bind.execute(_TAGS.where(_tags.c.name.contains("/"))).all()
    for row in rows:
        name, word = _tidy(row.name), _tidy(row.word)
        if word == row.word and name == row.name:
            continue
        own = _tags.c.org_id == row.org_id
        other: UUID | None = bind.execute(
            sa.select(_tags.c.id).where(own, _tags.c.word == word, _tags.c.id != row.id)
        ).scalar_one_or_none()
        if other is None:
            bind.execute(sa.update(_tags).where(_tags.c.id == row.id).values(name=name, word=word))
            continue
        dt = _document_tags.c
        has_both = sa.select(dt.document_id).where(dt.tag_id == other)
        bind.execute(
            sa.update(_document_tags)
            .where(dt.org_id == row.org_id, dt.tag_id == row.id, dt.document_id.not_in(has_both))
            .values(tag_id=other)
        )
        bind.execute(sa.delete(_document_tags).where(dt.org_id == row.org_id, dt.tag_id == row.id))
        bind.execute(sa.delete(_tags).where(_tags.c.id == row.id))


def _tidy(name: str) -> str:
    # A name of slashes alone stays what it is: it can be renamed or deleted.
    return "/".join(part.strip() for part in name.split("/") if part.strip()) or name


_tags = sa.table(
    "tags", sa.column("id", sa.Uuid()), sa.column("org_id", sa.Uuid()), sa.column("name"), sa.column("word")
)
_document_tags = sa.table(
    "document_tags", sa.column("document_id", sa.Uuid()), sa.column("org_id", sa.Uuid()), sa.column("tag_id", sa.Uuid())
)
_TAGS = sa.select(_tags.c.id, _tags.c.org_id, _tags.c.name, _tags.c.word)
_SECURITY = (
    "ALTER TABLE {table} ENABLE ROW LEVEL SECURITY",
    "ALTER TABLE {table} FORCE ROW LEVEL SECURITY",
    """
    CREATE POLICY org ON {table} USING (
        current_setting('app.scope', true) = 'system'
        OR org_id = nullif(current_setting('app.org_id', true), '')::uuid
    )
    """,
)
