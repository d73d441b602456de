"""What was spent and what the caches saved: by day, with prices that are settings."""

from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import insert, update

from tests.bare import changed
from tests.hashed_words import HashedWords
from tests.web.databases import both_databases
from tests.web.people import People
from tests.web.shelves import NOTES, notes, read_json, services_of, shelve, work_off
from webapp.clock import after, utc_now
from webapp.db import reading, transaction
from webapp.documents.ledger_model import ProviderCall
from webapp.pipeline.paid_calls.prices import Prices
from webapp.runs.retention import prune
from webapp.web.formatting import price
from webapp.web.ops.spending import Spent, _finished, spending


class Paid(HashedWords):
    name = "somebody"


@pytest.fixture
def people(app: Flask) -> People:
    found = services_of(app)
    settings = changed(found.settings, "prices", embed_passage=0.5, extract_page=7.0)
    app.extensions["docmill"] = replace(found, settings=settings, providers=replace(found.providers, embedder=Paid()))
    return People(app)


@both_databases
def test_what_was_asked_for_costs_and_what_was_known_saves(app: Flask, people: People) -> None:
    program = people.program("ops")
    [document_id] = shelve(program, notes(1))
    work_off(app)
    program.post(f"/documents/{document_id}/reprocess")
    work_off(app)

    with app.app_context(), reading(program.org_id):
        found = spending(program.org_id, "EUR")
    by_operation = {(row.provider, row.operation): row for row in found.rows}
    embed, extract = by_operation["somebody", "embed"], by_operation["local", "extract"]
    assert (embed.calls, embed.units, embed.units_saved) == (1, 1, 1)
    assert (embed.price, embed.price_saved) == (0.5, 0.5)
    assert (extract.price, extract.price_saved, extract.units_saved) == (0.0, 0.0, 1)
    assert (found.price, found.price_saved) == (0.5, 0.5)
    shown = read_json(program.get("/ops"))["spending"]
    assert shown["currency"] == "USD"
    assert {row["operation"] for row in shown["rows"]} == {"embed", "extract"}
    assert "Saved by the caches" in people.browser("ops", email="o@example.org").get("/ops").text


def test_a_call_keeps_the_price_of_its_day(app: Flask, people: People) -> None:
    program = people.program("ops")
    shelve(program, notes(1))
    work_off(app)
    found = services_of(app)
    app.extensions["docmill"] = replace(found, settings=changed(found.settings, "prices", embed_passage=2.0))
    shelve(program, ("other.md", NOTES + b"\nSomething else.\n"))
    work_off(app)
    with app.app_context(), reading(program.org_id):
        assert spending(program.org_id, "EUR").price == 0.5 + 2.0


def test_what_this_machine_does_is_free() -> None:
    prices = Prices({"extract": 7.0})
    assert prices.of_units("azure", "extract", 3) == 21.0
    assert prices.of_units("local", "extract", 3) == prices.of_units("azure", "dance", 3) == 0.0


@both_databases
def test_days_are_told_apart_and_old_ones_left_out(app: Flask, people: People) -> None:
    program = people.program("ops")
    shelve(program, notes(1))
    work_off(app)
    with app.app_context(), transaction(program.org_id) as opened:
        opened.execute(
            update(ProviderCall).where(ProviderCall.operation == "extract").values(created_at=after(-86_400))
        )
        opened.execute(
            update(ProviderCall).where(ProviderCall.operation == "embed").values(created_at=after(-40 * 86_400))
        )
    shelve(program, ("other.md", NOTES + b"\nSomething else.\n"))
    work_off(app)

    with app.app_context(), reading(program.org_id):
        rows = spending(program.org_id, "EUR").rows
    assert [row.operation for row in rows] == ["extract", "embed", "extract"]
    assert rows[0].day == rows[1].day > rows[2].day


def test_other_orgs_see_nothing_of_it(app: Flask, people: People) -> None:
    shelve(people.program(), notes(1))
    work_off(app)
    assert read_json(people.program("ops", org="Theirs").get("/ops"))["spending"]["rows"] == []


def test_prices_are_readable() -> None:
    assert [price(amount, "USD") for amount in (0, 0.000012, 0.5, 1234.5)] == [
        "0 USD",
        "0.000012 USD",
        "0.5 USD",
        "1,234.50 USD",
    ]


def _sums(app: Flask, org_id: UUID) -> list[Spent]:
    """The days as a web process adds them up that has just started."""
    _finished.clear()
    with app.app_context(), reading(org_id):
        return list(spending(org_id, "EUR").rows)


def _prune_calls(app: Flask, days: float) -> int:
    found = services_of(app)
    with app.app_context():
        return prune(replace(found, settings=changed(found.settings, "queue", call_retention_days=days)))["calls"]


@both_databases
def test_a_day_stays_as_dear_when_its_lines_are_deleted(app: Flask, people: People) -> None:
    program = people.program("ops")
    noon = utc_now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=10)
    hour = timedelta(hours=1)
    shared = {"org_id": program.org_id, "provider": "somebody", "operation": "embed", "units": 3, "seconds": 0.5}
    lines = [
        {"created_at": at, "outcome": outcome, "reused": reused, "price": 0.25}
        for at in (noon - 2 * hour, noon - hour, noon + hour, utc_now())
        for outcome, reused in (("ok", False), ("ok", True), ("error", False), ("unknown", False))
    ]
    with app.app_context(), transaction(program.org_id) as opened:
        opened.execute(insert(ProviderCall), [{**shared, **line} for line in lines])
    before = _sums(app, program.org_id)
    assert [(row.calls, row.failed, row.units, row.units_saved) for row in before] == [(3, 2, 6, 3), (9, 6, 18, 9)]

    # In the middle of a day, then the rest of it in a second pass.
    assert _prune_calls(app, (utc_now() - noon).total_seconds() / 86_400) == 8
    assert _sums(app, program.org_id) == before
    assert _prune_calls(app, 3) == 4
    assert _sums(app, program.org_id) == before
    # Of today none goes: what an org may still spend today follows from these.
    assert _prune_calls(app, 0.000001) == 0
    assert _sums(app, program.org_id) == before
    assert read_json(people.program("ops", org="Theirs").get("/ops"))["spending"]["rows"] == []
