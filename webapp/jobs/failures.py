"""Failures: the failed jobs of an org, grouped by their error, and what becomes of them.

A failure is open until it is resolved (`Resolution`). Its row stays whatever becomes of it: it is history.
Each function joins the transaction that its caller has open.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from uuid import UUID

from sqlalchemy import (
    ColumnElement,
    Select,
    Table,
    Text,
    TextClause,
    Uuid,
    bindparam,
    literal,
    literal_column,
    null,
    select,
    text,
    union_all,
    update,
)

from webapp.batches import batches
from webapp.clock import now
from webapp.db import session
from webapp.db.bounded import Count, distinct_values, plan_by_indexes, up_to_most
from webapp.documents.model import ProcessingRun
from webapp.jobs import model
from webapp.jobs.statements import STAGES_MAX, jobs, stages_of
from webapp.jobs.states import Resolution

_runs = cast(Table, ProcessingRun.__table__)
_open, _resolved = text(model.OPEN_FAILURE), text(model.RESOLVED_FAILURE)
_org = jobs.c.org_id == bindparam("org", type_=Uuid())
_NEWEST = UUID(int=2**128 - 1)
# Far more than there are codes of errors.
GROUPS_MAX = 200
BY_BIN = "the bin"
_IDS_PER_STATEMENT = 500


@dataclass(frozen=True)
class ErrorGroup:
    """The open failures of one stage with one error."""

    stage: str
    code: str
    count: Count


@dataclass(frozen=True)
class FailureFilter:
    """Which failures are meant: the open ones, or those with this resolution; of a stage, with an error, by id."""

    resolution: Resolution | None = None
    stage: str | None = None
    code: str | None = None
    ids: Sequence[UUID] | None = field(default=None, repr=False)

    def conditions(self) -> list[ColumnElement[bool] | TextClause]:
        """These, as conditions of a statement about an org's jobs."""
        found: list[ColumnElement[bool] | TextClause] = [_org]
        found.append(_open if self.resolution is None else _resolved)
        if self.resolution is not None:
            found.append(jobs.c.resolution == self.resolution)
        if self.stage is not None:
            found.append(jobs.c.stage == self.stage)
        if self.code is not None:
            found.append(jobs.c.error_code == self.code)
        if self.ids is not None:
            found.append(jobs.c.id.in_(self.ids))
        return found


def groups(org_id: UUID) -> list[ErrorGroup]:
    """An org's open failures by stage and error: each group is one range of an index, counted as far as pages count."""
    plan_by_indexes()
    connection, org = session().connection(), {"org": org_id}
    stages = connection.scalars(stages_of(_open), org).all()[:STAGES_MAX]
    if not stages:
        return []
    codes = connection.execute(union_all(*(_codes_of(stage) for stage in stages)), org)
    found = [(row.stage, row.code) for row in codes][:GROUPS_MAX]
    counted = connection.execute(union_all(*(_counted(place, *each) for place, each in enumerate(found))), org)
    return [ErrorGroup(found[row.place][0], found[row.place][1], Count.of(row.number)) for row in counted]


def _codes_of(stage: str) -> Select[Any]:
    codes = distinct_values(jobs.c.error_code, _org, _open, jobs.c.stage == stage).c.value
    return select(literal(stage, Text()).label("stage"), codes.label("code")).where(codes.is_not(None))


def _counted(place: int, stage: str, code: str) -> Select[Any]:
    rows = select(jobs.c.id).where(*FailureFilter(stage=stage, code=code).conditions())
    here: ColumnElement[int] = literal_column(str(place))
    counted: Any = select(here.label("place"), up_to_most(rows).label("number"))
    return cast(Select[Any], counted)


def page(org_id: UUID, wanted: FailureFilter, *, before: UUID | None = None, limit: int) -> list[UUID]:
    """The ids of failures, newest first; `before` is the last id of the page before.

    Of each range of the index as many as a page has, so that only these have to be sorted.
    """
    plan_by_indexes()
    connection, org = session().connection(), {"org": org_id}
    pieces = [wanted]
    if wanted.resolution is None and wanted.stage is None and wanted.ids is None:
        stages = connection.scalars(stages_of(_open), org).all()
        pieces = [FailureFilter(stage=stage, code=wanted.code) for stage in stages[:STAGES_MAX]]
    if not pieces:
        return []
    most: ColumnElement[int] = literal_column(str(limit))
    newest = (_newest(piece, before or _NEWEST, most).subquery() for piece in pieces)
    ids = union_all(*(select(part.c.id) for part in newest)).subquery()
    return list(connection.scalars(select(ids.c.id).order_by(ids.c.id.desc()).limit(most), org))


def _newest(piece: FailureFilter, before: UUID, most: ColumnElement[int]) -> Select[Any]:
    rows = select(jobs.c.id).where(*piece.conditions(), jobs.c.id < before)
    return rows.order_by(jobs.c.id.desc()).limit(most)


def resolved_counts(org_id: UUID) -> dict[Resolution, Count]:
    """How many failures have each resolution, counted as far as pages count."""
    counted = (up_to_most(select(jobs.c.id).where(*FailureFilter(one).conditions())) for one in Resolution)
    found = session().connection().execute(select(*counted), {"org": org_id}).one()
    return {one: Count.of(number) for one, number in zip(Resolution, found, strict=True)}


def supersede(document_id: UUID, newest_run: UUID) -> None:
    """Resolve the open failures of a document's earlier runs: only those of its newest run can still be retried."""
    session().connection().execute(_SUPERSEDE, {"document": document_id, "newest": newest_run})


def mark_retried(job_id: UUID, by: str) -> None:
    """Resolve a failure because somebody asked for its job again, whatever resolved it before."""
    session().connection().execute(_MARK_RETRIED, {"job": job_id, "to_by": by})


def set_aside(document_ids: Collection[UUID]) -> None:
    """Discard the open failures of documents that go into the bin."""
    values = {"resolution": Resolution.DISCARDED, "resolved_at": now(), "resolved_by": BY_BIN}
    _change_of_documents(document_ids, [_open], values)


def take_up(document_ids: Collection[UUID]) -> None:
    """Open the failures again that were discarded when these documents went into the bin."""
    values: dict[str, Any] = {"resolution": null(), "resolved_at": null(), "resolved_by": null()}
    _change_of_documents(document_ids, [_resolved, jobs.c.resolved_by == BY_BIN], values)


def _change_of_documents(
    document_ids: Collection[UUID], which: Sequence[ColumnElement[bool] | TextClause], values: Mapping[str, Any]
) -> None:
    for part in batches(sorted(document_ids), _IDS_PER_STATEMENT):
        of_them = select(_runs.c.id).where(_runs.c.document_id.in_(part))
        session().connection().execute(update(jobs).where(jobs.c.run_id.in_(of_them), *which).values(**values))


def discard(org_id: UUID, wanted: FailureFilter, by: str, *, limit: int) -> list[UUID]:
    """Resolve open failures as discarded, the oldest first; returns their ids."""
    return _change(org_id, wanted, limit, resolution=Resolution.DISCARDED, resolved_at=now(), resolved_by=by)


def reopen(org_id: UUID, ids: Sequence[UUID]) -> list[UUID]:
    """Open discarded failures again; returns the ids of those that were discarded."""
    wanted = FailureFilter(Resolution.DISCARDED, ids=ids)
    return _change(org_id, wanted, len(ids), resolution=null(), resolved_at=null(), resolved_by=null())


def _change(org_id: UUID, wanted: FailureFilter, limit: int, **values: Any) -> list[UUID]:
    if wanted.ids is not None and not wanted.ids:
        return []
    plan_by_indexes()
    chosen = select(jobs.c.id).where(*wanted.conditions()).order_by(jobs.c.id).limit(literal_column(str(limit)))
    # Rows that somebody else is resolving at this moment are theirs.
    locked = chosen.with_for_update(skip_locked=True).cte("chosen").prefix_with("MATERIALIZED")
    change = update(jobs).where(jobs.c.id.in_(select(locked.c.id))).values(**values).returning(jobs.c.id)
    return list(session().connection().scalars(change, {"org": org_id}))


_document: Any = bindparam("document", type_=Uuid())
_SUPERSEDE = (
    update(jobs)
    .where(
        jobs.c.run_id.in_(
            select(_runs.c.id).where(_runs.c.document_id == _document, _runs.c.id != bindparam("newest", type_=Uuid()))
        ),
        _open,
    )
    .values(resolution=Resolution.SUPERSEDED, resolved_at=now())
)
_MARK_RETRIED = (
    update(jobs)
    .where(jobs.c.id == bindparam("job", type_=Uuid()), text("status = 'FAILED'"))
    .values(resolution=Resolution.RETRIED, resolved_by=bindparam("to_by"), resolved_at=now())
)
