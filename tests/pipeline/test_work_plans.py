"""A new document's own way to READY costs the same however many others there are."""

import pytest
from sqlalchemy import update

from bench import _crowd
from tests.conftest import DatabaseUnderTest
from tests.pipeline.workplace import Workplace, prose
from tests.plans import fill, judged
from webapp.db import db, transaction
from webapp.jobs.model import NEVER, Job
from webapp.search.vectors import INDEXED_MODELS

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]


@pytest.fixture
def crowded(workplace: Workplace, database: DatabaseUnderTest) -> Workplace:
    """A place for the big org among many documents. Of the jobs there nobody may be taken."""
    fill(database)
    workplace.org_id = _crowd.ORG
    # Passages of the model that has an index are not compared one by one in an org that has many.
    workplace.embedder.model, workplace.embedder.dimensions = _crowd.MODEL, INDEXED_MODELS[_crowd.MODEL]
    with transaction(everywhere=True) as session:
        session.execute(update(Job).where(Job.status == "PENDING").values(available_at=None, wakes_at=NEVER))
    return workplace


def test_a_new_document_reads_few_rows_on_its_way(crowded: Workplace) -> None:
    with judged(db.engine) as faults:
        document = crowded.processed(prose(20), "invoice 2031.md")
        crowded.connect()
        crowded.reprocess(document.id)
        crowded.process()
        crowded.connect()
    assert faults == [], "\n\n".join(faults)
