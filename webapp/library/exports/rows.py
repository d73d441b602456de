"""Rows of tables as lines of JSON, the same from both databases and for both.

An org's id is left out, for in its new place a library belongs to another org; so is the org's folder of a blob's path.
"""

import base64
import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, cast
from uuid import UUID

import msgspec
import numpy as np
from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Date,
    Float,
    Integer,
    Select,
    Table,
    Text,
    Uuid,
    select,
)

from webapp.accounts import actors
from webapp.batches import batches
from webapp.db import Base, Embedding, UtcDateTime, session
from webapp.documents.correction_model import Correction
from webapp.documents.model import Artifact, Document, DocumentField, DocumentTable, ProcessingRun, RunEvent
from webapp.documents.name_model import FurtherName
from webapp.documents.page_model import DocumentPage
from webapp.documents.rule_model import Rule, RuleApplication
from webapp.documents.states import RunState
from webapp.documents.tag_model import DocumentTag, Tag
from webapp.documents.view_model import SavedView
from webapp.search.answer_model import AnsweredQuestion, AnswerSource
from webapp.search.model import Chunk, ChunkValue, Connection, QueryEmbedding

_ROWS_AT_ONCE = 500
# The org is another one, and which version indexed the words is found out anew.
_LEFT_OUT = {"org_id", "words_by"}
_BLOB_PATHS = {"blob_path", "opened_path", "answers_folder", "path"}


def _table(model: type[Base]) -> Table:
    return cast(Table, model.__table__)


class DamagedExport(Exception):
    """What was read is no export that was written here, or it was damaged since; the message says where."""


@dataclass(frozen=True)
class ExportedTable:
    """A table whose rows are taken along."""

    table: Table
    order: tuple[str, ...]

    @property
    def name(self) -> str:
        """What it is called in an export."""
        return self.table.name

    def rows(self, *conditions: ColumnElement[bool]) -> Iterator[dict[str, Any]]:
        """The rows that fulfil these conditions, as JSON has them, in a stable order; some in memory at a time."""
        columns = [column for column in self.table.c if column.name not in _LEFT_OUT]
        asked: Select[Any] = select(*columns).where(*conditions).order_by(*(self.table.c[name] for name in self.order))
        for row in session().execute(asked.execution_options(yield_per=_ROWS_AT_ONCE)).mappings():
            yield {name: _plain(name, value) for name, value in row.items() if value is not None}

    def row(self, found: Any, org_id: UUID) -> dict[str, Any]:
        """A row for this org, of what an export says; DamagedExport where that can't be."""
        if not isinstance(found, dict) or found.keys() - ({*self.table.c.keys()} - _LEFT_OUT):
            raise DamagedExport(f"{self.name} has rows that this version does not know")
        values: dict[str, Any] = dict.fromkeys((c.name for c in self.table.c if c.name not in _LEFT_OUT), None)
        for name, value in found.items():
            values[name] = self._value(name, value, org_id)
        return {**values, "org_id": org_id}

    def _value(self, name: str, value: Any, org_id: UUID) -> Any:
        try:
            read = _read(self.table.c[name], value)
        except (ValueError, TypeError, OverflowError, msgspec.ValidationError) as error:
            raise DamagedExport(f"{self.name}.{name} has a value of another kind") from error
        return f"{org_id}/{read}" if name in _BLOB_PATHS else read


_DOCUMENTS = ExportedTable(_table(Document), ("id",))
TAGS = ExportedTable(_table(Tag), ("id",))
_RUNS = ExportedTable(_table(ProcessingRun), ("created_at", "id"))
_OF_DOCUMENT = (
    ExportedTable(_table(RunEvent), ("id",)),
    ExportedTable(_table(DocumentField), ("ordinal",)),
    ExportedTable(_table(DocumentTable), ("ordinal",)),
    ExportedTable(_table(DocumentPage), ("number",)),
    ExportedTable(_table(Correction), ("id",)),
    ExportedTable(_table(Artifact), ("kind",)),
    ExportedTable(_table(Chunk), ("ordinal",)),
    ExportedTable(_table(ChunkValue), ("chunk_id", "value")),
    ExportedTable(_table(DocumentTag), ("tag_id",)),
    ExportedTable(_table(FurtherName), ("filename", "folder")),
)
_VIEWS = ExportedTable(_table(SavedView), ("position", "id"))
_RULES = ExportedTable(_table(Rule), ("id",))
_APPLICATIONS = ExportedTable(_table(RuleApplication), ("rule_id", "document_id"))
CONNECTIONS = ExportedTable(_table(Connection), ("source_chunk_id", "target_chunk_id", "kind"))
_ANSWERS = ExportedTable(_table(AnsweredQuestion), ("key",))
KEPT = (
    ExportedTable(_table(AnswerSource), ("key", "number")),
    ExportedTable(_table(QueryEmbedding), ("model", "query_sha256")),
)
_BESIDE_DOCUMENTS = (TAGS, _VIEWS, _RULES, _APPLICATIONS, _ANSWERS, *KEPT)
BY_NAME: Mapping[str, ExportedTable] = {
    each.name: each for each in (_DOCUMENTS, _RUNS, *_OF_DOCUMENT, CONNECTIONS, *_BESIDE_DOCUMENTS)
}
OF_ORG = frozenset(each.name for each in _BESIDE_DOCUMENTS)
"""What `of_org` gives."""
NOT_TAKEN_ALONG: Mapping[str, str] = {
    "share_links": "whom a document is shown to is decided in each place anew, and the secrets are known to nobody",
    **dict.fromkeys(("orgs", "org_usage"), "a library is read into another org, which counts what it takes by itself"),
    **dict.fromkeys(
        ("users", "user_sessions", "sign_in_links", "api_tokens", "sign_in_counts"),
        "people and programs sign in to an installation",
    ),
    **dict.fromkeys(
        ("rate_buckets", "agreed_values", "idempotency_keys", "workers", "stage_controls", "document_processing_jobs"),
        "how an installation works at this moment",
    ),
    **dict.fromkeys(
        ("incidents", "stats_minute", "stats_hour", "stats_day", "stats_progress"), "how an installation has worked"
    ),
    **dict.fromkeys(
        ("provider_calls", "spending_days", "call_reservations"), "what an installation has paid, and may still pay"
    ),
    **dict.fromkeys(("document_words", "embedding_cache"), "made anew of the documents"),
    **dict.fromkeys(("operations", "operation_items"), "what undoes a change fits the library that was changed"),
    **dict.fromkeys(("tag_changes", "tag_change_documents"), "what undoes a change fits the library that was changed"),
    **dict.fromkeys(
        ("sources", "source_items"),
        "folders and servers are those of one installation, secrets are sealed with its key, and elsewhere they would "
        "be polled a second time",
    ),
    **dict.fromkeys(
        ("webhooks", "webhook_deliveries"), "an installation speaks to the servers of others, with its own secrets"
    ),
    "replaced_artifacts": "files that go within a day",
    "audit_log": "the security log of an installation",
}
"""The tables that are left out, each with the reason."""
_WITH_NAMES = (Correction.__tablename__, RunEvent.__tablename__)
SOMEBODY = "somebody who left"
"""Who acted, where nobody knows the name any more."""
_LIVE = (RunState.QUEUED, RunState.RUNNING)

Line = tuple[str, dict[str, Any]]


def of_document(org_id: UUID, document_id: UUID) -> Iterator[Line]:
    """All rows about a document but for its connections, in an order in which they can be added.

    Work that is not finished is left out: where the document is read in, it is begun anew.
    """
    d, runs, tags = _DOCUMENTS.table.c, _RUNS.table.c, _table(DocumentTag).c
    yield from _lines(_DOCUMENTS, d.org_id == org_id, d.id == document_id)
    of_it = select(tags.tag_id).where(tags.org_id == org_id, tags.document_id == document_id)
    yield from _lines(TAGS, TAGS.table.c.org_id == org_id, TAGS.table.c.id.in_(of_it))
    ended = runs.org_id == org_id, runs.document_id == document_id, runs.state.not_in(_LIVE)
    yield from _lines(_RUNS, *ended)
    for each in _OF_DOCUMENT:
        conditions = [each.table.c.org_id == org_id, each.table.c.document_id == document_id]
        if each.name == RunEvent.__tablename__:
            conditions.append(each.table.c.run_id.in_(select(runs.id).where(*ended)))
        yield from _named(org_id, _lines(each, *conditions)) if each.name in _WITH_NAMES else _lines(each, *conditions)


def _named(org_id: UUID, lines: Iterator[Line]) -> Iterator[Line]:
    """The same rows with the names of those who acted: their ids mean nothing elsewhere."""
    for part in batches(lines, _ROWS_AT_ONCE):
        places = [row if "by" in row else row.get("details") or {} for _, row in part]
        known = actors.names(org_id, [str(place["by"]) for place in places if "by" in place])
        for line, place in zip(part, places, strict=True):
            if place.get("by"):
                place["by"] = known.get(str(place["by"]), SOMEBODY)
            yield line


def connections_of(org_id: UUID, document_id: UUID) -> Iterator[Line]:
    """The connections that a document has found."""
    chunks, found = _table(Chunk).c, CONNECTIONS.table.c
    own = select(chunks.id).where(chunks.org_id == org_id, chunks.document_id == document_id)
    yield from _lines(CONNECTIONS, found.org_id == org_id, found.source_chunk_id.in_(own))


def of_org(org_id: UUID) -> Iterator[Line]:
    """What an org has beside its documents: other tags, views, rules, answers to questions, vectors of searches.

    The views that are private to a person stay with that person.
    """
    yield from _lines(TAGS, TAGS.table.c.org_id == org_id)
    views = _VIEWS.table.c
    of_all = views.org_id == org_id, views.private_to.is_(None)
    yield from _lines(_VIEWS, *of_all)
    rules, applications = _RULES.table.c, _APPLICATIONS.table.c
    with_view = rules.org_id == org_id, rules.view_id.in_(select(views.id).where(*of_all))
    yield from _lines(_RULES, *with_view)
    of_rules = applications.rule_id.in_(select(rules.id).where(*with_view))
    yield from _lines(_APPLICATIONS, applications.org_id == org_id, of_rules)
    yield from _lines(_ANSWERS, _ANSWERS.table.c.org_id == org_id, _ANSWERS.table.c.state == "DONE")
    done = select(_ANSWERS.table.c.key).where(_ANSWERS.table.c.org_id == org_id, _ANSWERS.table.c.state == "DONE")
    for each in KEPT:
        conditions = [each.table.c.org_id == org_id]
        if each.name == AnswerSource.__tablename__:
            conditions.append(each.table.c.key.in_(done))
        yield from _lines(each, *conditions)


def _lines(table: ExportedTable, *conditions: ColumnElement[bool]) -> Iterator[Line]:
    for row in table.rows(*conditions):
        yield table.name, row


def line_of(line: Line) -> bytes:
    """A row as a line of a file."""
    return json.dumps({"table": line[0], "row": line[1]}, ensure_ascii=False).encode() + b"\n"


def read_line(data: bytes) -> Line:
    """What `line_of` has written; DamagedExport for anything else."""
    try:
        found = json.loads(data)
        name, row = found["table"], found["row"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise DamagedExport("a line is no row") from error
    if name not in BY_NAME or not isinstance(row, dict):
        raise DamagedExport(f"there is no table {str(name)[:60]!r}")
    return name, row


def _plain(name: str, value: Any) -> Any:
    if name in _BLOB_PATHS:
        return str(value).partition("/")[2]
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, np.ndarray):
        return base64.b64encode(np.asarray(value, "<f4").tobytes()).decode()
    return value


def _read(column: Column[Any], value: Any) -> Any:
    """A value for this column; ValueError, TypeError or ValidationError where it is of another type."""
    for type_, read in _READERS.items():
        if isinstance(column.type, type_):
            return read(value)
    return msgspec.convert(value, _SHAPES[column.name])


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _whole(bits: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError
        if not -(1 << bits) <= value < 1 << bits:
            raise ValueError
        return value

    return read


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return value


def _vector(value: Any) -> Any:
    vector = np.frombuffer(base64.b64decode(_text(value), validate=True), "<f4")
    if not len(vector) or not np.isfinite(vector).all():
        raise ValueError
    return vector


def _moment(value: Any) -> datetime:
    moment = datetime.fromisoformat(_text(value))
    if moment.tzinfo is None:
        raise ValueError
    return moment.astimezone(UTC)


def _text(value: Any) -> str:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError
    value.encode()
    return value


# In this order: what is looked for first is the most precise.
_READERS: Mapping[type, Any] = {
    Uuid: lambda value: UUID(_text(value)),
    UtcDateTime: _moment,
    Embedding: _vector,
    Date: lambda value: date.fromisoformat(_text(value)),
    Boolean: _flag,
    BigInteger: _whole(63),
    Integer: _whole(31),
    Float: _number,
    Text: _text,
}
# What pages expect of columns that hold JSON.
_SHAPES: Mapping[str, Any] = {
    "found": dict[str, Any],
    "details": dict[str, Any],
    "warnings": list[str],
    "polygon": list[float],
    "tags": list[str],
    "rows": list[list[str]],
    "columns": list[str],
    "values": list[list[Any]],
    "neighbours": list[Any],
    "sentences": list[Any],
}
