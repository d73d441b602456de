"""The connections of a document: side by side, from both ends, with a picture that needs no script."""

import pytest
from flask import Flask

from tests.web.databases import both_databases
from tests.web.people import HX, Browser, People, Program
from tests.web.shelves import counted_queries, read_json, shelve, use_hashed_words, work_off
from webapp.documents.model import Document
from webapp.search.connections import Connected, Kind, Neighbour
from webapp.search.model import Chunk
from webapp.web.document import graph
from webapp.web.document.common_words import sides

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
    assert f'href="/documents/{other}?passage=' in page
    assert "again&gt;.txt" in page
    assert "Close in meaning" in page
    assert page.count("<mark>lighthouse</mark>") == 2
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


def test_they_are_grouped_by_document_with_the_surest_first(app: Flask, program: Program, browser: Browser) -> None:
    lines = [f"{SEA.decode()} This was ship {number} of the year." for number in range(5)]
    parts = "\n\n".join(f"# Ship {number}\n\n{line * 6}" for number, line in enumerate(lines)).encode()
    one, copy, order, again = shelve(
        program, ("one.md", parts), ("copy.md", parts + b"\n"), ("order.txt", ORDER), ("again.txt", SEA_AGAIN)
    )
    work_off(app)

    page = browser.get(f"/documents/{one}/connections").text
    assert page.count('<li class="pair">') == 2
    documents = [page.index(f'<h3 class="pair-document"><a href="/documents/{each}"') for each in (copy, again)]
    assert documents == sorted(documents)
    assert page.count('class="pair-row"') <= 6
    assert "word for word" in page
    assert f"/documents/{one}/connections?other={copy}" in page
    of_copy = read_json(program.get(f"/documents/{one}/connections?other={copy}"))
    assert {each["other"]["document"]["id"] for each in of_copy["connections"]} == {copy}
    assert sum(of_copy["kinds"].values()) == of_copy["total"] > len(of_copy["connections"]) - 1
    assert browser.get(f"/documents/{one}/connections?other={copy}").text.count('<li class="pair">') == 1
    assert program.get(f"/documents/{one}/connections?other=7").status_code == 422
    shared = browser.get(f"/documents/{order}/connections").text
    assert shared.count("<mark>KX-471199</mark>") == 2


def test_it_says_that_they_are_looked_for(app: Flask, program: Program, browser: Browser) -> None:
    [first] = shelve(program, ("sea.txt", SEA))
    work_off(app, jobs=1)
    waiting = browser.get(f"/documents/{first}/connections").text
    assert "Still looking for connections" in waiting
    assert 'hx-trigger="load delay:5s"' in waiting
    assert read_json(program.get(f"/documents/{first}/connections"))["looking"] is True
    work_off(app)
    assert read_json(program.get(f"/documents/{first}/connections"))["looking"] is False
    assert "Still looking" not in browser.get(f"/documents/{first}/connections").text


def test_a_value_is_marked_however_it_is_written() -> None:
    def connected(own: str, other: str, kind: Kind) -> Connected:
        return Connected(kind, 1.0, Chunk(text=own), Chunk(text=other), Document())

    iban = connected("To GB29 NWBK 6016 1331 9268 19, please. " * 9, "See gb29NWBK60161331926819!", Kind.SHARED_VALUE)
    mine, theirs = sides(iban, ["gb29nwbk60161331926819"])
    assert next(part.text for part in mine if part.is_match) == "GB29 NWBK 6016 1331 9268 19"
    assert [part.text for part in theirs if part.is_match] == ["gb29NWBK60161331926819"]
    version = connected("The rent is due in May.", "The rent is due in June.", Kind.NEAR_DUPLICATE)
    assert [[part.text for part in side if part.is_match] for side in sides(version, [])] == [["May"], ["June"]]


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
