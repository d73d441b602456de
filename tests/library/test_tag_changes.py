"""Tags in each other: found with what lies in them, renamed, merged, painted and deleted, and all of it undone."""

from uuid import UUID, uuid4

import pytest
from flask import Flask

from tests.search.passages import new_document, new_org
from webapp.clock import now
from webapp.db import reading, transaction
from webapp.documents.model import Document
from webapp.library import grid, selection, tag_changes, tag_tree, tags
from webapp.library.selection import Matching
from webapp.library.tag_changes import Taken
from webapp.search.filters import BadValue

SHELF = {
    "a": ["tax/2025", "to pay"],
    "b": ["Tax"],
    "c": ["tax/2025/car", "taxi"],
    "d": ["home"],
}


@pytest.fixture
def org(bare_app: Flask) -> UUID:
    """An org whose documents have tags, some of them in others."""
    org_id = new_org()
    for name, its in SHELF.items():
        document_id = new_document(org_id, name)
        with transaction(org_id):
            tags.replace(org_id, document_id, its)
    return org_id


def shelf(org_id: UUID) -> dict[str, list[str]]:
    """The tags of each document."""
    with reading(org_id):
        rows = [row.document for row in grid.page(org_id).rows]
        found = tags.of_documents(org_id, [row.id for row in rows])
        return {row.filename: [tag.name for tag in found.get(row.id, [])] for row in rows}


def named(org_id: UUID, name: str) -> UUID:
    """The id of a tag."""
    with reading(org_id):
        return next(node.id for node in tag_tree.tree(org_id) if node.name == name and node.id)


def found(org_id: UUID, query: str) -> set[str]:
    with reading(org_id):
        rows = [row.document for row in grid.page(org_id, q=query).rows]
        assert set(selection.ids(org_id, Matching(q=query))) == {row.id for row in rows}
        assert selection.count(org_id, Matching(q=query)).number == len(rows)
    return {row.filename for row in rows}


@pytest.mark.parametrize("few", [5_000, 0])
def test_a_tag_is_found_with_all_that_lie_in_it(org: UUID, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr("webapp.library.grid.FEW", few)
    monkeypatch.setattr("webapp.library.selection.COUNTED_MAX", few)
    assert found(org, "tag:tax") == {"a", "b", "c"}
    assert found(org, "tag:tax/2025") == {"a", "c"}
    assert found(org, "tag:Tax / 2025/car") == set()
    assert found(org, 'tag:"Tax / 2025 / car"') == {"c"}
    assert found(org, "-tag:tax") == {"d"}
    assert found(org, "tag:home OR tag:taxi") == {"c", "d"}
    assert found(org, "tag:tax -tag:tax/2025") == {"b"}
    assert found(org, "tag:ta") == set()


def test_the_tree_counts_each_document_once(org: UUID) -> None:
    with reading(org):
        nodes = tag_tree.tree(org)
    assert [(node.name, node.depth, node.count.number) for node in nodes] == [
        ("home", 0, 1),
        ("Tax", 0, 3),
        ("tax/2025", 1, 2),
        ("tax/2025/car", 2, 1),
        ("taxi", 0, 1),
        ("to pay", 0, 1),
    ]
    with transaction(org) as opened:
        row = next(row.document for row in grid.page(org).rows if row.document.filename == "c")
        binned = opened.get_one(Document, row.id)
        binned.deleted_at, binned.deleted_with = now(), row.id
    with reading(org):
        assert {node.name: node.count.number for node in tag_tree.tree(org, "TAX")} == {
            "Tax": 2, "tax/2025": 1, "tax/2025/car": 0, "taxi": 0,
        }  # fmt: skip


def test_one_that_nothing_has_is_shown_where_others_lie_in_it(bare_app: Flask) -> None:
    org_id = new_org()
    document_id = new_document(org_id, "a")
    with transaction(org_id):
        tags.add(org_id, document_id, "House/Rent")
        nodes = tag_tree.tree(org_id)
    assert [(node.name, node.label, node.depth, bool(node.id)) for node in nodes] == [
        ("House", "House", 0, False),
        ("House/Rent", "Rent", 1, True),
    ]


def test_another_name_moves_what_lies_in_it_and_is_undone(org: UUID) -> None:
    before = shelf(org)
    with transaction(org):
        change = tag_changes.rename(org, named(org, "Tax"), "Money / Taxes", "ana")
    assert shelf(org) == {
        "a": ["Money/Taxes/2025", "to pay"],
        "b": ["Money/Taxes"],
        "c": ["Money/Taxes/2025/car", "taxi"],
        "d": ["home"],
    }
    assert change
    with transaction(org):
        assert tag_changes.undo(org, change)
        assert not tag_changes.undo(org, change), "once is enough"
    assert shelf(org) == before


def test_two_tags_become_one_only_where_that_is_meant(org: UUID) -> None:
    before = shelf(org)
    with pytest.raises(Taken, match="home"), transaction(org):
        tag_changes.rename(org, named(org, "Tax"), "home", "ana")
    assert shelf(org) == before
    with transaction(org):
        tags.add(org, next(row.document.id for row in grid.page(org).rows if row.document.filename == "d"), "Tax")
    before = shelf(org)
    with transaction(org):
        change = tag_changes.rename(org, named(org, "Tax"), "HOME", "ana", may_merge=True)
    assert shelf(org) == {
        "a": ["HOME/2025", "to pay"],
        "b": ["home"],
        "c": ["HOME/2025/car", "taxi"],
        "d": ["home"],
    }
    assert change
    with transaction(org):
        assert tag_changes.undo(org, change)
    assert shelf(org) == before


def test_only_the_case_of_a_name_is_no_other_tag(org: UUID) -> None:
    with transaction(org):
        assert tag_changes.rename(org, named(org, "taxi"), "TAXI", "ana")
        assert tag_changes.rename(org, named(org, "TAXI"), "TAXI", "ana") is None
    assert shelf(org)["c"] == ["tax/2025/car", "TAXI"]


@pytest.mark.parametrize("name", ["tax/2025/new", "", "/", "x" * 101, "y" * 95])
def test_no_tag_lies_in_itself_or_has_no_name(org: UUID, name: str) -> None:
    before = shelf(org)
    with pytest.raises(BadValue), transaction(org):
        tag_changes.rename(org, named(org, "Tax"), name, "ana")
    assert shelf(org) == before


def test_a_deleted_tag_comes_back_with_its_documents_and_its_color(org: UUID) -> None:
    before = shelf(org)
    with transaction(org):
        assert tag_changes.paint(org, named(org, "Tax"), "red", "ana")
        change = tag_changes.remove(org, named(org, "Tax"), "ana")
    assert shelf(org) == {"a": ["to pay"], "b": [], "c": ["taxi"], "d": ["home"]}
    assert change
    with transaction(org):
        assert tag_changes.undo(org, change)
        [root] = [node for node in tag_tree.tree(org) if node.name == "Tax"]
    assert (shelf(org), root.color) == (before, "red")


def test_a_name_that_another_tag_has_got_is_not_taken_away(org: UUID) -> None:
    with transaction(org):
        change = tag_changes.remove(org, named(org, "home"), "ana")
        assert change
        tags.add(org, grid.page(org).rows[0].document.id, "Home")
    before = shelf(org)
    with pytest.raises(Taken), transaction(org):
        tag_changes.undo(org, change)
    assert shelf(org) == before


def test_a_color_is_one_of_a_few_and_is_taken_back(org: UUID) -> None:
    home = named(org, "home")
    with transaction(org):
        first = tag_changes.paint(org, home, "green", "ana")
        assert tag_changes.paint(org, home, "green", "ana") is None
        with pytest.raises(BadValue):
            tag_changes.paint(org, home, "gold", "ana")
        assert first
        assert tag_changes.undo(org, first)
        assert tag_changes.get(org, home).color is None


def test_what_is_not_there_is_not_changed(org: UUID) -> None:
    other, home = new_org(), named(org, "home")
    with transaction(other):
        for tag_id in (uuid4(), home):
            assert tag_changes.rename(other, tag_id, "mine", "ana") is None
            assert tag_changes.paint(other, tag_id, "red", "ana") is None
            assert tag_changes.remove(other, tag_id, "ana") is None
            assert not tag_changes.undo(other, tag_id)
        assert tag_tree.tree(other) == []
