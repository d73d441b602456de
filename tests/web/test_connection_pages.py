"""The connections of a document: side by side, from both ends, with a picture that needs no script."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import counted_queries, read_json, shelve, use_hashed_words, work_off
from webapp.documents.model import Document
from webapp.search.connections import Neighbour
from webapp.web.document import graph

SEA = b"The lighthouse keeper counted the ships that passed the harbour at night, and wrote their names down."
SEA_AGAIN = b"At night the lighthouse keeper wrote down the names of all ships that passed the harbour: KX-471199."
ORDER = b"Regarding KX-471199: nothing else in here is like any other thing that was ever said."


@pytest.fixture
def people(app: Flask) -> People:
    use_hashed_words(app)
    return People(app)


@pytest.fixture
def program(people: People) -> Program:
    return people.program()


@pytest.fixture
def browser(people: People) -> Browser:
    return people.browser()


@both_databases
def test_a_program_sees_pairs_and_documents(app: Flask, program: Program) -> None:
    sea, again, order = shelve(program, ("sea.txt", SEA), ("again.txt", SEA_AGAIN), ("order.txt", ORDER))
    work_off(app)

    found = read_json(program.get(f"/documents/{again}/connections"))

    assert {each["kind"]: each["other"]["document"]["id"] for each in found["connections"]} == {
        "similar": sea,
        "shared_value": order,
    }
    assert found["total"] == 2
    assert {each["id"]: each["connections"] for each in found["documents"]} == {sea: 1, order: 1}
    (shared,) = [each for each in found["connections"] if each["kind"] == "shared_value"]
    assert shared["values"] == ["kx-471199"]
    assert read_json(program.get(f"/documents/{again}"))["counts"]["connections"] == 2


def test_both_ends_tell_the_same(app: Flask, program: Program) -> None:
    one, other = shelve(program, ("sea.txt", SEA), ("again.txt", SEA_AGAIN))
    work_off(app)

    (there,) = read_json(program.get(f"/documents/{one}/connections"))["connections"]
    (back,) = read_json(program.get(f"/documents/{other}/connections"))["connections"]
    assert (there["chunk"]["id"], there["other"]["id"], there["score"]) == (
        back["other"]["id"],
        back["chunk"]["id"],
        back["score"],
    )


def test_a_person_sees_them_side_by_side_with_a_picture(app: Flask, program: Program, browser: Browser) -> None:
    one, other = shelve(program, ("sea.txt", SEA), ("<again>.txt", SEA_AGAIN))
    work_off(app)

    page = browser.get(f"/documents/{one}/connections").text

    assert '<svg class="graph"' in page
    assert f'href="/documents/{other}/connections"' in page
    assert f'href="/documents/{other}"' in page
    assert "again&gt;.txt" in page
    assert "Similar" in page
    assert " style=" not in page
    fragment = browser.get(f"/documents/{one}/connections", headers=HX).text
    assert "<html" not in fragment
    assert 'class="pair"' in fragment


def test_kinds_can_be_chosen(app: Flask, program: Program) -> None:
    _, again, _ = shelve(program, ("sea.txt", SEA), ("again.txt", SEA_AGAIN), ("order.txt", ORDER))
    work_off(app)

    found = read_json(program.get(f"/documents/{again}/connections?kind=shared_value"))
    assert [each["kind"] for each in found["connections"]] == ["shared_value"]
    assert program.get(f"/documents/{again}/connections?kind=odd").status_code == 422


def test_without_connections_it_says_so(app: Flask, program: Program, browser: Browser) -> None:
    [alone] = shelve(program, ("sea.txt", SEA))
    work_off(app)

    assert read_json(program.get(f"/documents/{alone}/connections"))["connections"] == []
    assert "No connections" in browser.get(f"/documents/{alone}/connections").text


@pytest.mark.slow
@both_databases
def test_many_are_shown_some_at_a_time_with_the_same_number_of_queries(app: Flask, program: Program) -> None:
    ids = shelve(program, *((f"{number}.txt", SEA + f" {number}".encode()) for number in range(40)))
    work_off(app)

    path = f"/documents/{ids[0]}/connections"
    with counted_queries(app) as few:
        first = read_json(program.get(path))
    assert len(first["connections"]) == min(30, first["total"])
    with counted_queries(app) as one:
        program.get(f"/documents/{ids[0]}/connections?kind=shared_value")
    assert abs(len(few) - len(one)) <= 1


def test_the_picture_has_a_place_for_each() -> None:
    assert graph.circle([]) == []
    assert graph.short("A chronicle of the harbour, volume 12.pdf") == "A chronicle of…lume 12.pdf"
    for number in range(1, 13):
        nodes = graph.circle([Neighbour(Document(filename=f"{place}.txt"), 3, 0.9) for place in range(number)])
        assert len({(node.x, node.y) for node in nodes}) == number
        # The document's own name is below the middle: no line goes through it.
        assert not any(abs(node.x) < 20 and node.y > 0 for node in nodes)
        left, top, width, height = graph.frame(nodes)
        assert all(left < node.x < left + width and top < node.y and node.label_y < top + height for node in nodes)
        assert top + height > 40
