"""Rules: what they give, what they leave alone, and how it is taken back."""

from datetime import date
from typing import Any
from uuid import UUID

import pytest
from flask import Flask
from sqlalchemy import select

from tests.search.passages import new_document, new_org
from webapp.clock import new_id
from webapp.db import reading, session, transaction
from webapp.documents.model import Document, DocumentField
from webapp.documents.rule_model import RuleApplication
from webapp.library import facts, names, rule_effects, rules, selection, tags, views
from webapp.library.facts import Fact
from webapp.library.rule_effects import Gifts
from webapp.library.rule_trial import try_out
from webapp.library.selection import Matching
from webapp.search.filters import BadValue


@pytest.fixture
def org(bare_app: Flask) -> UUID:
    return new_org()


def document(org_id: UUID, filename: str = "scan 7.pdf", seller: str | None = None, **known: Any) -> UUID:
    """A document of which this is known."""
    document_id = new_document(org_id, filename)
    with transaction(org_id) as opened:
        names.add(org_id, document_id, filename)
        row = opened.get_one(Document, document_id)
        for name, value in known.items():
            setattr(row, name, value)
        if seller:
            own = {"id": new_id(), "org_id": org_id, "document_id": document_id, "ordinal": 0, "confidence": 0.9}
            opened.add(DocumentField(**own, name="Supplier", kind="supplier", value=seller))
    return document_id


def rule(org_id: UUID, query: str = "", **gives: Any) -> rules.ShownRule:
    """A rule for the documents that a query finds."""
    with transaction(org_id):
        view_id = views.add(org_id, {"name": "a view", "query": query, "sort": "newest"}, "user:ana")
        values = {"name": "order", "view_id": view_id, "tags": [], "is_on": True, **gives}
        rule_id = rules.add(org_id, values, "user:ana")
        found = rules.find(org_id, rule_id)
    assert found
    return found


def apply(org_id: UUID, gifts: Gifts, document_id: UUID, **how: Any) -> dict[str, Any] | None:
    with transaction(org_id):
        return rule_effects.apply(org_id, gifts, [document_id], **how).get(document_id)


def state(org_id: UUID, document_id: UUID) -> tuple[str | None, str | None, list[str]]:
    """Title, kind and tags."""
    with reading(org_id) as opened:
        row = opened.get_one(Document, document_id)
        return row.chosen_title, row.kind, tags.of_document(org_id, document_id)


def test_tags_a_kind_and_a_title_are_given_and_taken_back(org: UUID) -> None:
    one = document(
        org,
        seller="Acme Ltd",
        document_date=date(2026, 3, 1),
        document_date_from="metadata",
        kind="text",
        title="Scan",
        title_is_guess=True,
    )
    with transaction(org):
        tags.add(org, one, "Tax")
    gifts = rule(org, tags=["tax", "to pay"], kind="invoice", title="{seller}, {date}: {kind} ({name})").gifts

    undo = apply(org, gifts, one)

    assert state(org, one) == ("Acme Ltd, 2026-03-01: invoice (scan 7)", "invoice", ["Tax", "to pay"])
    assert undo
    assert undo["tags"] == ["to pay"], "it had the other one"
    assert apply(org, gifts, one) is None, "nothing is left to change"
    with transaction(org):
        assert rule_effects.revert(org, one, undo)
    assert state(org, one) == (None, "text", ["Tax"])


def test_a_title_is_found_by_its_words(org: UUID) -> None:
    one = document(org, seller="Brightwater")
    apply(org, rule(org, title="{seller}").gifts, one)
    with reading(org):
        assert selection.ids(org, Matching(q="in:brightwater")) == [one]


@pytest.mark.parametrize("pattern", ["{seller}", "{date}", "{kind}", "Paid {date}, {name}"])
def test_where_something_is_not_known_the_title_stays(org: UUID, pattern: str) -> None:
    one = document(org, title="Scan")
    assert apply(org, rule(org, title=pattern).gifts, one) is None
    assert state(org, one)[0] == "Scan"


def test_what_a_person_said_stays(org: UUID) -> None:
    one = document(org, seller="Acme")
    with transaction(org):
        facts.change(org, one, "user:ana", {Fact.TITLE: "My lease", Fact.KIND: "contract"})
    gifts = rule(org, tags=["tax"], kind="invoice", title="{seller}").gifts
    undo = apply(org, gifts, one)
    assert state(org, one) == ("My lease", "contract", ["tax"])
    with transaction(org):
        assert undo
        facts.change(org, one, "user:ana", {Fact.TITLE: "Our lease"})
        rule_effects.revert(org, one, undo)
    assert state(org, one) == ("Our lease", "contract", [])


def test_what_was_changed_since_is_not_taken_back(org: UUID) -> None:
    one = document(org, kind="text")
    undo = apply(org, rule(org, kind="invoice", title="{name}").gifts, one)
    with transaction(org):
        facts.change(org, one, "user:ana", {Fact.KIND: "letter"})
        assert undo
        assert rule_effects.revert(org, one, undo)
    assert state(org, one) == (None, "letter", [])


def test_a_tag_that_a_person_took_away_is_not_given_again(org: UUID) -> None:
    one, gifts = document(org), rule(org, tags=["tax"]).gifts
    assert apply(org, gifts, one)
    with transaction(org):
        tags.replace(org, one, [])
    assert apply(org, gifts, one, run_id=new_id()) is None
    assert state(org, one)[2] == []
    assert apply(org, gifts, one, anew=True), "a person asked for it"
    with reading(org):
        assert session().scalars(select(RuleApplication.tags)).all() == [["tax"]]


def test_a_document_with_all_the_tags_it_may_have_gets_no_more(org: UUID) -> None:
    one = document(org)
    with transaction(org):
        tags.replace(org, one, [f"tag {number}" for number in range(tags.TAGS_MAX)])
    assert apply(org, rule(org, tags=["tax"]).gifts, one) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"title": "{colour}"},
        {"title": "{date"},
        {"title": "}"},
        {"kind": "sock"},
        {"tags": [""]},
        {"tags": ["x" * 101]},
    ],
)
def test_what_no_rule_can_give_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(BadValue):
        rules.check(wrong)


def test_a_trial_counts_and_changes_nothing(org: UUID, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webapp.library.rule_trial._AT_ONCE", 2)
    ids = [document(org, f"bill {number}.pdf") for number in range(4)]
    document(org, "letter.pdf")
    with transaction(org):
        tags.add(org, ids[0], "tax")
    tried = rule(org, "in:bill", tags=["tax"], title="{name}")
    with reading(org):
        trial = try_out(org, tried)
    assert (trial.matched.number, trial.tried, trial.changed) == (4, 4, 4)
    assert {tuple(each.effect.tags) for each in trial.examples} == {(), ("tax",)}
    assert state(org, ids[1]) == (None, None, [])
    monkeypatch.setattr("webapp.library.rule_trial.TRIED_MAX", 2)
    with reading(org):
        assert try_out(org, tried).tried == 2
