"""Searching what was processed, with the embedder asked on the way."""

from dataclasses import replace
from uuid import UUID

import pytest
from flask import Flask

from tests import samples
from tests.pipeline.workplace import Workplace, make_workplace, prose, unavailable
from webapp.config import Settings
from webapp.jobs.model import Job
from webapp.pipeline.find import LIMIT_MAX, find
from webapp.pipeline.handlers import HANDLERS
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.local.extract import LocalExtractor
from webapp.providers.models.embedding_files import E5, MINILM
from webapp.worker import chores


def test_what_was_processed_is_found(workplace: Workplace) -> None:
    document = workplace.processed(samples.invoice_pdf(), "invoice.pdf")
    workplace.processed(prose(10), "story.md")

    found = find(workplace, workplace.org_id, "harbour lights bakery 2026-0417")

    assert found.hits[0].document_id == document.id
    assert found.hits[0].page_from == 1
    assert not found.words_only


def test_what_is_not_published_is_not_found(workplace: Workplace) -> None:
    workplace.upload(b"a story of submarines")

    assert find(workplace, workplace.org_id, "submarines").hits == []


def test_nothing_asked_nothing_found(workplace: Workplace) -> None:
    workplace.processed(b"some words")
    workplace.embedder.asked.clear()

    assert find(workplace, workplace.org_id, "  \0 ").hits == []
    assert workplace.embedder.asked == []


def test_a_phrase_is_found_by_its_words_and_costs_nothing(workplace: Workplace) -> None:
    workplace.processed(b"a story of submarines")
    workplace.embedder.asked.clear()

    found = find(workplace, workplace.org_id, '"story of submarines"')

    assert len(found.hits) == 1
    assert not found.words_only
    assert workplace.embedder.asked == []


def test_words_alone_where_the_embedder_is_away(workplace: Workplace) -> None:
    workplace.processed(b"a story of submarines")
    workplace.embedder.failures[workplace.embedder.batches + 1] = unavailable()

    found = find(workplace, workplace.org_id, "submarines")

    assert found.words_only
    assert len(found.hits) == 1


@pytest.mark.slow
def test_there_is_a_limit(workplace: Workplace) -> None:
    workplace.embedder.batch_size = 100
    workplace.processed(prose(300), "book.md")

    assert len(find(workplace, workplace.org_id, "harbours and lights", limit=10_000).hits) == LIMIT_MAX
    assert len(find(workplace, workplace.org_id, "harbours and lights").hits) == 20


@pytest.mark.slow
def test_meaning_is_found_without_a_common_word(
    bare_app: Flask, settings: Settings, local_extractor: LocalExtractor
) -> None:
    workplace = make_workplace(settings, local_extractor)
    minilm, e5 = (LocalEmbedder(settings.models.dir, made_by=each, threads=1) for each in (MINILM, E5))
    workplace.with_embedder(minilm)
    wanted = workplace.processed(b"The physician prescribed tablets against the patient's headache.", "a.txt")
    workplace.processed(b"The invoice for the timber has to be paid within thirty days.", "b.txt")
    workplace.processed(b"Our ship left the harbour at dawn and sailed to the island.", "c.txt")

    def first(question: str) -> UUID | None:
        found = find(workplace, workplace.org_id, question)
        assert not found.words_only
        return found.hits[0].document_id if found.hits else None

    assert first("medicine from a doctor") == wanted.id

    # Another model: the old vectors are searched until there are new ones, which other languages find, too.
    workplace.with_embedder(e5)
    workplace.providers = replace(workplace.providers, earlier_embedder={minilm.model: minilm}.get)
    assert first("medicine from a doctor") == wanted.id
    assert chores.renew_vectors(workplace) == 3
    while any(job.status == "PENDING" for job in workplace.all(Job)):
        lease = workplace.claim()
        HANDLERS[lease.stage](workplace.context(lease))
    assert chores.renew_vectors(workplace) == 0
    assert first("medicine from a doctor") == wanted.id
    assert first("Arznei gegen Kopfschmerzen") == wanted.id
    assert first("лекарство от головной боли") == wanted.id
    assert first("x7kqv0zt pwy04xef3") is None
