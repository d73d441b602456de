"""Documents may be parts of a container: an archive, a mail, a PDF with files in it.

Revision ID: 0021
Revises: 0020
Create Date: 2026-11-19
"""

import time

import sqlalchemy as sa
from alembic import op
from sqlalchemy.exc import OperationalError

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None

_TRIES, _PAUSE_SECONDS = 150, 0.1
_IS_PART, _IS_UPLOADED = "parent_id IS NOT NULL", "parent_id IS NULL"
_OLD_RULE = "uq_documents_org_id_sha256"
_PAGES_READ = "ck_documents_pages_read"
_CHECK, _PARENT = "ck_documents_part", "fk_documents_org_id_parent_id_documents"
_PART = "(parent_id IS NULL) = (part_number IS NULL) AND (parent_id IS NULL) = (path_in_parent IS NULL)"


def upgrade() -> None:
    """Columns that are empty in all rows; the same bytes are one document only among those that were uploaded."""
    _lock_documents()
    # SQLite makes the table anew: nothing else takes a rule away.
    with op.batch_alter_table("documents") as batch:
        batch.drop_constraint(op.f(_OLD_RULE), type_="unique")
        batch.add_column(sa.Column("parent_id", sa.Uuid(), nullable=True))
        batch.add_column(sa.Column("part_number", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("path_in_parent", sa.Text(), nullable=True))
        batch.create_check_constraint(op.f(_CHECK), _PART)
        batch.create_foreign_key(
            op.f(_PARENT), "documents", ["org_id", "parent_id"], ["org_id", "id"], ondelete="CASCADE"
        )
    _create_index("uq_documents_uploaded_contents", ["org_id", "sha256"], _IS_UPLOADED, unique=True)
    _create_index("ix_documents_contents_of_parts", ["org_id", "sha256"], _IS_PART)
    _create_index("uq_documents_parts", ["parent_id", "part_number"], _IS_PART, unique=True)


def downgrade() -> None:
    """Back to what was there before: earlier versions know no parts, and two documents may not have the same bytes."""
    _lock_documents()
    if op.get_bind().dialect.name == "postgresql":
        # Row-level security holds for the owner, too: without this it would see no row.
        op.execute("SELECT set_config('app.scope', 'system', true)")
    _refuse_parts()
    for name in ("uq_documents_parts", "ix_documents_contents_of_parts", "uq_documents_uploaded_contents"):
        op.drop_index(name, "documents")
    # Where the table is made anew, this rule would become one of the table, and 0011 could not take its column away.
    of_column = sa.CheckConstraint("pages_read >= 0", name=op.f(_PAGES_READ))
    pages_read = sa.Column("pages_read", sa.Integer(), of_column)
    with op.batch_alter_table("documents", reflect_args=(pages_read,)) as batch:
        if op.get_bind().dialect.name == "sqlite":
            batch.drop_constraint(op.f(_PAGES_READ), type_="check")
        batch.drop_constraint(op.f(_PARENT), type_="foreignkey")
        batch.drop_constraint(op.f(_CHECK), type_="check")
        for column in ("path_in_parent", "part_number", "parent_id"):
            batch.drop_column(column)
        batch.create_unique_constraint(op.f(_OLD_RULE), ["org_id", "sha256"])


def _refuse_parts() -> None:
    """Parts are people's documents: a downgrade does not delete them by the way."""
    found = op.get_bind().execute(sa.text(f"SELECT count(*) FROM documents WHERE {_IS_PART}")).scalar_one()
    if found:
        raise RuntimeError(f"{found} documents are parts of containers, which the earlier version does not know")


def _create_index(name: str, columns: list[str], where: str, *, unique: bool = False) -> None:
    condition = sa.text(where)
    op.create_index(name, "documents", columns, unique=unique, postgresql_where=condition, sqlite_where=condition)


def _lock_documents() -> None:
    """At once or not yet: pages and workers must never wait behind a migration that waits itself."""
    bind = op.get_bind()
    for patience in range(_TRIES if bind.dialect.name == "postgresql" else 0, 0, -1):
        try:
            with bind.begin_nested():
                bind.execute(sa.text("LOCK TABLE documents IN ACCESS EXCLUSIVE MODE NOWAIT"))
        except OperationalError:
            if patience == 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
