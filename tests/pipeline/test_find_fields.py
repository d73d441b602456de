"""Fields that a chat model reads: only what the text holds, asked once, and with the rules' own values first."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from sqlalchemy import select

from tests.emulators.openai import OpenAI
from tests.emulators.openai_speech import INVENTED_IBAN
from tests.pipeline import studio
from tests.pipeline.workplace import Workplace
from webapp.db import reading
from webapp.documents.ledger_model import ProviderCall
from webapp.documents.model import DocumentField
from webapp.documents.states import RunTrigger
from webapp.runs import lifecycle
from webapp.runs.stages import READ_ANEW

# No title, label or layout that the rules know: they read nothing.
CONTRACT = ("This contract was made by two neighbours.", "Party: Anna Berg", "Party: Tom Falk",
            "Start date: 2026-03-01", "End date: 2026-02-01", "Notice period: as agreed")  # fmt: skip
INVOICE = ("Invoice", "Invoice number: RE-2026-17", "Invoice date: 3 May 2026", "Supplier: Lamp Works Ltd",
           "Net: 100.00 EUR", "Tax: 19.00 EUR", "Total: 119.00 EUR")  # fmt: skip


@pytest.fixture
def asked(workplace: Workplace, openai: OpenAI) -> Iterator[Workplace]:
    workplace.providers = replace(workplace.providers, field_finder=studio.fields_at(openai))
    yield workplace
    studio.close_clients()


def rtf(*lines: str) -> bytes:
    return b"{\\rtf1\\ansi " + "\\par\n\\par ".join(lines).encode() + b"}"


def fields(place: Workplace) -> dict[str, tuple[str, str | None, str | None]]:
    with reading(place.org_id) as opened:
        rows = opened.execute(
            select(DocumentField.name, DocumentField.value, DocumentField.normalized, DocumentField.doubt)
        )
        return {name: (value, normalized, doubt) for name, value, normalized, doubt in rows}


def _chats(openai: OpenAI) -> int:
    return sum(paid.operation == "chat" for paid in openai.ledger)


def test_what_the_rules_do_not_know_is_read_and_checked(asked: Workplace, openai: OpenAI) -> None:
    asked.processed(rtf(*CONTRACT), "agreement.rtf")

    found = fields(asked)
    assert found["First party"] == ("Anna Berg", "Anna Berg", None)
    assert found["Second party"][0] == "Tom Falk"
    assert found["Start date"] == ("2026-03-01", "2026-03-01", "term")
    assert found["End date"][2] == "term"
    # Not a length of time, only a line of a form; and an account that no page names.
    assert found["Notice period"] == ("as agreed", None, None)
    assert "Party" not in found
    assert INVENTED_IBAN not in {value for value, _, _ in found.values()}
    assert _chats(openai) == 1


def test_the_rules_values_stay_and_a_contradiction_is_doubtful(asked: Workplace, openai: OpenAI) -> None:
    lines = [*INVOICE, "Order number: A-1", "Please quote this.", "Total: 120.00 EUR"]
    asked.processed(rtf(*lines), "invoice.rtf")

    found = fields(asked)
    assert found["Invoice number"] == ("RE-2026-17", "RE-2026-17", None)
    assert found["Order number"][0] == "A-1"
    assert _chats(openai) == 1


def test_an_answer_is_paid_once(asked: Workplace, openai: OpenAI, monkeypatch: pytest.MonkeyPatch) -> None:
    document = asked.upload(rtf(*CONTRACT), "agreement.rtf").document
    lease = asked.claim()
    asked.die_before("markdown_saved", lease, monkeypatch)
    asked.process(asked.take_back(lease))
    before = fields(asked)

    asked.reprocess(document.id)
    asked.process()
    # What is read again in the background asks nobody, and keeps what was answered.
    finder, asked.providers = asked.providers.field_finder, replace(asked.providers, field_finder=None)
    lifecycle.queue_run(asked.queue, asked.org_id, document.id, RunTrigger.REPROCESS, max_attempts=5, stage=READ_ANEW)
    asked.process()

    assert finder
    assert fields(asked) == before
    assert _chats(openai) == 1
    lines = [line for line in asked.all(ProviderCall) if line.operation == "fields"]
    assert [(line.outcome, line.units, line.reused) for line in lines] == [("ok", 1, False), ("ok", 1, True)]


def test_an_answer_that_does_not_fit_is_asked_for_again(asked: Workplace, openai: OpenAI) -> None:
    openai.misbehave("unfit", "chat")
    asked.processed(rtf(*CONTRACT), "agreement.rtf")
    assert "First party" in fields(asked)


@pytest.mark.parametrize(
    ("data", "name"),
    [(rtf("A manual of lamps.", *["It goes on."] * 3_000), "manual.rtf"), (b"total = 3\n", "sum.py")],
)
def test_nobody_pays_for_long_texts_of_no_known_kind_or_for_code(
    asked: Workplace, openai: OpenAI, data: bytes, name: str
) -> None:
    asked.processed(data, name)
    assert _chats(openai) == 0
    assert fields(asked) == {}
