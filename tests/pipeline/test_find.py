"""Searching what was processed, with the embedder asked on the way."""

import pytest
from flask import Flask

from tests import samples
from tests.pipeline.workplace import Workplace, make_workplace, prose, unavailable
from webapp.config import Settings
from webapp.pipeline.find import LIMIT_MAX, find
from webapp.providers.local.embed import LocalEmbedder
from webapp.providers.local.extract import LocalExtractor


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
    workplace.with_embedder(LocalEmbedder(settings.models.dir, threads=1))
    wanted = workplace.processed(b"The physician prescribed tablets against the patient's headache.", "a.txt")
    workplace.processed(b"The invoice for the timber has to be paid within thirty days.", "b.txt")
    workplace.processed(b"Our ship left the harbour at dawn and sailed to the island.", "c.txt")

    found = find(workplace, workplace.org_id, "medicine from a doctor")

    assert found.hits[0].document_id == wanted.id
    assert not found.words_only
