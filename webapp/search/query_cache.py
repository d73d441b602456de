"""The cache of query vectors, by org and model: the SEARCHES_KEPT that were used last.

They are rows, so that a restart and other processes know them too. Of a question only its hash is kept, and row-level
security keeps orgs apart: nobody can find out what another org searches for.
"""

from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, delete, func, select, tuple_, update
from sqlalchemy.dialects import postgresql

from webapp.clock import after, now
from webapp.db import session
from webapp.search.model import QueryEmbedding
from webapp.search.vector_cache import Vector

_rows = cast(Table, QueryEmbedding.__table__)
# A query that comes all day long is marked as used once in a while, not each time.
_USED_EVERY_SECONDS = 3600.0


def find(org_id: UUID, model: str, sha256: str) -> Vector | None:
    """The vector of a query, if the org searched for it lately."""
    found: Vector | None = session().scalar(select(_rows.c.embedding).where(*_key(org_id, model, sha256)))
    return found


def mark_used(org_id: UUID, model: str, sha256: str) -> None:
    """Mark a query as used now, so that it is kept longer."""
    is_due = _rows.c.used_at < after(-_USED_EVERY_SECONDS)
    session().execute(update(_rows).where(*_key(org_id, model, sha256), is_due).values(used_at=now()))


def save(org_id: UUID, model: str, sha256: str, vector: Vector, *, kept: int) -> None:
    """Store a query's vector, and delete those beyond the newest `kept`."""
    row = {"org_id": org_id, "model": model, "query_sha256": sha256, "embedding": vector}
    session().execute(postgresql.insert(_rows).values(used_at=now()).on_conflict_do_nothing(), [row])
    of_org, question = _rows.c.org_id == org_id, (_rows.c.model, _rows.c.query_sha256)
    newest_first = (_rows.c.used_at.desc(), *question)
    beyond = select(*question).where(of_org).order_by(*newest_first).offset(kept)
    session().execute(delete(_rows).where(of_org, tuple_(*question).in_(beyond)))


def count(org_id: UUID) -> int:
    """How many vectors of an org are stored."""
    return session().scalar(select(func.count()).select_from(_rows).where(_rows.c.org_id == org_id)) or 0


def _key(org_id: UUID, model: str, sha256: str) -> tuple[ColumnElement[bool], ...]:
    return (_rows.c.org_id == org_id, _rows.c.model == model, _rows.c.query_sha256 == sha256)
