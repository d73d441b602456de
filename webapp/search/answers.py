"""The answers that were given to questions, as rows: the SEARCHES_KEPT that were used last, and those being written."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import cast
from uuid import UUID

from sqlalchemy import ColumnElement, Table, Uuid, and_, bindparam, delete, insert, not_, or_, select, update
from sqlalchemy.dialects import postgresql

from webapp.clock import after, now
from webapp.db import session
from webapp.documents.binned import in_library
from webapp.documents.model import Document
from webapp.search.answer_model import AnsweredQuestion, AnswerSource
from webapp.search.answer_text import AnswerSentence
from webapp.search.model import Chunk

ASKING, DONE, FAILED = "ASKING", "DONE", "FAILED"
_answers, _sources = cast(Table, AnsweredQuestion.__table__), cast(Table, AnswerSource.__table__)
_documents, _chunks = cast(Table, Document.__table__), cast(Table, Chunk.__table__)


@dataclass(frozen=True)
class SourceOfAnswer:
    """A passage that an answer was made from. `chunk_id` is None where the document has it no more."""

    number: int
    document_id: UUID
    chunk_id: UUID | None
    filename: str
    title: str | None
    page_from: int | None
    content_type: str


@dataclass(frozen=True)
class GivenAnswer:
    """An answer, whole or as far as it is written."""

    key: str
    state: str
    model: str
    sentences: Sequence[AnswerSentence] = ()
    left_out: int = 0
    sources: Sequence[SourceOfAnswer] = ()

    @property
    def used_sources(self) -> set[int]:
        """The numbers of the sources that its sentences name."""
        return {number for sentence in self.sentences for number in sentence.sources}


@dataclass(frozen=True)
class NewAnswer:
    """An answer that a call is to write from these passages (document, chunk), in so many seconds at most."""

    key: str
    model: str
    call_id: UUID
    passages: Sequence[tuple[UUID, UUID]]
    seconds: float


def begin(org_id: UUID, new: NewAnswer) -> bool:
    """Add an answer; False where there is one already, or one of the documents is gone or in the bin.

    One that failed, or whose process died, is begun anew.
    """
    key, passages, seconds = new.key, new.passages, new.seconds
    ids = {document_id for document_id, _ in passages}
    # Who deletes one of them waits, or was quicker.
    there = select(_documents.c.id).where(_documents.c.org_id == org_id, _documents.c.id.in_(ids), in_library)
    if len(session().scalars(there.with_for_update(read=True, key_share=True)).all()) < len(ids):
        return False
    row = {"org_id": org_id, "key": key, "model": new.model, "call_id": new.call_id}
    row |= {"state": ASKING, "sentences": [], "left_out": 0}
    add = postgresql.insert(_answers).values(row | {"ends_at": after(seconds), "used_at": now()})
    is_over = or_(_answers.c.state == FAILED, and_(_answers.c.state == ASKING, _answers.c.ends_at < now()))
    anew = row | {"ends_at": after(seconds), "used_at": now()}
    begun = add.on_conflict_do_update(index_elements=["org_id", "key"], set_=anew, where=is_over)
    if session().execute(begun.returning(_answers.c.key)).one_or_none() is None:
        return False
    session().execute(delete(_sources).where(_sources.c.org_id == org_id, _sources.c.key == key))
    rows = [
        {"org_id": org_id, "key": key, "number": number, "document_id": document_id, "chunk_id": chunk_id}
        for number, (document_id, chunk_id) in enumerate(passages, start=1)
    ]
    session().execute(insert(_sources), rows)
    return True


def write(org_id: UUID, call_id: UUID, sentences: Sequence[AnswerSentence], left_out: int, state: str = ASKING) -> None:
    """Store what a call has written of its answer; nothing where another call writes it, or a document is gone."""
    plain = [{"text": each.text, "sources": list(each.sources)} for each in sentences]
    values = {"sentences": plain, "left_out": left_out, "state": state}
    of_call = (_answers.c.org_id == org_id, _answers.c.call_id == call_id, _answers.c.state == ASKING)
    session().execute(update(_answers).where(*of_call).values(values))


def find(org_id: UUID, key: str) -> GivenAnswer | None:
    """An answer with its sources; FAILED where its process died; None while one of its documents lies in the bin."""
    is_dead = and_(_answers.c.state == ASKING, _answers.c.ends_at < now())
    row = session().execute(select(_answers, is_dead.label("is_dead")).where(*_of(org_id, key))).one_or_none()
    if row is None or session().scalar(_HAS_BINNED_SOURCE, {"org": org_id, "of": key}):
        return None
    sentences = [AnswerSentence(each["text"], tuple(each["sources"])) for each in row.sentences]
    state = FAILED if row.is_dead else row.state
    return GivenAnswer(key, state, row.model, sentences, row.left_out, _sources_of(org_id, key))


def mark_used(org_id: UUID, key: str, *, kept: int) -> None:
    """Keep an answer longer, and delete those beyond the newest `kept`."""
    session().execute(update(_answers).where(*_of(org_id, key)).values(used_at=now()))
    of_org = _answers.c.org_id == org_id
    newest_first = select(_answers.c.key).where(of_org).order_by(_answers.c.used_at.desc(), _answers.c.key)
    beyond = _answers.c.key.in_(newest_first.offset(kept))
    session().execute(delete(_answers).where(of_org, beyond, _answers.c.state != ASKING))


def delete_of_documents(org_id: UUID, document_ids: Collection[UUID]) -> None:
    """Delete the answers that were made from these documents, before the documents are deleted."""
    keys = select(_sources.c.key).where(_sources.c.org_id == org_id, _sources.c.document_id.in_(document_ids))
    session().execute(delete(_answers).where(_answers.c.org_id == org_id, _answers.c.key.in_(keys)))


_HAS_BINNED_SOURCE = (
    select(_documents.c.id)
    .join(_sources, and_(_documents.c.org_id == _sources.c.org_id, _documents.c.id == _sources.c.document_id))
    .where(_sources.c.org_id == bindparam("org", type_=Uuid()), _sources.c.key == bindparam("of"), not_(in_library))
    .limit(1)
)


def _sources_of(org_id: UUID, key: str) -> list[SourceOfAnswer]:
    d, c = _documents.c, _chunks.c
    rows = (
        select(
            _sources.c.number,
            d.id,
            c.id.label("chunk_id"),
            d.filename,
            d.title,
            d.title_is_guess,
            d.content_type,
            c.page_from,
        )
        .join(_documents, and_(d.org_id == _sources.c.org_id, d.id == _sources.c.document_id))
        .outerjoin(_chunks, and_(c.org_id == _sources.c.org_id, c.id == _sources.c.chunk_id))
        .where(_sources.c.org_id == org_id, _sources.c.key == key)
        .order_by(_sources.c.number)
    )
    return [
        SourceOfAnswer(
            row.number,
            row.id,
            row.chunk_id,
            row.filename,
            None if row.title_is_guess else row.title,
            row.page_from,
            row.content_type,
        )
        for row in session().execute(rows)
    ]


def _of(org_id: UUID, key: str) -> tuple[ColumnElement[bool], ...]:
    return (_answers.c.org_id == org_id, _answers.c.key == key)
