"""Of a long table, the first passages get vectors; the others are found by their words, at no cost."""

from sqlalchemy import select

from tests.pipeline.workplace import Fallible, Workplace
from webapp.db import reading
from webapp.jobs.model import Job
from webapp.library import reprocess
from webapp.pipeline.handlers import HANDLERS
from webapp.readers.extraction import DATA_VECTORS_MAX as VECTORS_MAX
from webapp.search import words
from webapp.search.match import Atom, TermMatch
from webapp.search.model import CachedEmbedding
from webapp.search.scope import SearchScope

TABLE = b"n,who,what\n" + b"".join(b"%d,keeper %d,oil\n" % (n, n) for n in range(5_000))


def test_the_first_passages_alone_have_vectors(workplace: Workplace) -> None:
    document = workplace.processed(TABLE, "oil.csv")

    chunks = workplace.chunks(document.id)
    assert len(chunks) > 2 * VECTORS_MAX
    assert [chunk.embedding is not None for chunk in chunks] == [n < VECTORS_MAX for n in range(len(chunks))]
    assert {chunk.embedding_model for chunk in chunks[VECTORS_MAX:]} == {None}
    assert len(workplace.all(CachedEmbedding)) == VECTORS_MAX
    assert document.embedding is not None
    with reading(workplace.org_id):
        assert words.holding(SearchScope(workplace.org_id), TermMatch(((Atom("4998"),),)), 5) == [chunks[-1].id]


def test_processing_again_changes_nothing(workplace: Workplace) -> None:
    document = workplace.processed(TABLE, "oil.csv")
    before = [(chunk.id, chunk.embedding_model) for chunk in workplace.chunks(document.id)]
    batches = workplace.embedder.batches
    workplace.reprocess(document.id)
    work_off(workplace)

    assert [(chunk.id, chunk.embedding_model) for chunk in workplace.chunks(document.id)] == before
    assert workplace.embedder.batches == batches


def test_another_model_is_asked_for_those_that_have_vectors(workplace: Workplace) -> None:
    document = workplace.processed(TABLE, "oil.csv")
    workplace.with_embedder(Fallible(model="another"))
    reprocess.renew_vectors(workplace, workplace.org_id)
    work_off(workplace)

    models = [chunk.embedding_model for chunk in workplace.chunks(document.id)]
    assert set(models[:VECTORS_MAX]) == {"another"}
    assert set(models[VECTORS_MAX:]) == {None}
    with reading(workplace.org_id) as session:
        asked = session.scalars(select(CachedEmbedding.model)).all()
    assert asked.count("another") == VECTORS_MAX


def work_off(workplace: Workplace) -> None:
    while any(job.status == "PENDING" for job in workplace.all(Job)):
        lease = workplace.claim()
        HANDLERS[lease.stage](workplace.context(lease))
