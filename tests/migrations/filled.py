"""Rows for databases whose tables are at any revision."""

from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa

from webapp.clock import new_id
from webapp.db import Base, Embedding, UtcDateTime

_ONE, _OTHER = new_id(), new_id()
# All rows refer to each other by one id. What is not listed here gets a value of its type.
_VALUES: dict[str, Any] = {
    "documents.status": "PROCESSING",
    "documents.parent_id": None,
    "documents.part_number": None,
    "documents.path_in_parent": None,
    "documents.sha256": "a" * 64,
    "documents.deleted_at": None,
    "documents.deleted_by": None,
    "documents.deleted_with": None,
    "user_sessions.via": "password",
    "sign_in_links.purpose": "password",
    "users.role": "ops",
    "api_tokens.role": "ops",
    "api_tokens.scope": "ops",
    "audit_log.actor_kind": "user",
    "documents.reading": "in_part",
    "document_pages.reading": "well",
    "document_pages.reason": None,
    "answers.state": "DONE",
    "corrections.target": "cell",
    "corrections.verdict": "value",
    "idempotency_keys.status": 202,
    "documents.found": None,
    "document_fields.check_order": -1.0,
    "processing_runs.state": "QUEUED",
    "processing_runs.trigger": "UPLOAD",
    "processing_runs.started_at": None,
    "processing_runs.finished_at": None,
    "processing_runs.failure_type": None,
    "provider_calls.outcome": "ok",
    "document_processing_jobs.status": "PENDING",
    "document_processing_jobs.lease_id": None,
    "document_processing_jobs.locked_by": None,
    "document_processing_jobs.completed_at": None,
    "document_processing_jobs.operation_id": None,
    "tags.color": None,
    "tag_changes.action": "rename",
    "saved_views.sort": "newest",
    "share_links.view_id": None,
    "webhooks.secret": b"sealed",
    "webhooks.earlier_until": None,
    "webhook_deliveries.state": "DELIVERED",
    "operations.action": "tag",
    "operations.state": "SUCCEEDED",
    "sources.kind": "folder",
    "sources.after_taking": "leave",
    "sources.interval_seconds": 60,
    "sources.lease_id": None,
    "sources.lease_by": None,
    "sources.lease_until": None,
    "source_items.state": "waiting",
    "source_items.document_id": None,
    "source_items.ended_at": None,
    "document_processing_jobs.resolution": None,
    "document_processing_jobs.resolved_at": None,
    "connections.kind": "similar",
    "connections.target_chunk_id": _OTHER,
}
_BY_TYPE: dict[type[Any], Any] = {
    sa.Uuid: _ONE,
    sa.Text: "a",
    sa.Integer: 1,
    sa.BigInteger: 1,
    sa.Float: 0.5,
    sa.Boolean: True,
    sa.Date: date(2026, 1, 1),
    sa.JSON: {},
    UtcDateTime: datetime(2026, 1, 1, tzinfo=UTC),
    Embedding: [0.5],
    # A sealed password, of which rows of ended jobs have none.
    sa.LargeBinary: None,
}


class Filled:
    """The tables that are there now, and their columns, as they may be written and read."""

    def __init__(self, connection: sa.Connection) -> None:
        there = sa.inspect(connection)
        names = set(there.get_table_names())
        # Before 0004 a line of the ledger referred to its run, which models no longer say.
        models = sorted(Base.metadata.sorted_tables, key=lambda model: model.name == "provider_calls")
        self._tables = [
            _table(model, {column["name"] for column in there.get_columns(model.name)})
            for model in models
            if model.name in names
        ]

    def fill(self, connection: sa.Connection) -> None:
        """Add a row to each; and a second passage, for connections have two ends."""
        for table in self._tables:
            row = {column.name: _value(column) for column in table.columns}
            connection.execute(table.insert().values(row))
            if table.name == "chunks":
                connection.execute(table.insert().values({**row, "id": _OTHER, "ordinal": 2}))

    def rows(self, connection: sa.Connection) -> dict[str, list[tuple[Any, ...]]]:
        """All rows by table: the columns that were there at first and are still known to the models."""
        found = {}
        for table in self._tables:
            known = Base.metadata.tables[table.name].columns
            columns = [column for column in table.columns if column.name in known]
            found[table.name] = sorted((tuple(row) for row in connection.execute(sa.select(*columns))), key=str)
        return found


def _table(model: sa.Table, names: set[str]) -> sa.Table:
    """With the model's types. What no model knows is text, but for `words`, which PostgreSQL writes by itself."""
    kinds = {name: model.columns[name].type if name in model.columns else sa.Text() for name in names - {"words"}}
    return sa.Table(model.name, sa.MetaData(), *(sa.Column(name, kind) for name, kind in sorted(kinds.items())))


def _value(column: sa.Column[Any]) -> Any:
    name = f"{column.table.name}.{column.name}"
    if name in _VALUES:
        return _VALUES[name]
    return next(value for kind, value in _BY_TYPE.items() if isinstance(column.type, kind))


def fill_document(connection: sa.Connection) -> str:
    """An org, a document and a run that waits, all of one id, which is returned."""
    one = new_id().hex
    for statement in _DOCUMENT:
        connection.exec_driver_sql(statement.format(id=one, hash=one * 2, now=_NOW))
    return one


def fill_job(connection: sa.Connection, run_id: str, stage: str, status: str = "PENDING") -> None:
    """A job of that run."""
    is_held, is_live = status == "PROCESSING", status in {"PENDING", "PROCESSING"}
    values = {
        "held": _NOW if is_held else "NULL",
        "ended": "NULL" if is_live else _NOW,
        "worker": "'a'" if is_held else "NULL",
        "lease": f"'{run_id}'" if is_held else "NULL",
    }
    names = {"job": new_id().hex, "id": run_id, "stage": stage, "status": status, "now": _NOW}
    connection.exec_driver_sql(_JOB.format(**names, **values))


def fill_states(connection: sa.Connection) -> None:
    """Also runs and jobs in each state that a row may be in."""
    one = fill_document(connection)
    for state in ("RUNNING", "SUCCEEDED", "TIMED_OUT", "FAILED", "CANCELLED"):
        values = {
            "started": _NOW if state != "FAILED" else "NULL",
            "finished": _NOW if state != "RUNNING" else "NULL",
            "failure": "'CANCELLED'" if state in {"FAILED", "CANCELLED"} else "NULL",
        }
        connection.exec_driver_sql(_RUN.format(run=new_id().hex, id=one, state=state, now=_NOW, **values))
    for status in ("PROCESSING", "COMPLETED", "COMPLETED", "FAILED", "CANCELLED"):
        fill_job(connection, one, "a", status)
    fill_job(connection, one, "b")


_NOW = "CURRENT_TIMESTAMP"
_DOCUMENT = (
    "INSERT INTO orgs (id, name, created_at) VALUES ('{id}', 'a', {now})",
    """
    INSERT INTO documents (id, org_id, filename, content_type, size_bytes, sha256, blob_path, status, created_at,
        updated_at) VALUES ('{id}', '{id}', 'a', 'text/plain', 1, '{hash}', 'a', 'PROCESSING', {now}, {now})
    """,
    """
    INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at)
    VALUES ('{id}', '{id}', '{id}', 'QUEUED', 'UPLOAD', {now})
    """,
)
_RUN = """
INSERT INTO processing_runs (id, org_id, document_id, state, trigger, created_at, started_at, finished_at, failure_type)
VALUES ('{run}', '{id}', '{id}', '{state}', 'RETRY', {now}, {started}, {finished}, {failure})
"""
_JOB = """
INSERT INTO document_processing_jobs (id, org_id, document_id, run_id, stage, status, priority, payload, checkpoint,
    attempts, max_attempts, available_at, created_at, started_at, heartbeat_at, completed_at, locked_by, lease_id,
    error_log, updated_at)
VALUES ('{job}', '{id}', '{id}', '{id}', '{stage}', '{status}', 0, '{{}}', '{{}}', 0, 1, {now}, {now}, {held}, {held},
    {ended}, {worker}, {lease}, '[]', {now})
"""
