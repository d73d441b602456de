"""A row in every table that a database has, whatever revision its tables are at."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa

from webapp.clock import new_id
from webapp.db import Base, Embedding, UtcDateTime

_ONE, _OTHER = new_id(), new_id()
# All rows refer to each other by one id. What is not listed here gets a value of its type.
_VALUES: dict[str, Any] = {
    "documents.status": "PROCESSING",
    "documents.sha256": "a" * 64,
    "user_sessions.via": "password",
    "users.role": "ops",
    "api_tokens.role": "ops",
    "api_tokens.scope": "ops",
    "audit_log.actor_kind": "user",
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
    sa.JSON: {},
    UtcDateTime: datetime(2026, 1, 1, tzinfo=UTC),
    Embedding: [0.5],
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
